"""Many runs at once.

| module | does |
|---|---|
| `runtree`, `preview`, `about` | the run browser: its tree, the run under the cursor, what is written down about it |
| `comparison`, `run_table` | two runs, one and many |
| `strip_cells` | which steps stand for a run on a strip |
| `first` | the lines of the first page |
| `sweeps`, `sweep_form` | sweeps |
| `statistics` | statistics as tables |
"""
