"""The `agent-tt` command and its screens."""
