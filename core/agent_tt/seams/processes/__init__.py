"""Processes: where a program starts others and hears of them.

| module | what it knows |
|---|---|
| `popen_seam`, `async_process_seam` | where a program starts processes and hears of them |
| `process_question`, `process_pipes` | what is asked of one, what comes back, and through which pipes |
| `spawn_seam` | processes of `multiprocessing`, which record into the run |
"""
