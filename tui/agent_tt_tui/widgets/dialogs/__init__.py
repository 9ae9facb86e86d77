"""The insides of dialogs.

| module | does |
|---|---|
| `action_row`, `trouble_view`, `will_run` | what several of them share |
| `edit_form`, `edit_row`, `ask_form` | editing a value, deciding about a call |
| `fork_cost`, `fork_table`, `replay_form`, `resume_form` | what will happen before anything runs |
| `divergence_views` | what a replay found |
"""
