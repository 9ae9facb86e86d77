"""`agent-tt open`: the terminal app."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from agent_tt import config
from agent_tt.addresses import STORE_VARIABLE, Address, told
from agent_tt.errors import UsageError
from agent_tt.querying.checkpoints import find_place
from agent_tt_tui.cli.options import Options, common_options, complete_runs, in_file

_DRIVER: Final = "TEXTUAL_DRIVER"
"""Textual's variable that names what draws: in the process of a browser's tab its terminal is in the page."""

_TOKEN: Final = "AGENT_TT_WEB_TOKEN"  # noqa: S105  the name of a variable


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@click.option("--at", "step", metavar="STEP", help="Where to open it; by default at its first error, else at its end.")
@click.option("--server", metavar="URL", help="Open the runs that `agent-tt serve` serves there.")
@click.option(
    "--token-file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="With --server: its token."
)
@click.option("--web", "in_browser", is_flag=True, help="Serve it to a browser on this machine, until Ctrl-C.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), metavar="PORT", help="With --web: where; any free port unless said."
)
@common_options
def command(
    options: Options,
    run: str | None,
    step: str | None,
    *,
    server: str | None,
    token_file: Path | None,
    in_browser: bool,
    port: int | None,
) -> int:
    """Open RUN in the terminal app; without RUN, a list of recorded runs and of sessions of coding agents.

    RUN@STEP opens it at a step, a FILE (ours, a database, a session, a trace) its list of runs, FILE:RUN one of them, a
    FOLDER/ the list of files in it that open. The name of a sample (see `samples`) opens that sample's run.

    With --server the runs are those of a server. Its token is that of --token-file, or of the variable
    AGENT_TT_SERVER_TOKEN. They are only read; what you write down about them stays on this machine.

    With --web it writes an address with a token, which a browser on this machine opens; each tab is an app of its own.
    """
    if server is None and token_file is not None:
        raise UsageError("--token-file is for a server", hint="Add --server URL.")
    if in_browser:
        said = [] if server is None else ["--server", server]
        said += [] if token_file is None else ["--token-file", str(token_file)]
        return _serve(options, run, step, port or 0, said)
    if port is not None:
        raise UsageError("--port says where --web serves")
    if server is not None:
        return _open_server(options, server, token_file, run, step)
    if step is None and not options.as_json:
        if run is None and options.store is None and _looks_for_sessions():
            return _open_page(options, None)
        if run is not None and _is_folder(run):
            return _open_page(options, Path(run).expanduser().resolve())
    return open_app(*in_file(options, run), step)


def _serve(options: Options, run: str | None, step: str | None, port: int, server: list[str]) -> int:
    """Serve the app to browsers until Ctrl-C; what cannot be opened is said here, not in the page.

    Args:
        options: what every command was told.
        run: what names the run to open; None for the first page, or the list of runs.
        step: what names its step.
        port: where it is listened; 0 takes a free port.
        server: the options that name a server whose runs these are; none for runs of this machine.
    """
    from agent_tt_tui.cli.asking.tokens import chosen_token
    from agent_tt_tui.web.server import serve

    if options.as_json:
        raise UsageError("the terminal app writes no JSON", hint="Use `agent-tt show RUN --json`.")
    if run is not None and not server and not _is_folder(run):
        options, run = in_file(options, run)
        with options.source(*([run] if run else [])) as source:
            if run is not None:
                find_place(source, run, step)
    words = ["open", *([] if run is None else [run]), *([] if step is None else ["--at", step])]
    if options.store is not None:
        words += ["--store", str(options.store)]
        if isinstance(options.store, Address):  # its password is for no list of processes
            os.environ[STORE_VARIABLE] = told(options.store)
    words += server
    token, _ = chosen_token(_TOKEN)
    click.echo("agent-tt: open this address in a browser on this machine; Ctrl-C stops serving", err=True)
    serve(words, port, token, click.echo)
    return 0


def _is_folder(run: str) -> bool:
    return (os.sep in run or run in (".", "..")) and Path(run).expanduser().is_dir()


def _looks_for_sessions() -> bool:
    """Whether sessions of coding agents are looked for, and one of the programs has been here."""
    from agent_tt.found.sessions import any_place

    return config.load().sessions is not False and any_place()


def _open_page(options: Options, folder: Path | None) -> int:
    """Show the first page, or the files of a folder."""
    from agent_tt.store.file.locate import writable_store_path

    path = writable_store_path(options.store)
    _require_terminal()
    from agent_tt_tui.launch import run_screen
    from agent_tt_tui.screens.first.screen import FirstScreen

    return run_screen(lambda: FirstScreen(path, folder))


def open_app(options: Options, run: str | None = None, step: str | None = None) -> int:
    """Start the terminal app.

    Args:
        options: what every command was told.
        run: what names the run to open; None for the list of runs, which may not have been begun yet.
        step: what names its step; None for its first error, else its end.

    Returns:
        The exit code.

    Raises:
        UsageError: input or output is not a terminal.
    """
    if options.as_json:
        raise UsageError("the terminal app writes no JSON", hint="Use `agent-tt show RUN --json`.")
    if step is not None and run is None:
        raise UsageError("--at needs a RUN")
    path = options.store_path()
    if run is None and options.store is None and not path.exists():
        return _open_empty(path)
    with options.source(*([run] if run else [])) as source:
        found, number = (None, None) if run is None else find_place(source, run, step)
        _require_terminal()
        from agent_tt_tui.launch import run_app

        return run_app(source, None if found is None else found.id, number)


def _open_server(options: Options, url: str, token_file: Path | None, run: str | None, step: str | None) -> int:
    """Start the terminal app on the runs of a server."""
    from contextlib import closing

    from agent_tt.marking import marked
    from agent_tt.remote import open_server
    from agent_tt_tui.cli.asking.tokens import token_in

    if options.as_json:
        raise UsageError("the terminal app writes no JSON")
    if options.store is not None:
        raise UsageError(f"{url} and --store {options.store} are two places", hint="Name one of them.")
    if step is not None and run is None:
        raise UsageError("--at needs a RUN")
    token = None if token_file is None else token_in(token_file)
    with closing(marked(open_server(url, token))) as source:
        found, number = (None, None) if run is None else find_place(source, run, step)
        _require_terminal()
        from agent_tt_tui.launch import run_app

        return run_app(source, None if found is None else found.id, number)


def _open_empty(path: Path) -> int:
    """Show how to get a first run, where there is not even a store yet."""
    _require_terminal()
    from agent_tt_tui.launch import run_screen
    from agent_tt_tui.screens.runs.empty import EmptyScreen

    return run_screen(lambda: EmptyScreen(path))


def _require_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()) and not os.environ.get(_DRIVER, "").endswith(":WebDriver"):
        raise UsageError(
            "the app needs a terminal, and input or output is not one",
            hint="For text use `agent-tt show RUN`; add --json for programs.",
        )
