"""Bytes of the log: packed, compressed, large values once.

| module | does |
|---|---|
| `payload` | operations and states as bytes, and back |
| `blobs` | large values, each once, by its hash |
| `parts` | parts of states that were read lately, which states that lie near each other share |
| `frames`, `training` | compression, and the dictionary of an agent |
| `shared_lists` | lists that one value after another goes on with, in stretches |
| `templates` | headers of HTTP messages, whose unchanging part is kept once |
| `damage` | what stands in place of what cannot be read |
"""
