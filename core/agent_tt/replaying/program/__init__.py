"""The program around a replayed agent.

| module | what it does |
|---|---|
| `standard_input`, `same_screen` | what it reads, and what it prints on |
| `program_end` | what it does as it ends |
| `debugging` | pdb inside the agent |
"""
