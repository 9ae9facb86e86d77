"""Full-text search in everything that runs recorded, ranked, fast enough to search as one types.

| module | what it knows |
|---|---|
| `recorded` | which texts a run recorded: the one place that says so |
| `fields` | the names of what a search can be kept to |
| `requests` | what a request to a model repeats of the one before it |
| `query` | what is searched for |
| `hits` | what comes out, and in which order |
| `read` | searching by reading |
| `newest` | searching all runs of a large database of another system, the newest first |
| `cache` | the file that an index lies in |
| `build`, `write` | filling it, and taking out of it |
| `lookup`, `grams` | searching it |
| `finder` | all of it together: what commands and screens ask |

The index is FTS5 of SQLite with its trigram tokenizer, over texts that are kept once, their places beside them.
On 100,000 steps (1.1 million places) a keystroke takes up to 70 ms of the processor for words, at the 95th percentile;
a row of FTS5 for each place, counted and ordered by bm25, takes 0.8 to 1.6 s, and bm25 over texts kept once up to
0.4 s, since it scores every match before it gives the best. SQLite 3.40 folds 390 capital letters otherwise than Python
does and would miss them, so texts are folded before they are indexed; places as plain rows made the index half as large
again and keystrokes about a quarter slower on 5,000 steps, so they are packed.
"""
