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
| `tools` | functions that are recorded by dotted path |
"""
