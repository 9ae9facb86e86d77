"""Two runs side by side, and one against many.

| module | does |
|---|---|
| `run_view` | one of the runs, read once |
| `comparison` | all of a comparison of two |
| `pairing`, `rows`, `lane_ends` | steps set beside each other, the lines that are shown, the end of each lane |
| `lineage`, `rejoining` | what a fork shares with its parent; where runs that diverged agree again |
| `divergence`, `divergence_reason` | why runs diverge: found in the runs; in words and as data |
| `request_parts` | which parts of two requests to a model differ, in words |
| `call_changes` | what differs between the calls of two steps |
| `edits`, `without_effect` | what people changed on the way to a run; edits of which nothing came |
| `table`, `equal_answers` | one run against many, with equal answers under one letter |
"""
