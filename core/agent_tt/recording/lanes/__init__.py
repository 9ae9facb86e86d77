"""Lanes: logical threads of control, and the order in which they get their answers.

| module | what it does |
|---|---|
| `lanes`, `named_lanes` | lanes and their ids, and those that the agent names |
| `hooks` | the seams at which lanes are created |
| `thread_ordering` | threads take their answers one after another |
| `arrival`, `timers` | how an awaited answer came, for a replay to keep the same pace |
| `job_ends` | when an executor's job is over: when it has been told |
| `list_order` | `as_completed` of jobs in an order that no memory address decides |
| `guard_bypass`, `shared_end` | what is made for real on purpose, and its end as forked processes see it |
"""
