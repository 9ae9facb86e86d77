"""Read other programs' SQLite databases of conversations and traces, in place.

A kind of database is one module: what its tables look like, and the runs in them. All else is shared.

| module | does |
|---|---|
| `source` | a database as a source of runs |
| `rows` | tables and columns, and text that is JSON |
| `agents_sessions` | sessions of the OpenAI Agents SDK |
| `opencode` | sessions of OpenCode |
| `clearstone` | traces of clearstone |
"""
