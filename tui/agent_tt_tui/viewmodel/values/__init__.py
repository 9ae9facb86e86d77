"""Values and texts in rows.

| module | does |
|---|---|
| `tree`, `parts`, `values`, `rawtext` | a state as a tree and as text |
| `arrival` | what of it is unfolded when it comes on screen |
| `pieces`, `highlight` | text in rows, each piece in its role; colours of code |
| `brief` | a value on one row, whole entries and a count of the others |
| `blocks` | rows that are shown in full as far as rows are free |
| `difflines`, `difftext`, `sides` | what differs between two values or texts |
"""
