"""Runs: one run while it is recorded, from its first row to its last.

| module | what it does |
|---|---|
| `recorder` | one run while it is recorded |
| `entry` | which code an agent runs and where a fork finds it again |
| `journal`, `fallback` | the one way from a recording to its store, and where it goes when that fails |
| `child_process`, `process_runs` | what other processes record into the run, and which of its process's runs it is |
| `attaching` | who lets running agents be held |
| `own_pruning` | starting to prune the store, where the settings ask for it |
| `traced` | the span of OpenTelemetry in which a run begins |
| `output` | what the agent prints on standard output |
| `kept_patterns` | what else is secret by a project's own rules |
| `block` | the base of what is used in a `with` or `async with` block |
"""
