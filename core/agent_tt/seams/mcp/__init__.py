"""MCP: sessions with servers of tools, over HTTP or with a process.

| module | what it knows |
|---|---|
| `mcp_seam` | where a session asks, and what becomes a call |
| `mcp_streams` | the streams of a session that is recorded, or a recording |
"""
