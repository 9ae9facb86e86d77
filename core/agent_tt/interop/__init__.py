"""Runs that other systems recorded, read where they lie.

| module | does |
|---|---|
| `kept` | results that are asked for again |
| `langgraph` | databases of LangGraph's checkpoints |
| `databases` | sessions and traces of other programs in SQLite |
| `threads` | threads that our own checkpointer keeps in a store |
| `bundle` | runs that were exported with all that belongs to them |
| `opentelemetry` | runs as spans of OpenTelemetry, sent to collectors |
| `transcripts` | files of conversations and traces |
"""
