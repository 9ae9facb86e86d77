"""The tables of the file: how they are asked, and how each row is proven.

| module | does |
|---|---|
| `asking` | what asks and changes tables in SQL |
| `proofs` | the proofs of rows, and seals: what shows that none is missing |
| `table`, `definitions` | a table whose rows are proven, and all of these |
| `histories` | the tables of state histories: what `agent_tt.history` needs of a backend |
"""
