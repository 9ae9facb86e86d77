"""What differs between two values.

| module | does |
|---|---|
| `states` | all differences, at paths as people write them |
| `state_diff`, `ignoring` | the same under rules that let some differences pass: order, paths, distances, types |
| `tolerance` | the same with the tolerances of DeepDiff, by its own verdict |
| `masking`, `loose_equality` | how: what passes is put back first; whether two values are equal then |
| `typed_values` | what typed values hold, whatever their type |
| `words` | what differs between two texts, by word |
| `patch`, `unified`, `deepdiff_format` | differences as a JSON Patch, a unified diff, DeepDiff's JSON and its Delta |
| `made_anew` | ids, times and marks, which differ each time although a text says the same |
| `echoes` | differences of messages that say nothing |
| `bookkeeping` | what a framework keeps in a state for itself |
| `edit_leaves` | what a person's edit changes, value by value |
"""
