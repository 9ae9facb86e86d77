"""Many runs at once.

| module | does |
|---|---|
| `runtree`, `preview`, `about` | the run browser: its tree, the run under the cursor, what is written down about it |
| `comparison`, `run_table` | two runs, one and many |
| `compare_why`, `compare_calls`, `alike` | what stands beside two runs: causes, calls, what is the same |
| `strip_cells` | which steps stand for a run on a strip |
| `first` | the lines of the first page |
| `sweeps`, `sweep_form` | sweeps |
| `statistics` | statistics as tables |
"""
