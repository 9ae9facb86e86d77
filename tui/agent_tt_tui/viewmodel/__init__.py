"""What the screens show, worked out without a terminal: plain objects over `agent_tt`.

| module | does |
|---|---|
| `runtree`, `preview`, `related` | the run browser: its tree, the run under the cursor, the runs around one |
| `runmodel`, `stepview`, `shared_states`, `overview`, `newest` | what the debugger reads, and how it stays quick |
| `debugger_layout`, `timeline`, `folding`, `marked_steps` | its panes, the columns and rows of its steps |
| `strip`, `lane_strip`, `watch_marks`, `bookmarks` | the scrubber and its marks |
| `tree`, `parts`, `values`, `rawtext` | a state as a tree and as text |
| `callview`, `exchange`, `decided`, `source_excerpt`, `highlight` | a call in rows, and the code around it |
| `messages`, `conversation`, `provider_call` | conversations, read off states and requests |
| `pieces`, `difflines`, `difftext` | text in rows, each piece in its role; what differs between two values or texts |
| `bases`, `other_state` | what a state is compared with |
| `blame`, `writes`, `finding` | who wrote a value, where it was written, what was found |
| `editing`, `subjects`, `leaves`, `placing`, `pending`, `external_editor` | edits before anything runs with them |
| `fork_setup`, `fork_policy`, `fork_rows`, `what_runs` | the fork dialog, and what runs |
| `asking`, `effects` | calls that wait; what went out |
| `replayed`, `ending`, `about` | what a replay found, how a run ended, what is written down about it |
| `comparison`, `run_table` | two runs, one and many |
| `sweeps`, `sweep_cell`, `sweep_form` | sweeps |
"""
