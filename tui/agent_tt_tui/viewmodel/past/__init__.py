"""What the past of a run is asked.

| module | does |
|---|---|
| `blame`, `writes` | who wrote a value, where it was written |
| `filtering`, `finding` | what is typed to find steps; what was found |
| `bases`, `other_state` | what a state is compared with |
| `ranges` | a range of steps in a few words |
| `related` | the runs around one |
"""
