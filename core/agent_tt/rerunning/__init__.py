r"""Running a recorded agent again: where its beginning comes from, and what follows.

| beginning \ then | it halts | goes on for real | goes on with edits |
|---|---|---|---|
| from the recording | replay | resume | fork, re-entered |
| from a state | | | fork, restored |

| module | what it does |
|---|---|
| `faces` | what a program calls: `replay`, `resume`, `fork` |
| `rerun` | one cell of that table: all that the process of an agent is told |
| `launch`, `replay` | starting it, for a run that is filled and for a report |
| `accepting` | going live from where the code has changed |
| `routing` | which nodes of a graph run after an edit, asked before its fork is started |
| `process` | the process itself: with which Python, where, in which environment |
| `warm` | forking the process of each from one that has imported what they need, where there are many |
| `handle`, `ending` | what can be done with an agent that runs; how it ended |
| `filling`, `filled` | the child's side of a run that is filled |
| `from_state`, `from_recording` | the two beginnings |
| `kept_replays` | keeping in short what came of a replay |
| `kept_runs` | the store that keeps runs of tests |
| `replayed` | the child's side of a replay |
| `run_again` | starting the agent as it was started; tracebacks that begin in its code |
| `handed_state` | starting one that is handed its state: by its entry point, a graph, or an executor |

`agent_tt.sweeping` and `agent_tt.bisecting` stand on it: each fork of theirs is a fork of this package.
"""
