"""A server of MCP over HTTP by the official SDK, of version 1 or 2, that writes its port.

python served.py [json]     answers with JSON, not with streams of events
"""
import socket
import sys

import uvicorn

FORMAT = {"json_response": "json" in sys.argv}
try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    server, settings = MCPServer("served"), FORMAT
except ImportError:
    from mcp.server.fastmcp import Context, FastMCP

    server, settings = FastMCP("served", **FORMAT), {}


@server.tool()
async def count(to: int, context: Context) -> int:
    """Counts."""
    for number in range(to):
        await context.report_progress(number + 1, to, f"at {number + 1}")
    return to


@server.tool()
def token(context: Context) -> str:
    """Says which token it was given."""
    return context.request_context.request.headers.get("authorization", "none")


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no")


listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(server.streamable_http_app(**settings), log_level="error")).run(sockets=[listening])
