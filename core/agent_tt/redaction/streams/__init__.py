"""Secrets in what arrives in pieces: texts, bodies and values of which more may come.

| module | what it knows |
|---|---|
| `open_ends` | what of a text more text may still change |
| `growing` | a text that grows, judged as if it had come at once |
| `channels` | texts that a stream brings in stretches: judged joined, and cut back |
| `packing` | bodies that are compressed |
| `event_forms` | events that are written alike: of the next one only what differs is looked at |
| `bodies` | the body of an answer as it arrives, and which of its bytes are secrets |
| `answers` | answers of servers, byte for byte as long as they were |
| `wire_pieces` | pieces of a stream that are values |
"""
