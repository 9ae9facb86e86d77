"""What the past of a run is asked.

| module | does |
|---|---|
| `blame`, `writes`, `finding` | who wrote a value, where it was written, what was found |
| `bases`, `other_state` | what a state is compared with |
| `related` | the runs around one |
"""
