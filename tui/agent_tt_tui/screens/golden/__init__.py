"""Tests (goldens).

| module | does |
|---|---|
| `keep` | the dialog that keeps a run as a test |
| `kept` | the tests that are kept: run, updated, opened beside the run that was kept |
| `opening` | from a screen that shows runs to either |
"""
