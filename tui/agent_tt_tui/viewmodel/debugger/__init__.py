"""A run as the debugger shows it.

| module | does |
|---|---|
| `runmodel`, `stepview`, `shared_states`, `overview`, `newest` | what the debugger reads, and how it stays quick |
| `debugger_layout` | its panes |
| `timeline`, `timeline_columns`, `clock_axis`, `folding`, `marked_steps` | the columns and rows of its steps |
| `arguments` | what the tools of its steps were asked |
| `step_words` | what is typed to go to a step |
| `tour` | what can be done in the debugger, in a few sentences |
| `context_growth` | the chart of what each step sent to models |
| `causes` | the steps that fed a step, and those that it fed, in a few words |
| `strip`, `lane_strip`, `bookmarks` | the scrubber and its marks |
"""
