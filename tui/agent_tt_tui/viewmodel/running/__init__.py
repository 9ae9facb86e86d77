"""Running agents, and what came of it.

| module | does |
|---|---|
| `fork_setup`, `fork_policy`, `continuing` | what is chosen in the fork dialog |
| `asking`, `effects` | calls that wait; what went out |
| `replayed`, `ending` | what a replay found, how a run ended |
"""
