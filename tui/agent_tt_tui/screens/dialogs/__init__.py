"""Dialogs that several screens open; those that run an agent are in `running`.

| module | does |
|---|---|
| `pick`, `prompt` | ask for one of several things, or for a line |
| `palette` | finds what can be done on a screen by words |
| `themes` | tries themes |
| `edit`, `in_row`, `external` | editing a value: in a dialog, in its row, in an editor outside |
| `watches`, `columns` | the list of watches; the columns of the timeline |
| `jump` | letters at all rows and tabs, which are typed to go there |
| `log` | what was run from here, what went out, what undo takes back |
| `about`, `ending` | what is written down about a run; how runs ended |
"""
