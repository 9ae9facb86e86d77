"""Recording: what turns a running agent into rows of a store.

| module | what it does |
|---|---|
| `record` | `agent_tt.record(...)`: what it is told, and who calls it |
| `tools`, `llm` | the decorators for tools and model calls |
| `session`, `links` | the interception chain of this process, and what its links may do |
| `open_run` | a run, a step and a call while they are recorded, as the others know them |
| `scope` | where the agent is: in which run, step and call |
| `store_work` | what the store does on its own account, and nobody records |
| `runs` | one run, from its first row to its last |
| `steps` | its steps, and the states after them |
| `calls` | its calls, from the question to the answer |
| `lanes` | logical threads of control, and the order of their answers |
| `concurrency` | tasks, jobs and threads of every library |
| `errors` | exceptions as data, and how something ended |
| `modules` | the code that is loaded, and replacing names in it |
"""
