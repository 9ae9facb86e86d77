"""What was recorded while a store could not be written: files beside it, which it takes in later.

| module | does |
|---|---|
| `files` | the file: what a line is, where such files lie, which of them belong to a store |
| `actions` | what a recorder says, as the lines of a file and back |
| `writer` | the open end of a run that is written into such a file |
| `performing` | doing what the lines say, in the store that they were meant for |
| `taking_in` | which files a store can take in, all of each or nothing |

A spill file is text: each line is one action of a recorder (a step opens, a call begins, its answer came, …) as JSON,
behind a digest of it and of the line before. So it needs no database to be written, whatever it holds after a kill is
what was recorded until then, and a line that is missing or was changed is noticed. Everything passes the store's own
filter first: no secret is in it that would not be in the store. Only its owner may read it.

Taking a file in performs its actions in the store, in one transaction, at the times that they happened at. Whatever
the store proves of rows it writes itself, it proves of these.
"""
