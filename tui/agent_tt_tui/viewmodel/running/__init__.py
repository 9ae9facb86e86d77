"""Running agents, and what came of it.

| module | does |
|---|---|
| `fork_setup`, `fork_policy`, `fork_rows`, `what_runs` | the fork dialog, and what runs |
| `asking`, `effects` | calls that wait; what went out |
| `replayed`, `ending` | what a replay found, how a run ended |
"""
