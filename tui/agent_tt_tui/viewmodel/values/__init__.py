"""Values and texts in rows.

| module | does |
|---|---|
| `tree`, `parts`, `values`, `rawtext` | a state as a tree and as text |
| `arrival`, `tall_rows` | what of it is unfolded when it comes on screen; rows of several lines |
| `pieces`, `highlight` | text in rows, each piece in its role; colours of code |
| `difflines`, `difftext` | what differs between two values or texts |
"""
