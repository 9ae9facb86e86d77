"""`agent-tt sweep`: the same fork with many values.

| module | does |
|---|---|
| `sweep` | the command and its options |
| `faults` | `--faults`: wrong answers of tools |
| `sweep_text`, `sweep_shapes` | what came out, for people and for programs |
"""
