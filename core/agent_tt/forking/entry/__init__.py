"""Which code a fork runs, and how it takes a state.

| module | what it does |
|---|---|
| `code`, `entry_point`, `entry_source` | which code will run, where it lies, and its source |
| `entry_run`, `rebuild` | calling it with a state that was made a Python object again |
| `executors`, `code_by_executor` | who runs agents of other frameworks, by name |
| `mock_model` | made-up answers of models |
| `conversation`, `conversation_forms` | going on with a conversation without its program, as each provider is asked |
| `declared_tools` | tools that the agent's code declares |
"""
