"""What a step changed in a state.

| module | does |
|---|---|
| `ops`, `trace`, `undo` | the operations, as they are stored; following a value through them; going back |
| `diff`, `align`, `subsequence` | the operations between two values: which spans of a list changed |
| `change_detector`, `walk`, `tracked_walk`, `nodes`, `forms` | what changed in a live object, at the speed of memory |
| `census` | which objects a state consists of: what is made of the same ones is as it was |
| `audit` | writes into tracked containers that these did not note |
| `kept_values`, `tallies` | the same between values that nobody changes, and their digests: it costs what changed |
| `append_only` | lists that only grow, which are written once |
| `large_parts`, `keyframe_layout` | parts that are stored apart, and where they lie in a whole state |
"""
