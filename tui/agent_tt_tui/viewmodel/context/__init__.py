"""What a model was shown, laid out without a terminal.

| module | does |
|---|---|
| `facts` | the row of facts about a call, and which call it is |
| `history` | the chart of all calls, a bar each |
| `made_of` | the stacked bar: the kinds of origins by their tokens |
| `folds`, `listing` | the items from top to bottom, with what was cut between them, and their rows |
| `chosen` | one item in full, where it came from, and what became of what was cut |
| `standing` | in which calls an item stands |
"""
