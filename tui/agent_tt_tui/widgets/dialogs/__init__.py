"""The insides of dialogs.

| module | does |
|---|---|
| `action_row`, `trouble_view`, `will_run` | what several of them share |
| `edit_form`, `row_form`, `ask_form` | editing a value in a dialog or in its row, deciding about a call |
| `edit_row` | a change of an edit on one row |
| `fork_cost`, `fork_table`, `replay_form`, `resume_form` | what will happen before anything runs |
| `again_form` | what is said before a request is sent again |
| `divergence_views` | what a replay found |
"""
