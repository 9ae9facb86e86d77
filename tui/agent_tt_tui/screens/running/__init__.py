"""Running agents from the app, and what goes on: what several screens can do with the runs that they show.

| module | does |
|---|---|
| `run_control`, `approvals`, `ask` | how runs ended, and stopping one; calls that wait for a person, and their dialog |
| `holding` | letting a running agent wait before its next calls |
| `run_again`, `replayed` | replaying and resuming the run at hand; what a replay found |
| `fork`, `replay`, `resume` | dialogs that say all that happens before it does |
| `again`, `answers` | the dialog that asks a model again, and the answers beside the recorded one |
| `attempt` | what these have in common: plan, progress and trouble; how their rows are shared |
| `copied` | copying the command that does the same |
| `trust` | asking before code is run that is named by a store from elsewhere |
"""
