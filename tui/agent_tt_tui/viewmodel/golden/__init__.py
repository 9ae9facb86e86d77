"""Tests (goldens).

| module | does |
|---|---|
| `keeping` | what a run is kept as: rules that are proposed, changed and added; the command that does the same |
| `kept_tests` | the tests that are kept, with what came of them, and in lines what is to be known of one |
| `watched` | how tests stand that are watched while the app is open, and the line at the foot that says it |
"""
