"""Commands that compare states and runs.

| module | does |
|---|---|
| `diff` | what differs between two states |
| `compare`, `lanes_text` | two runs side by side; what became of each of their lanes |
| `compare_many`, `table_text` | one run with many: the table for programs, and for people |
| `named` | runs and states by name, in other files too |
"""
