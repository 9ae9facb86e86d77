"""`agent-tt mcp`: the recorded runs as tools for coding agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import UsageError
from agent_tt_tui.cli.asking.tokens import chosen_token
from agent_tt_tui.cli.options import Options, common_options

if TYPE_CHECKING:
    from agent_tt.serving.running import Runner

TOKEN_VARIABLE: Final = "AGENT_TT_MCP_TOKEN"  # noqa: S105  the name of a variable


@click.command()
@click.option(
    "--http", "port", type=click.IntRange(0, 65_535), metavar="PORT", help="Serve HTTP on loopback; 0: any port."
)
@click.option("--allow-runs", is_flag=True, help="Let clients replay and fork: there are tools for it then.")
@click.option("--allow", multiple=True, metavar="TOOL", help="With --allow-runs: let this tool write in every fork.")
@click.option("--time-limit", metavar="TIME", default="2m", show_default=True, help="Longest run of one agent.")
@click.option(
    "--max-runs",
    type=click.IntRange(1),
    metavar="N",
    default=20,
    show_default=True,
    help="Most agents that are started.",
)
@click.option("--max-tokens", metavar="N", type=click.IntRange(min=0), help="Stop a fork after that many tokens.")
@click.option("--max-cost", metavar="USD", type=click.FloatRange(min=0), help="Stop a fork when models have cost that.")
@common_options
def command(
    options: Options,
    port: int | None,
    allow: tuple[str, ...],
    time_limit: str,
    max_runs: int,
    max_tokens: int | None,
    max_cost: float | None,
    *,
    allow_runs: bool,
) -> int:
    """Serve the recorded runs to a coding agent, over the Model Context Protocol, on standard input and output.

    The client that starts it gets tools that only read: runs, overview, step, state, call, context, blame, find, where,
    diff, compare, effects, oddities. With --allow-runs also replay and fork; tools that write stay denied unless you
    --allow them here. A client cannot change that.

    With --http it listens on 127.0.0.1 alone, and every request has to bring a token. It is that of the variable
    AGENT_TT_MCP_TOKEN, or a new one, which is written on standard error.

    \b
    agent-tt mcp
    agent-tt mcp --store traces.json
    agent-tt mcp --allow-runs --allow charge_card --time-limit 30s
    agent-tt mcp --http 8765
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.serving.debugger import Debugger
    from agent_tt.serving.server import serve_http, serve_stdio

    if not allow_runs and (allow or max_tokens is not None or max_cost is not None):
        raise UsageError("--allow and limits are for forks, and no client may fork", hint="Add --allow-runs.")
    if options.as_json:
        raise UsageError("what this command writes is the protocol, so there is no --json")
    runner = _runner(allow, time_limit, max_runs, max_tokens, max_cost) if allow_runs else None
    debugger = Debugger(options.store_path(), () if runner is None else runner.tools())
    ended = (lambda: None) if runner is None else runner.stop
    if port is None:
        serve_stdio(debugger, ended)
        return 0
    token, is_new = chosen_token(TOKEN_VARIABLE)

    def told(address: str) -> None:
        click.echo(f"agent-tt: {address}", err=True)
        if is_new:
            click.echo(f"agent-tt: Authorization: Bearer {token}", err=True)

    serve_http(debugger, port, token, told, ended)
    return 0


def _runner(
    allow: tuple[str, ...], time_limit: str, max_runs: int, max_tokens: int | None, max_cost: float | None
) -> Runner:
    """What runs agents; loaded only with leave."""
    from agent_tt.forking.terms import parse_duration
    from agent_tt.serving.running import Leave, Runner

    return Runner(Leave(allow, parse_duration(time_limit), max_runs, max_tokens, max_cost))
