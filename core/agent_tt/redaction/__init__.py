"""What is a secret, and what is kept in its place. The store's filter and the seams ask here.

The only files that are read or written are those of keys and vaults.

| module | what it knows |
|---|---|
| `names` | names of fields, headers and query parameters whose values let somebody in |
| `judging` | whether the value of such a field is a secret, or a placeholder, a type, a count, a word |
| `shapes` | what keys, tokens and private keys look like wherever they stand |
| `anchors` | words that a text must hold to hold a secret: one pass tells which of all are there |
| `multiple_search` | many signs and patterns found in one pass over a text |
| `named` | secrets that a text names: settings, options, headers, fields |
| `logins` | commands that log in |
| `json_value` | values of JSON in a text, to any depth |
| `spans` | places in a text |
| `marks` | what stands for a secret: the same in every question, numbered and as long in answers |
| `rules` | what else is secret: profiles, patterns, fields, and what may stay |
| `own` | the rules that hold in this process |
| `patterns` | patterns of a project: what they may be, and where they fit |
| `fields` | names of fields that hold personal data, and values that stay |
| `personal` | personal data, told by its form and checksum |
| `number_places` | where in a text numbers and addresses could stand |
| `phones` | telephone numbers that a country gives out |
| `keyed` | what stands for personal data: made with a key of the store |
| `vault` | what marks of personal data stand for, encrypted, for those with the key |
| `given` | secrets that answers gave to the agent, recognised when it hands them on |
| `texts`, `values` | texts and wire values without their secrets |
| `one_look` | whether one look at a whole value tells that it has none |
| `streams` | the same for what arrives in pieces: texts, bodies, values |

What is replaced is gone: no digest of it is kept, because a short password could be guessed from one; but of personal
data one that is made with a key, which lies beside the store.
"""
