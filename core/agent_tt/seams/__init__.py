"""Where a program meets the network and other processes: what it asks becomes calls of the run, which replays answer.

| module | what it knows |
|---|---|
| `http` | httpx, urllib3, `http.client` and aiohttp |
| `ws` | WebSockets of `websockets`, `aiohttp`, `websocket-client` and `httpx-ws` |
| `mcp` | sessions with servers of tools |
| `processes` | processes that a program starts |
| `install` | putting the seams in place, and taking them away again |

No library is imported here: each is patched when the program imports it.
"""
