"""Functions that are recorded by dotted path, without a change to their code.

| module | what it does |
|---|---|
| `outside_tools` | functions recorded by dotted path: `agent_tt.register` |
| `named_after` | which functions that were named were not recorded, kept with the runs |
| `dotted`, `tool_objects` | finding them, also inside what an SDK made of them |
| `wrapping` | having their calls recorded, by one of the next two |
| `redirecting` | exchanging the code of a Python function, so that every reference to it is caught |
| `holders` | replacing a function written in C wherever it is held |
| `main_watch` | being there when a script defines a function |
"""
