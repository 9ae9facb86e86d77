"""What is a secret, and what is kept in its place. No input or output; the store's filter and the seams ask here.

| module | what it knows |
|---|---|
| `names` | names of fields, headers and query parameters whose values let somebody in |
| `judging` | whether the value of such a field is a secret, or a placeholder, a type, a count, a word |
| `shapes` | what keys, tokens and private keys look like wherever they stand |
| `named` | secrets that a text names: settings, options, headers, fields |
| `json_value` | values of JSON in a text, to any depth |
| `spans` | places in a text |
| `marks` | what stands for a secret: the same in every question, numbered and as long in answers |
| `own` | patterns of a project's own: what they may be, and where they fit |
| `given` | secrets that answers gave to the agent, recognised when it hands them on |
| `texts`, `values` | texts and wire values without their secrets |
| `streams` | the same for what arrives in pieces: texts, bodies, values |

What is replaced is gone: no digest of it is kept, because a short password could be guessed from one.
"""
