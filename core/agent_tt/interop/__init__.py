"""Runs that other systems recorded, read where they lie.

| module | does |
|---|---|
| `kept` | results that are asked for again |
| `langgraph` | databases of LangGraph's checkpoints |
| `agents_sessions` | sessions of the OpenAI Agents SDK, in SQLite |
| `transcripts` | files of conversations and traces |
"""
