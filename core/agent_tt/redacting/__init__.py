"""Taking out of runs that are recorded already what the rules of now find, or whole states.

| module | does |
|---|---|
| `taking_out` | chooses the rules, and has the store write the runs anew |
| `dropping` | drops states of steps |
| `beside` | what lies beside a store, and holds what is in it |
| `questions` | what a recorded call asked, as the rules would have recorded it, and its digest |
| `pieces` | the pieces of an answer, judged together as when they came |
"""
