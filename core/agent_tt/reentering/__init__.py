"""Re-entering an agent by replay: it runs from its beginning, is given what was recorded, and goes on changed.

An agent that cannot be handed a state is started as it was started then. Up to the step that a fork begins after, its
calls are answered from the recording and nothing is reached; there the fork's edits are applied to its own objects, or
to what it sends; and each lane goes on for real when its recorded part is used up. Answering and writing are those of
`agent_tt.resuming`: such a fork is a run that broke off before it had done anything of its own.

| module | what it does |
|---|---|
| `amendment` | what a fork changes, as data |
| `amendments` | the edits of a fork, and of the forks that it came from, and while what they are applied |
| `amended` | how they are applied |
| `conversations` | edits of messages of an agent that names no steps: in its own list, else in its requests |
| `requests` | system prompt, model and parameters of every later request |
| `past` | what is answered from the recording: up to which call in which lane |
| `refusal` | what is said where the code has changed |
"""
