"""Recording programs from outside, without a change to their code.

| module | what it does |
|---|---|
| `command` | `agent-tt record`: starts a command so that it is recorded, waits for it, says how its runs ended |
| `interpreter` | reads command lines of Python |
| `settings` | what the launcher tells the processes of the command, and what they tell it |
| `boot/sitecustomize` | what Python runs in them before the first line |
| `process` | the recording of a process |
| `again` | the same around a program that a replay runs again |
| `start_again` | starting that program as Python started it |
| `late_writer` | a run that begins with the first thing that it holds |
| `outside_tools` | functions recorded by dotted path: `agent_tt.register` |
| `named_after` | which functions that were named were not recorded, kept with the runs |
| `dotted`, `tool_objects` | finding them, also inside what an SDK made of them |
| `wrapping` | having their calls recorded, by one of the next two |
| `redirecting` | exchanging the code of a Python function, so that every reference to it is caught |
| `holders` | replacing a function written in C wherever it is held |
| `main_watch` | being there when a script defines a function |
"""
