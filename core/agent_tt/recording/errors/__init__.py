"""Errors: exceptions as data, and what they say about how something ended.

| module | what it does |
|---|---|
| `exceptions`, `exception_values` | exceptions as data |
| `outcome` | how a run or step ended |
| `cancellation` | exceptions by which an agent stops waiting; whether it cleans up after Ctrl-C |
"""
