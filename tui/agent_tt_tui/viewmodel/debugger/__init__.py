"""A run as the debugger shows it.

| module | does |
|---|---|
| `runmodel`, `stepview`, `shared_states`, `overview`, `newest` | what the debugger reads, and how it stays quick |
| `debugger_layout`, `timeline`, `folding`, `marked_steps` | its panes, the columns and rows of its steps |
| `step_words` | what is typed to go to a step |
| `strip`, `lane_strip`, `bookmarks` | the scrubber and its marks |
"""
