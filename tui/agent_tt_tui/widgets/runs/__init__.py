"""Lists, tables and comparisons of runs.

| module | does |
|---|---|
| `run_rows` | what the lists of runs share |
| `run_list`, `run_preview` | the run browser |
| `compare_frame`, `compare_steps`, `compare_state`, `compare_text` | two runs side by side |
| `outcome` | how they ended |
| `run_table`, `table_preview` | one run against many |
| `sweep_form`, `sweep_matrix`, `sweep_parts` | sweeps |
| `answers` | the answers to a call that was asked again |
| `first_list` | the list of the first page, and its preview |
| `statistics` | tables of statistics, with bars and sparklines |
"""
