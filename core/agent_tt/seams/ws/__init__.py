"""WebSockets: connections whose messages are recorded, or answered from a recording.

| module | what it knows |
|---|---|
| `frames` | messages as a recording keeps them, and the few bytes that a server says |
| `talk` | one connection: which call each message of the agent is |
| `heard` | what the server says, as a recording keeps it, each message in its row |
| `answering` | what a recording says in the server's place |
| `lines` | what a library reads from in place of a network |
| `aiohttp_ws_seam` | where WebSockets of `aiohttp` meet the network |
| `websockets_seam` | where the clients of `websockets` meet the network |
| `websockets_legacy_seam` | where its older client does |
| `websocket_client_seam` | where `websocket-client` does |
| `httpx_ws_seam` | where `httpx-ws` does |
| `httpx_ws_streams` | what its sessions read from |
"""
