"""HTTP: where each library meets the network, and a request while it is recorded or served.

| module | what it knows |
|---|---|
| `http_request`, `http_body` | what a request asks, and the digest by which it is recognised |
| `wire_answer`, `answer_text` | an answer as a person reads it |
| `http_exchange`, `served_answer` | one request while it is recorded, or while it is served |
| `httpx_seam`, `urllib3_seam`, `http_client_seam`, `aiohttp_seam` | where each library meets the network |
| `wire_connection`, `wire_files`, `served_transport` | sockets and connections that are recorded, or a recording |
"""
