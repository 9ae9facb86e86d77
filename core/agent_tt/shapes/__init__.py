"""The JSON that commands write with `--json`, and that the server of `agent-tt mcp` makes its answers of.

| module | does |
|---|---|
| `records` | runs, steps, calls, notes, hits: what was recorded |
| `answers` | what `show`, `find` and a finished fork say |
| `plans` | what a fork would do |
| `again` | a recorded request that is sent again, and its answers |
| `effects` | what a run did to the world |
| `statistics` | what is counted over the runs of a store |
| `contexts` | what a model was shown |
"""
