"""Sweeps.

| module | does |
|---|---|
| `screen`, `driving` | the matrix of a sweep; resuming and stopping it |
| `form` | the dialog that begins one |
| `opening` | from a run to its sweeps |
"""
