"""Sweeps.

| module | does |
|---|---|
| `screen` | the matrix of a sweep |
| `form` | the dialog that begins one |
| `opening` | from a run to its sweeps |
"""
