"""The pure half of a state's history: operations, digests, and the finding of what changed. No file is touched here.

| folder or module | does |
|---|---|
| `changes` | what a step changed in a state |
| `log` | the rows of a state's log: appended, read at any checkpoint, indexed |
| `payloads` | their bytes: packed, compressed, large values once |
| `digest`, `hashing` | digests of states and the chain over them; hashes that name content |
| `rows` | what is needed of a database |
| `proofs` | what shows that a row is as it was written, and that none is missing |
"""
