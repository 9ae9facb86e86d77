"""The parts of the screens of tests (goldens).

| module | does |
|---|---|
| `keep_form` | what a run is kept as: its rules, what each says of other runs, the file |
| `kept_list` | the tests that are kept, and what is to be known of one |
"""
