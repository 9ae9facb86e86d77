"""The recorded run that is replayed.

| module | what it does |
|---|---|
| `tape` | a recorded run in memory, by lane, question and order of answers |
| `matching` | which recorded call answers a question |
| `passes` | how many passes of its loop an answer came behind the one before it |
| `full_history`, `repeats`, `siblings` | the runs that it came from, what a resumed run holds twice, other runs |
| `source_trees` | the source of its agent |
"""
