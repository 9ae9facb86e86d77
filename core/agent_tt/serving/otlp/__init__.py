"""Receiving spans: whatever is instrumented with OpenTelemetry is a run that grows while it is sent.

Spans are kept in a file for each trace, beside the store and without secrets, before they are acknowledged; the file is
imported into the store as any file of spans is, again whenever more of them have come.

| module | does |
|---|---|
| `bodies` | what was sent, as spans and records: JSON or protocol buffers, compressed or not |
| `spool` | the files of traces |
| `receiver` | takes spans, imports their traces, closes those that nothing more is heard of |
| `replies` | what is answered, in the form in which was asked |
"""
