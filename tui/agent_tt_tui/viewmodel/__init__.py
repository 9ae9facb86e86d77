"""What the screens show, worked out without a terminal: plain objects over `agent_tt`.

| module | does |
|---|---|
| `debugger` | what the debugger reads of a run, and how its panes, steps and marks are laid out |
| `values` | a state as a tree and as text, text in rows, and what differs between two values |
| `calls` | calls and conversations in rows, and the code around a call |
| `context` | what a model was shown, in rows |
| `past` | who wrote a value, what was found, what a state is compared with, the runs around one |
| `edits` | edits before anything runs with them |
| `running` | what runs in a fork or again, calls that wait, and how runs ended |
| `golden` | runs kept as tests |
| `runs` | the list of runs, two runs, one and many, sweeps |
| `offers`, `own_commands` | what the palette finds by words; commands of the user's own |
"""
