"""Running agents, and what came of it.

| module | does |
|---|---|
| `fork_setup`, `fork_policy`, `continuing` | what is chosen in the fork dialog |
| `fork_form` | the rows of the fork dialog |
| `log_lines` | what was run from the app: a row each, and in full |
| `as_command` | what was chosen in a dialog, as the command that does the same |
| `option_words` | advice that names options of the command, for a person who has keys |
| `again` | a recorded request that is sent again: what is said before, and its answers |
| `asking`, `effects` | calls that wait; what went out |
| `replayed`, `ending` | what a replay found, how a run ended |
"""
