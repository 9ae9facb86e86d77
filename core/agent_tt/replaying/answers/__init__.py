"""Give recorded answers to the agent.

| module | what it does |
|---|---|
| `answer` | the recorded answer to one question |
| `turns`, `waiters` | the order in which answers are given out, and who waits for them |
| `without_clock` | waiting for answers where time is real |
| `rebuilt_errors`, `special_exceptions`, `unusable` | recorded exceptions and values, made again |
"""
