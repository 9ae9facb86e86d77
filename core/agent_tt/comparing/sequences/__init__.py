"""Which items of two lists belong together.

| module | does |
|---|---|
| `sequence` | aligns two sequences: what stays, what is added, what is removed |
| `anchors` | the same for very long ones, between items that occur once in each |
| `increasing` | the longest, and the heaviest, increasing subsequence |
| `tokens` | what a word of a text is |
| `similarity` | how much two items have in common, to know one again after an edit |
| `items` | all of it together: items that stayed, moved, were edited |
"""
