"""Where a program meets the network and other processes: what it asks becomes calls of the run, which replays answer.

| module | what it knows |
|---|---|
| `http_request`, `http_body` | what a request asks, and the digest by which it is recognised |
| `wire_answer`, `answer_text` | an answer as a person reads it |
| `http_exchange`, `served_answer` | one request while it is recorded, or while it is served |
| `httpx_seam`, `urllib3_seam`, `aiohttp_seam`, `mcp_seam` | where each library meets the network, or a process |
| `wire_files`, `served_transport`, `mcp_streams` | sockets, connections and streams that are recorded, or a recording |
| `popen_seam`, `async_process_seam` | where a program starts processes and hears of them |
| `process_question`, `process_pipes` | what is asked of one, what comes back, and through which pipes |
| `spawn_seam` | processes of `multiprocessing`, which record into the run |
| `install` | putting the seams in place, and taking them away again |

No library is imported here: each is patched when the program imports it.
"""
