"""What a model was shown: the items of each request, their sizes, where each came from, and what changed.

| module | does |
|---|---|
| `reading` | reads the model calls of a run as contexts; the place to begin |
| `shown` | what is told of a call: items, tiles, shares, what was cut, what joins it to others |
| `parts` | the items of one request, whatever form its provider has |
| `entering` | which texts a call brings into a run, and which kind of origin it is |
| `index` | finds where a text stood before: every source of it, never one of several |
| `tiling` | parts a text into tiles, each character in exactly one |
| `weighing` | tokens and costs of items and origins, which add up to those of the call |
| `changing` | what was added, cut and shortened since the last call in the lane |
| `against` | the same against any other call |
| `dropping` | what is gone: words of the user, and facts that a later answer needed |
| `items` | the items of a request, of which those of an earlier one are read when they are asked for |
| `joins` | what joins calls: ids and places that were recorded, arguments whose text stood before |
| `causes` | which steps fed a step, and which it fed: recorded, and inferred |
| `words` | an item and its origins in a few words |
| `without` | the edit of a fork whose request lacks an item, or why there is none |
"""
