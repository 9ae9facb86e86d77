"""Comparing runs.

| module | does |
|---|---|
| `screen` | two runs side by side |
| `table` | one run and many in a table |
"""
