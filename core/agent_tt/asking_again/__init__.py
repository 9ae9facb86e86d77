"""Sends a recorded request to a model again, unchanged or edited, without running the agent.

`python -m agent_tt.asking_again` is the process that sends. What it sends and what comes back is recorded as the calls
of any agent are, in a run of its own beside the one that was asked about.

| module | what it does |
|---|---|
| `recorded_request` | the request of a recorded call, whole and free of marks, or why it cannot be sent |
| `hosts` | whose server an address is, and which key of the user's belongs to it |
| `proxies` | the proxy that the user's environment names |
| `plan` | what would be sent, where to, under which policy, at what cost: all that is said before |
| `launch` | starting the process that sends |
| `sending` | that process: one answer after another |
| `answers` | the answers beside the recorded one, read from the store |
"""
