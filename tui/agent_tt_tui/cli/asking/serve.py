"""`agent-tt serve`: the recorded runs for a team, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from agent_tt.errors import UsageError
from agent_tt.golden.header import FOLDER
from agent_tt_tui.cli.asking.tokens import chosen_token
from agent_tt_tui.cli.options import Options, common_options

TOKEN_VARIABLE: Final = "AGENT_TT_SERVER_TOKEN"  # noqa: S105  the name of a variable
PORT: Final = 8411


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Listen on this address.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="0: any port.")
@click.option("--allow-host", multiple=True, metavar="NAME", help="Answer to this name too: NAME, or NAME:PORT.")
@click.option(
    "--token-file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Read the token from FILE."
)
@click.option("--read-only", is_flag=True, help="Change nothing, take nothing in and start nothing.")
@click.option("--audit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write requests there.")
@click.option(
    "--goldens", type=click.Path(path_type=Path), default=FOLDER, metavar="FOLDER", help="Show these goldens."
)
@click.option("--rate", type=click.FloatRange(min=1), default=500, show_default=True, help="Most requests a second.")
@click.option("--at-once", type=click.IntRange(1), default=4, show_default=True, help="Answer so many side by side.")
@click.option("--request-time", metavar="TIME", default="60s", show_default=True, help="Work so long for a request.")
@click.option("--otlp-idle", metavar="TIME", default="10m", show_default=True, help="Close a trace after that silence.")
@click.option("--otlp-keep", metavar="TIME", default="24h", show_default=True, help="Then take late spans so long.")
@click.option("--allow-forks", is_flag=True, help="Let clients fork runs, replay them offline, and run goldens.")
@click.option("--allow", multiple=True, metavar="TOOL", help="With --allow-forks: let this tool write in every fork.")
@click.option("--ask", multiple=True, metavar="TOOL", help="With --allow-forks: its calls wait for a client's answer.")
@click.option("--time-limit", metavar="TIME", default="2m", show_default=True, help="Longest run of one agent.")
@click.option("--max-runs", type=click.IntRange(1), default=100, show_default=True, help="Most agents started.")
@click.option("--max-running", type=click.IntRange(1), default=2, show_default=True, help="Most that run at a time.")
@click.option("--max-tokens", metavar="N", type=click.IntRange(min=0), help="Stop a fork after that many tokens.")
@click.option("--max-cost", metavar="USD", type=click.FloatRange(min=0), help="Stop a fork when models have cost that.")
@common_options
def command(
    options: Options,
    *,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    token_file: Path | None,
    read_only: bool,
    audit: Path | None,
    goldens: Path,
    rate: float,
    at_once: int,
    request_time: str,
    otlp_idle: str,
    otlp_keep: str,
    allow_forks: bool,
    allow: tuple[str, ...],
    ask: tuple[str, ...],
    time_limit: str,
    max_runs: int,
    max_running: int,
    max_tokens: int | None,
    max_cost: float | None,
) -> int:
    """Serve the recorded runs to a team over HTTP, until Ctrl-C; /openapi.json describes the interface.

    It listens on loopback alone, and every request has to bring a token: that of --token-file or of the variable
    AGENT_TT_SERVER_TOKEN, or a new one, which is written on standard error once. TLS is for a proxy before it, which is
    named with --allow-host; an address that other machines reach needs that too. Each request is written into an audit
    log.

    Spans that are sent to it by OTLP (/v1/traces, HTTP) become runs that grow while they come.

    Clients read, write names of checkpoints and drop their states. They start agents only with --allow-forks; tools
    that write stay denied unless you --allow them, or --ask, which has their calls wait for the answer of a client.

    \b
    agent-tt serve
    agent-tt serve --read-only --token-file ~/.agent-tt-token
    agent-tt serve --allow-forks --ask charge_card --max-cost 1
    agent-tt serve --allow-host agents.example.com
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.forking.terms import parse_duration
    from agent_tt.serving.listening import is_loopback
    from agent_tt.serving.rest.server import Serving, serve

    if options.as_json:
        raise UsageError("this command serves, and writes no JSON")
    if not allow_forks and (allow or ask or max_tokens is not None or max_cost is not None):
        raise UsageError("--allow, --ask and limits are for forks, and no client may fork", hint="Add --allow-forks.")
    if allow_forks and read_only:
        raise UsageError("--allow-forks starts agents, and --read-only nothing", hint="Leave one of them out.")
    if not is_loopback(host) and not allow_host:
        raise UsageError(
            f"other machines reach {host}, and are told no name for it",
            hint="Add --allow-host NAME, and put a proxy with TLS before it.",
        )
    token, is_new = chosen_token(TOKEN_VARIABLE, token_file)
    starter = None
    if allow_forks:
        from agent_tt.serving.starting import Leave, Starter

        seconds = parse_duration(time_limit)
        starter = Starter(Leave(allow, seconds, max_runs, max_tokens, max_cost, ask, max_running))

    def told(address: str) -> None:
        click.echo(f"agent-tt: {address}", err=True)
        if is_new:
            click.echo(f"agent-tt: Authorization: Bearer {token}", err=True)

    serve(
        Serving(
            store=options.store_path(),
            token=token,
            host=host,
            port=port,
            names=allow_host,
            read_only=read_only,
            audit=audit,
            goldens=goldens,
            rate=rate,
            at_once=at_once,
            seconds=parse_duration(request_time),
            starter=starter,
            idle=parse_duration(otlp_idle),
            keep=parse_duration(otlp_keep),
        ),
        told,
    )
    return 0
