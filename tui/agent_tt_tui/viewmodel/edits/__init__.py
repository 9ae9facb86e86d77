"""Edits before anything runs with them.

| module | does |
|---|---|
| `pending` | the edits that nothing has run with yet |
| `editing`, `subjects`, `leaves`, `external_editor` | what the edit dialog edits, and an editor outside |
| `in_row` | what a field in a row of the state edits |
| `placing` | inserting and moving values |
"""
