"""Statistics.

| module | does |
|---|---|
| `screen` | what can be counted over the runs of a store: by day, agent, model, tool |
"""
