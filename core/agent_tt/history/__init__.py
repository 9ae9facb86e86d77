"""Histories of states: what changed, its digests, and the log of it. No file is touched, and no SQL is spoken here.

| folder or module | does |
|---|---|
| `changes` | what a step changed in a state |
| `log` | the rows of a state's log: appended, read at any checkpoint, indexed |
| `payloads` | their bytes: packed, compressed, large values once |
| `digest`, `hashing` | digests of states and the chain over them; hashes that name content |
| `rows` | what is needed of the backend that keeps the log |
"""
