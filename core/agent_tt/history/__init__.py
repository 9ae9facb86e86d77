"""The pure half of a state's history: operations, digests, and the finding of what changed. No file is touched here.

| module | does |
|---|---|
| `ops`, `trace`, `undo` | what a step did to the state, as it is stored; following a value through it; going back |
| `diff`, `align` | the operations between two values, and which spans of a list changed |
| `subsequence` | the longest common subsequence, that alignments stand on |
| `shadow`, `nodes`, `forms` | what changed in a live object, at the speed of memory |
| `digest`, `tally`, `hashing` | digests of states and the chain over them, kept up to date; hashes that name content |
| `log`, `pages`, `rows` | the rows of a state's log, lately read ones, and what is needed of a database |
| `append`, `births`, `keyframes`, `skeleton` | writing a checkpoint: grown lists once, whole states now and then |
| `states`, `cursor` | reading any checkpoint, and moving along them |
| `index` | who wrote a path |
| `blobs`, `large_parts`, `payload`, `frames`, `training` | large values once, and every payload compressed |
| `templates` | headers of HTTP messages, whose unchanging part is kept once |
| `proofs` | what shows that a row is as it was written, and that none is missing |
| `damage` | what stands in place of what cannot be read |
"""
