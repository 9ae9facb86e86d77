"""The file of a store: where it is, how it is opened, whether it is still the same.

| module | does |
|---|---|
| `locate`, `heads` | where it is, and what its first bytes say |
| `opening`, `tables` | opening it, after making it where that is allowed |
| `schema`, `schema_check` | its format |
| `connecting`, `connection`, `transaction`, `sqlite_errors` | how it is asked and written, and what its errors mean |
| `in_place` | whether it is still the same file |
| `provenance` | whether it was made here |
"""
