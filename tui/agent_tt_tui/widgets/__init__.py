"""The parts that screens are made of.

| module | does |
|---|---|
| `drawing`, `text_view`, `action_row`, `edit_row`, `trouble_view`, `will_run` | what several of them share |
| `run_rows` | what the lists of runs share |
| `run_list`, `run_preview`, `preview_pane` | the run browser |
| `timeline`, `scrubber`, `run_header` | the run in the debugger: its steps, its strip, its facts |
| `inspector`, `inspector_rows`, `state_tree`, `raw_view` | the state after a step |
| `call_view`, `call_pane`, `messages_view` | its calls and messages |
| `diff_pane`, `blame_pane`, `find_panel`, `hit_list`, `watch_list` | changes, who wrote a value; hits, watches |
| `edit_form`, `fork_form`, `fork_table`, `replay_form`, `resume_form`, `ask_form` | the insides of dialogs |
| `divergence_views`, `outcome` | what a replay found; how runs ended |
| `compare_frame`, `compare_steps`, `compare_state` | two runs side by side |
| `run_table`, `table_preview` | one run against many |
| `sweep_form`, `sweep_matrix`, `sweep_parts` | sweeps |
"""
