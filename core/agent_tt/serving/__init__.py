"""A debugger for coding agents: tools that answer from recorded runs, in JSON, short and with references.

`rest` is a server for teams beside it. The debugger knows no terminal and no protocol but in `server`, and starts no
process but in `running`, which is imported only with leave.

| module | does |
|---|---|
| `debugger` | the tools by name; an answer or a clear error for every call |
| `tool` | what a tool is, and its arguments, checked |
| `overviews` | tools that show runs: the list, an overview, oddities, effects |
| `looking` | tools that show one place: a step, a state, a call |
| `asking` | tools that ask: blame, find, where, diff, compare |
| `contexts` | the tool that shows what a model was sent, and where that came from |
| `running` | tools that run agents: replay and fork |
| `starting` | the leave to start agents, forks planned under it, and those that run |
| `references` | `RUN@STEP#CALL`: written, and found again |
| `pages`, `values` | budgets and cursors; one value page by page |
| `fitting`, `text` | cutting a value so that it fits; answers as text that is data and nothing else |
| `server` | the Model Context Protocol, by its own SDK |
| `listening` | what every server does at its door: where it listens, its hosts, its token |
| `rest` | the same runs for teams, as `agent-tt serve` gives them over HTTP |
| `otlp` | spans that are sent become runs there |
"""
