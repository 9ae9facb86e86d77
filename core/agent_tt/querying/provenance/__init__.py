"""Who wrote a value, and what caused it.

| module | does |
|---|---|
| `blaming` | all of it together |
| `writes` | all writes of a value, through lists that were sorted |
| `moved_values` | where a value was before a step put it elsewhere |
| `edits` | what people changed for a fork |
| `trail`, `links` | the way back from a value to what caused it, and its parts as data |
| `searching`, `origins` | which call holds a value: candidates, and how alike they are |
| `entities` | numbers, dates and names in a text, however they are written |
| `arithmetic` | how a number may have been computed from others |
| `model_reading` | which places of its request a model took an answer from |
| `summaries` | where an answer may be from that its request does not show: before a compaction, or in no message |
| `open_steps` | which steps were open at the same time, and may have written it as well |
"""
