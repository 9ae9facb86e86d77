"""Rows of the store as the model's objects, and back.

| module | does |
|---|---|
| `columns` | the model's objects in columns |
| `run_rows`, `step_rows`, `call_rows`, `deliveries` | runs, steps, calls and pieces of answers |
| `questions`, `holds` | calls that wait for a person; that a running agent waits before its next calls |
| `outputs`, `replays`, `sweeps` | output of runs, replays; sweeps |
| `lineage`, `usage` | what a fork shares with its ancestors: steps, checkpoints, tokens and dollars |
| `ids`, `naming` | what names a run or a checkpoint, and what may |
"""
