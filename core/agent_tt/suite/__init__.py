"""Every recorded run as a suite: does what mends one run hold for the others?

| module | does |
|---|---|
| `choosing` | which runs are meant |
| `judging` | whether a run came out better, equal or worse than it did then |
| `running` | running each again: replayed, or forked |
"""
