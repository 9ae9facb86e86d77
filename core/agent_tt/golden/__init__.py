"""Golden runs: a recorded run that is kept as a regression test, with the rules that the agent has to keep to.

| module | what it does |
|---|---|
| `evidence` | what of a run the rules look at |
| `rule` | what every rule is: data that reads from TOML, says itself in words, and judges |
| `run_rules`, `tool_rules`, `value_rules` | the kinds of rules about a run |
| `outside_rules` | those that ask a command, or a model |
| `kinds` | all kinds by name |
| `proposing` | rules that a run suggests, each tried on other runs |
| `golden_file`, `header` | the text file of a golden; its first line |
| `listing` | goldens as JSON |
| `toml_text` | values as TOML |
| `recording_file` | the recording beside it, with its digest |
| `saving` | keeping a run as a golden |
| `running` | running the agent as it is now with the recorded answers, and judging the run that comes |
| `watching` | running them again when what they run is saved |
| `results` | what came of running goldens, kept for later |
| `updating` | rules that failed, as the run that came would keep to them |
| `opened_run` | a recorded run for assertions of tests |
"""
