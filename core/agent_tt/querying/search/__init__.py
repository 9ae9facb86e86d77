"""Full-text search in everything that runs recorded, ranked, fast enough to search as one types.

| module | what it knows |
|---|---|
| `recorded` | which texts a run recorded: the one place that says so |
| `requests` | what a request to a model repeats of the one before it |
| `query`, `folding` | what is searched for, and what it means that a text holds it |
| `hits` | what comes out, and in which order |
| `read` | searching by reading |
| `files` | where the files of indexes lie, for the user alone |
| `cache` | the file that an index lies in |
| `build`, `write` | filling it, and taking out of it |
| `lookup`, `grams` | searching it |
| `finder` | all of it together: what commands and screens ask |
"""
