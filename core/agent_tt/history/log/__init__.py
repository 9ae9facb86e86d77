"""The log of a state: written row by row, read at any checkpoint.

| module | does |
|---|---|
| `log`, `pages` | its rows, and those that were read lately |
| `append`, `keyframes` | writing a checkpoint: what changed, and whole states now and then |
| `states`, `cursor` | reading any checkpoint, and moving along them |
| `incremental_digest` | the digest of a state, kept up to date row by row |
| `index` | who wrote a path |
"""
