"""The screens and dialogs, and what they do beside showing: reading in threads, running agents.

| module | does |
|---|---|
| `runs`, `empty`, `add` | the run browser; what it shows where there is nothing; adding runs |
| `run_keeping`, `run_comparing`, `sweep_rows` | what else the browser does: keep order, compare, open sweeps |
| `debugger`, `debugger_frame` | the debugger, and its panes |
| `time_travel`, `run_reading`, `run_watch` | its time, its reading, and how it follows a run that goes on |
| `blaming`, `oddities`, `past_reading` | what the debugger asks the past |
| `finding`, `searching`, `find_all` | full-text search: in the debugger, of the whole store, the work for both |
| `watching`, `watches`, `watch_reading` | watches and breakpoints in the debugger, their dialog, the work for both |
| `editing`, `edit`, `external`, `copy`, `about` | editing, here or in an editor; copying; what is written down |
| `plan_dialog`, `run_again_dialog`, `fork`, `replay`, `resume` | dialogs that say all that happens before it does |
| `running_again`, `replaying`, `replayed`, `debugging` | running again from any screen; what a replay found; pdb |
| `asked`, `ask`, `trust` | calls that wait for a person; runs of stores from elsewhere |
| `compare`, `run_table`, `ending` | two runs, one and many, how runs ended |
| `sweep`, `sweep_form`, `sweeps` | the matrix of a sweep, beginning one, going to one |
| `pick`, `prompt` | dialogs that ask for one of several things, or for a line |
"""
