"""Between Python values and wire values, the JSON-like form in which every state, argument and result is kept.

| module | does |
|---|---|
| `wire` | says what a wire value is, and how an envelope is told from plain data |
| `encode`, `plain`, `parts`, `sharing` | Python values to wire values: which need an envelope, how they come apart |
| `tracked`, `track_reader` | dicts and lists that know what was written into them |
| `carried` | remembers what was found out about objects that the next value holds as well |
| `looking` | stands whatever an object does when it is looked at |
| `decode`, `builtin_values`, `class_values`, `refusal` | back again: no code of the user is called |
| `loaded_classes` | the agent's own classes, found among those that are loaded |
| `tlv` | the byte form that is hashed and compared |
| `sameness` | whether two values are the same, and how far two lists of them are |
| `paths` | places in a value, as people write them |
| `fields` | what a value holds by name |
| `text`, `typed_text` | values as text for people |
| `texts`, `folding` | the texts of a value, and what it means that a text holds another one |
| `json_in_text` | texts that are themselves JSON |
| `parse` | values as people type them |
| `collector` | pauses Python's collector of cycles while very many objects are made |
"""
