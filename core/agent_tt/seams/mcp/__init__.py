"""MCP: sessions with servers of tools, over HTTP or with a process.

| module | what it knows |
|---|---|
| `mcp_seam` | where a client connects to a process |
| `mcp_http_seam` | where a client connects over HTTP |
| `mcp_requests` | what a request asks, and what a server says of its tools |
| `mcp_streams` | the streams of a session that is recorded |
| `mcp_served_streams` | the streams of a session with a recording |
| `mcp_http_streams` | the streams of a session over HTTP |
"""
