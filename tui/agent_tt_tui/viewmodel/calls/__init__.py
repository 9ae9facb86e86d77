"""Calls and conversations in rows.

| module | does |
|---|---|
| `callview`, `exchange`, `decided`, `source_excerpt` | a call in rows, and the code around it |
| `first_argument` | what a tool was asked, in a few words |
| `messages`, `conversation` | conversations, read off states and requests |
"""
