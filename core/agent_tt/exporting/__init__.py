"""Runs of any source as files that others can read: what `agent-tt export` writes.

| module | has |
|---|---|
| `export` | what a format is, and what it is given |
| `formats` | the formats that there are, found by their entry points, and which one a file's name asks for |
| `writing` | writing a file whole or not at all |
| `redacted` | runs without what the rules of redaction take out |
| `facts` | what every format says of a run before its steps |
| `markdown` | a run as text for an issue |
| `html` | runs as one page for a browser |
| `bundle` | runs with all that belongs to them, in one file that opens elsewhere |
| `taken_in` | runs of files of other systems as runs of a store, of which a bundle is made |
| `agent_code` | the files of an agent, and the packages that it ran with |
| `rows` | runs, steps, calls, notes and values of states as flat rows |
| `database`, `database_tables` | runs as a flat SQLite database, and what that has |
| `jsonl` | runs as JSON Lines |
| `atif` | a run as a trajectory in Harbor's interchange format |
| `openai` | conversations as examples for fine-tuning |

A format gets runs whose secrets are taken out already: those of a store were before they were written, and those of any
other file pass through `redacted`.
"""
