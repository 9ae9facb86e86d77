"""Time in a replay: nobody waits, and time moves on.

| module | what it does |
|---|---|
| `virtual_time`, `timeline` | the clock of a replay, and who waits on it until when |
| `sleepers`, `busy_threads` | threads that wait, and threads that run meanwhile |
| `loop_inside`, `standard_loops`, `paces` | event loops whose clock is moved, and how many passes an answer took |
| `trio_loop`, `trio_time` | the same of trio |
"""
