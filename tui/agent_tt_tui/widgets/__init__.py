"""The parts that screens are made of.

| module | does |
|---|---|
| `drawing`, `tall_lines`, `text_view` | what several of them share |
| `debugger` | the panes of the debugger |
| `runs` | lists, tables and comparisons of runs |
| `golden` | the parts of the screens of tests |
| `dialogs` | the insides of dialogs |
"""
