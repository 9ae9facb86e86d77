"""Nothing gets past a replay.

| module | what it does |
|---|---|
| `guard`, `guard_events` | what is held back, and the audit events by which it is seen |
| `foreign_calls`, `uvloop_calls` | what C code is called for, asked about where Python raises no audit event |
| `attempts` | what an attempt is answered with |
| `own_pipes` | where processes of `multiprocessing` meet |
| `quiet` | silences warnings about the exception that ends the agent |
"""
