"""Worker processes in a replay: `multiprocessing` starts them as ever, and the replaying process answers their calls.

| module | what it does |
|---|---|
| `connection` | the one way from a worker to the process that replays |
| `serving` | in the process that replays: gives each worker what it asks for |
| `asking` | in a worker: puts every call to the process that replays |
| `starting` | how a worker begins: forked, or as a new interpreter |
| `joining` | what is put in place in a worker that is a new interpreter |
| `resting` | whether any worker works, as the system sees it |
"""
