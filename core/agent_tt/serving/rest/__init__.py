"""The server for teams, `agent-tt serve`: recorded runs over HTTP, closed by default.

| module | does |
|---|---|
| `server` | serving until Ctrl-C |
| `gate` | what every request passes first: host, origin, token, rate, room, size |
| `audit` | who asked what, a line each |
| `app` | all routes, and what every answer has in common |
| `desk` | where requests are worked on: in threads, each with the store opened, only so long |
| `failures` | errors in one shape, each with its status |
| `ids`, `models`, `running_models` | how things are named; what answers hold, for the description of the interface |
| `runs` | runs, steps, calls, states |
| `asking` | what differs, who wrote it, where it stands, when it holds; statistics |
| `traces` | checkpoints by the paths of AgentTrace: list, name, give, drop |
| `goldens` | recorded runs that are kept as tests: list, show, run |
| `forks`, `questions` | forks, replays from checkpoints, offline replays; and what they ask about |
| `events` | what happens, as it happens: server-sent events |
| `received` | the paths that exporters of OpenTelemetry send to |
| `source` | what the typed client asks, `agent_tt.remote` |
"""
