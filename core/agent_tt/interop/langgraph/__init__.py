"""LangGraph's checkpoint databases as a `RunSource`: SQLite files, and databases in PostgreSQL.

Nothing here imports LangGraph, and nothing that a database names is imported or called. Databases are only read; how
that is done without touching a file or its folder is told in `connection`, for a server in `postgres_connection`. Only
`prune` writes, to a file and where it is told to.

| module | what it knows |
|---|---|
| `database` | what the reader needs of a database, wherever it lies |
| `opening` | which kind of database a path names |
| `sqlite` | a file as such a database |
| `postgres` | the tables of PostgresSaver as such a database |
| `detect` | what a LangGraph database looks like in SQLite |
| `connection` | reading a file, its write-ahead log included, without changing either |
| `postgres_connection` | reading a server's database, without changing or locking anything; what its errors mean |
| `kept_rows` | rows of a large file, known the next time without reading it |
| `rows` | the two tables: checkpoints and writes, without their values |
| `tasks` | which node wrote what, which tasks failed or wait for a person |
| `naming` | which node a task ran, where its writes do not say |
| `decode`, `envelopes` | stored values as wire values |
| `checkpoint` | one checkpoint's channels, visible state and next nodes |
| `reducers` | how writes are combined with a value, read off the thread |
| `rebuilding` | values that no checkpoint holds: of delta channels, of steps that never ended |
| `values` | all of these, fetched when they are asked for |
| `branches` | the tree of checkpoints of a thread, and its branches |
| `layout` | the numbered rows of one branch, subgraphs nested |
| `messages`, `calls` | model answers, tool results and questions to people as calls |
| `steps`, `runs` | rows as `Step`s, branches as `Run`s |
| `anchors` | what names a row for good, while numbers move |
| `space` | which threads and channels fill a file |
| `pruning_plan`, `prune` | what of a thread may go, and letting it go |
| `sieve`, `stored_words` | which threads cannot hold what is searched for, without reading them |
| `source` | all of it behind the `RunSource` protocol |
"""
