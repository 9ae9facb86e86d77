"""What is damaged, and what is missing.

| module | does |
|---|---|
| `verify`, `verify_rows` | a whole store, or a run |
| `counts` | how many calls and answers there were, written down at the end of a step and of a run |
| `damage_watch` | what is damaged of a run, as far as it was looked at |
"""
