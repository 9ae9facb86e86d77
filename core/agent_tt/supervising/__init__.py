"""Processes that run an agent: what they have started, who looks after them, and how they are ended.

| module | what it holds |
|---|---|
| `adopted` | a process that another process started: waited for and signalled, never mistaken for another |
| `beginning` | when a process began, which tells it from a later one of its number |
| `forked` | a child of this process that another process has forked for it |
| `keeper` | the small process beside each agent that ends it when what started it is gone |
| `marks` | the word by which the processes of an agent are known |
| `processes` | finding and ending every process that an agent has started |
| `terminals` | whether a terminal sends its signals to this process |
| `stopping` | `agent-tt stop`: ending a run of any process of this user on this machine |
"""
