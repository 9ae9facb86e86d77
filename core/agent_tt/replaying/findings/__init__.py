"""What differs between a replay and its recording.

| module | what it does |
|---|---|
| `findings`, `notes` | each kind of difference, and what else is noted |
| `finding_json` | these as JSON, and back |
| `question_likeness`, `changed_lines` | the nearest recorded question, and the lines of code that may be why |
"""
