"""The panes of the debugger.

| module | does |
|---|---|
| `timeline`, `scrubber`, `run_header` | the run: its steps, its strip, its facts |
| `inspector`, `inspector_rows`, `state_tree`, `raw_view` | the state after a step |
| `call_view`, `messages_view` | its calls and messages |
| `context_view`, `context_zones`, `context_list`, `context_asked` | what a model was shown, and what is asked of it |
| `context_growth` | how the context grows over the run, below a short timeline |
| `tour_row` | what the tour says |
| `diff_pane`, `blame_pane`, `find_panel`, `hit_list`, `watch_list` | changes, who wrote a value; hits, watches |
"""
