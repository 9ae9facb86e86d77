"""Runs as spans of OpenTelemetry, by its conventions for generative AI; sent by its own SDK.

| module | does |
|---|---|
| `conventions` | a model call, a tool call, a request and an agent in the conventions' names |
| `tree` | the spans of a run: which is whose parent, when it began and ended |
| `sending` | spans through the SDK to a collector |
| `metrics` | tokens and durations of model calls, and what came of replays |
| `following` | one run on its way: each span once, its metrics at the end |
| `live` | a run that is recorded, sent while it goes on; spans of other libraries below its calls |

Ids of spans are digests of run, step and call: whoever sends a run twice sends the same spans.
"""
