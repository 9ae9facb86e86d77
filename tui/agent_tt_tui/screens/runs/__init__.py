"""The list of runs, and what can be done with the runs in it.

| module | does |
|---|---|
| `screen` | the run browser: its panes and the list of its features |
| `listing`, `opening` | the list: reading, filter, selection; from it to a run, a search or a new run |
| `keeping`, `comparing`, `sweep_rows` | keeping order, comparing, the rows that are sweeps |
| `empty`, `add`, `find_all` | what is shown where there is no run; adding one; searching all |
"""
