"""Where HTTP libraries are caught: requests become calls of the run, answers are kept as bytes, replays are served.

| module | what it knows |
|---|---|
| `http_request`, `http_body`, `redaction` | what a request asks, and the digest by which it is recognised |
| `wire_answer`, `answer_text` | an answer as a person reads it |
| `http_exchange`, `served_answer` | one request while it is recorded, or while it is served |
| `httpx_seam`, `urllib3_seam`, `aiohttp_seam`, `mcp_seam` | where each library meets the network, or a process |
| `wire_files`, `served_transport`, `mcp_streams` | sockets, connections and streams that are recorded, or a recording |
| `install` | putting the seams in place, and taking them away again |

No library is imported here: each is patched when the program imports it.
"""
