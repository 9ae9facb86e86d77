"""Processes that run an agent: what they have started, who looks after them, and how they are ended.

| module | what it holds |
|---|---|
| `adopted` | a process that another process started: waited for and signalled, never mistaken for another |
| `keeper` | the small process beside each agent that ends it when what started it is gone |
| `processes` | finding and ending every process that an agent has started |
| `stopping` | `agent-tt stop`: ending a run of any process of this user on this machine |
"""
