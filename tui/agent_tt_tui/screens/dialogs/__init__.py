"""Dialogs that several screens open; those that run an agent are in `running`.

| module | does |
|---|---|
| `pick`, `prompt` | ask for one of several things, or for a line |
| `edit`, `external` | editing a value, here or in an editor outside |
| `watches` | the list of watches |
| `about`, `ending` | what is written down about a run; how runs ended |
"""
