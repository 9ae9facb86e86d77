"""Many runs of the same agent: their processes are forked from one that has imported already what all of them import.

What is imported ahead is this package. The agent's own modules are not: each of its processes runs them from their
first line, so that what they do there (a clock that is read, an id that is drawn, a file that is opened) is done in
each run, guarded and recorded as in a process that begins from nothing. A process is forked only where it would be the
same in all that an agent can tell: see `pool.WarmAgents`. Everything else begins from nothing, as ever.

| module | what it does |
|---|---|
| `pool` | the side of whoever starts agents: which processes may be forked, and asking for one |
| `server` | the side of the process that is forked |
"""
