"""Commands that ask about what was recorded.

| module | does |
|---|---|
| `find`, `sql` | searching all runs; queries over readable views |
| `blame`, `bisect` | who wrote a value; the first step after which something holds |
| `context` | what a model was sent, and where each part came from |
| `mcp` | the recorded runs as tools for coding agents |
| `serve` | the recorded runs for a team, over HTTP |
| `tokens` | the token of a server that a command starts |
| `watch`, `watch_text` | expressions that are kept with a run, and how they are written |
"""
