"""Running agents, and what came of it.

| module | does |
|---|---|
| `fork_setup`, `fork_policy`, `continuing` | what is chosen in the fork dialog |
| `fork_form` | the rows of the fork dialog |
| `as_command` | what was chosen in a dialog, as the command that does the same |
| `option_words` | advice that names options of the command, for a person who has keys |
| `asking`, `effects` | calls that wait; what went out |
| `replayed`, `ending` | what a replay found, how a run ended |
"""
