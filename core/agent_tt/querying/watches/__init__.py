"""Where in a run an expression holds.

| module | does |
|---|---|
| `step_search` | the next and the previous step, where it began and stopped, all steps |
| `tracked_value` | one value, followed from checkpoint to checkpoint by the operations that touch it |
| `reasons` | the values for which it holds |
| `kept_watches` | expressions that are kept with a run: bookmarks and breakpoints |
| `live_watch`, `step_ranges` | where one of them holds, updated as the run grows, in bounded time |
| `watchpoints` | all of a run together, and where breakpoints stop |
"""
