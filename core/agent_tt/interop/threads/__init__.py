"""LangGraph's threads in a store of ours: how they lie in it, and what is read off that.

`agent_tt.langgraph.Checkpointer` writes them. To read them needs no LangGraph.

| module | does |
|---|---|
| `entries` | where a checkpoint lies, and what is stored of it |
| `writes` | what tasks wrote, and where it is found in the next state |
| `shown` | what people see: a state without LangGraph's own channels, names of steps, tokens |
| `thread_steps` | where the checkpoints of a thread's run lie among its steps |
| `thread_calls` | the calls of a step, out of what tasks wrote |
| `thread_values` | values that no checkpoint of it holds |
| `source` | a store whose threads have calls |
"""
