"""Files in which other programs keep conversations with models, read as runs: sessions, message lists, trajectories.

A format is a function from a document to transcripts, in one module; all else is shared. What a file does not say is
absent. Nothing that a file names is opened, imported or called.

| module | does |
|---|---|
| `document` | a file as JSON: one value, or one a line; what of it cannot be read |
| `pieces` | where lines and pieces of a file lie, parsed when they are asked for |
| `transcript` | what a format tells: steps, their calls, and the conversation after each; runs that are told later |
| `kept_list` | the runs of a large file, known the next time without reading it |
| `telling` | putting a transcript together, message by message |
| `source` | a file of transcripts as a source of runs |
| `chat` | lists of messages in the forms of providers, alone or in the wrapping of benchmarks and small agents |
| `spans` | traces: what spans stand for, whoever kept them |
| `otlp` | traces of OpenTelemetry in JSON, by four conventions |
| `langfuse` | traces that Langfuse exports |
| `claude_code` | sessions of Claude Code |
| `pi` | sessions of pi |
| `atif` | trajectories in Harbor's interchange format |
| `swe_agent` | trajectories of SWE-agent |
| `mini_swe_agent` | trajectories of mini-swe-agent |
| `openhands` | event streams of OpenHands |
"""
