"""LangGraph's SQLite checkpoint databases as a `RunSource`.

Nothing here imports LangGraph, and nothing that a database names is imported or called. The file is only read; how that
is done without touching it or its folder is told in `connection`. Only `prune` writes, where it is told to.

| module | what it knows |
|---|---|
| `detect` | what a LangGraph database looks like |
| `connection` | reading a file, its write-ahead log included, without changing either |
| `rows` | the two tables: checkpoints and writes, without their values |
| `stored_rows` | the rows of a thread with their values as bytes, for a copy |
| `tasks` | which node wrote what, which tasks failed or wait for a person |
| `naming` | which node a task ran, where its writes do not say |
| `decode`, `envelopes` | stored values as wire values |
| `checkpoint` | one checkpoint's channels, visible state and next nodes |
| `reducers` | how writes are combined with a value, read off the thread |
| `rebuilding` | values that no checkpoint holds: of delta channels, of steps that never ended |
| `values` | all of these, fetched when they are asked for |
| `kept` | results that are asked for again |
| `branches` | the tree of checkpoints of a thread, and its branches |
| `layout` | the numbered rows of one branch, subgraphs nested |
| `messages`, `calls` | model answers, tool results and questions to people as calls |
| `steps`, `runs` | rows as `Step`s, branches as `Run`s |
| `anchors` | what names a row for good, while numbers move |
| `space` | which threads and channels fill a file |
| `pruning_plan`, `prune` | what of a thread may go, and letting it go |
| `source` | all of it behind the `RunSource` protocol |
"""
