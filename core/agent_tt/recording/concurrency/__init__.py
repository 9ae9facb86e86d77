"""Tasks, jobs and threads of every library: which of them runs here, and the lane that each gets when it is created.

| module | what it does |
|---|---|
| `tasks` | the task that runs in this thread, of asyncio or trio |
| `new_lanes` | making the lane of what is about to begin, and being in it |
| `lane_labels` | the agent's own coroutine inside a library's wrapper |
| `lane_checks` | whether the installed libraries are made as we know them |
| `trio_tasks`, `trio_passes` | lanes of trio's tasks, and the pace of its loop |
| `task_order` | `asyncio.as_completed` in an order that no memory address decides |
| `thread_pools` | lanes of the jobs of `multiprocessing.pool`, in threads or processes |
| `process_pools` | lanes of jobs that worker processes do |
| `beside` | waiting in a thread of ours for what a coroutine awaits |
| `worker_threads` | which threads serve a pool |
"""
