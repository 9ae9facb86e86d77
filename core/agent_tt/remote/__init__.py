"""Reading the runs of a server, `agent-tt serve`, from another machine: a source of runs as any file is.

```python
from agent_tt.remote import open_server

with contextlib.closing(open_server("http://127.0.0.1:8411")) as source:
    run = source.run("refund-loop")
    print(run.status, source.state(run.id, 1))
```

| module | does |
|---|---|
| `source` | the source: every question is put to the server, and asked again only when something has changed |
| `goldens` | goldens of the server: which there are, and what comes of running one there |
| `connection` | one question over HTTP, with the token; errors of the server as they were raised there |
| `asked` | the questions that there are, which the server answers |
| `records` | what the model's objects are as JSON, and back |
"""

from __future__ import annotations

from agent_tt.remote.source import RemoteRuns, open_server

__all__ = ["RemoteRuns", "open_server"]
