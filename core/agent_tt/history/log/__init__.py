"""The log of a state: written row by row, read at any checkpoint.

| module | does |
|---|---|
| `log`, `pages` | its rows, and those that were read lately |
| `append`, `keyframes` | writing a checkpoint: what changed, and whole states now and then |
| `states`, `values`, `cursor` | reading any checkpoint, or one value of it, and moving along them |
| `superseded` | which values need not be read, because later rows replace them |
| `grown_lists`, `appends` | lists that only grew, joined from the rows that appended to them |
| `incremental_digest` | the digest of a state, kept up to date row by row |
| `index`, `track_marks` | who wrote a path |
"""
