"""Dialogs that several screens open; those that run an agent are in `running`.

| module | does |
|---|---|
| `pick`, `prompt` | ask for one of several things, or for a line |
| `palette` | finds what can be done on a screen by words |
| `themes` | tries themes |
| `edit`, `in_row`, `external` | editing a value: in a dialog, in its row, in an editor outside |
| `watches` | the list of watches |
| `about`, `ending` | what is written down about a run; how runs ended |
"""
