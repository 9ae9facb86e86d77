"""The group of commands. A command's module is imported when it is used, never before."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from agent_tt_tui.cli.errors import ReaderGone, guarded
from agent_tt_tui.cli.options import Options, StorePath

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "runs": ("looking.runs", "List recorded runs."),
    "tree": ("looking.tree", "Show runs and their forks as a tree, and what each changed."),
    "open": ("looking.open", "Open a run, or the list of runs, in the terminal app."),
    "sessions": ("looking.sessions", "List sessions of coding agents on this machine."),
    "show": ("looking.show", "Show a run, or one of its steps with its state."),
    "diff": ("comparing.diff", "Show what differs between two states."),
    "find": ("asking.find", "Search everything a run recorded, or ask where something holds."),
    "watch": ("asking.watch", "Mark where expressions hold in a run, and break there."),
    "stats": ("looking.stats", "Count runs, tokens, cost, replays and errors."),
    "sql": ("asking.sql", "Ask a store with SQL, over readable views."),
    "blame": ("asking.blame", "Show who wrote a value, and what caused it."),
    "context": ("asking.context", "Show what a model was sent, and where each part came from."),
    "mcp": ("asking.mcp", "Serve the runs to coding agents, as tools."),
    "serve": ("asking.serve", "Serve the runs to a team, over HTTP."),
    "bisect": ("asking.bisect", "Find the first step after which something holds."),
    "record": ("running.record", "Run a program and record what it does."),
    "replay": ("running.replay", "Run an agent again offline, every call answered as recorded."),
    "replays": ("looking.replays", "List what came of replays."),
    "steady": ("running.steady", "Run a program twice with the same answers, and name what differs."),
    "resume": ("running.resume", "Resume a run that crashed or was interrupted."),
    "fork": ("running.fork", "Run an agent again from a step, with an edited state."),
    "again": ("running.again", "Ask a model once more what a recorded call asked."),
    "golden": ("running.golden", "Keep runs as tests (goldens); list, show and watch them."),
    "test": ("running.testing", "Run goldens: the agents as they are now, with recorded answers."),
    "sweep": ("sweeping.sweep", "Fork a run with many values, and count what comes out."),
    "stop": ("running.stop", "Stop running runs, whoever started them."),
    "hold": ("running.hold", "Let a running agent wait before its next call."),
    "answer": ("running.answer", "Approve, change or refuse calls that wait."),
    "settle": ("running.settle", "Say whether a call happened that is done once for its key."),
    "compare": ("comparing.compare", "Compare two runs, step by step, or one with many."),
    "rename": ("keeping.rename", "Rename a run, or name a checkpoint."),
    "note": ("keeping.note", "Write a note about a run or a checkpoint, or list them."),
    "tag": ("keeping.tag", "Tag a run, or list its tags."),
    "meta": ("keeping.meta", "Set facts about a run or a checkpoint: purpose, ticket."),
    "pin": ("keeping.pin:pin", "Keep runs from being archived or deleted."),
    "unpin": ("keeping.pin:unpin", "Unpin runs: they can be archived and deleted again."),
    "archive": ("keeping.archive:archive", "Hide runs from lists."),
    "unarchive": ("keeping.archive:unarchive", "List archived runs again."),
    "delete": ("keeping.delete", "Delete runs for good."),
    "drop": ("keeping.drop", "Drop states of steps; the steps stay."),
    "du": ("keeping.du", "Show which runs, threads and channels fill a file."),
    "prune": ("keeping.prune", "Make a store or a LangGraph database smaller."),
    "copy": ("keeping.copy", "Copy runs between stores: files, and databases on servers."),
    "import": ("keeping.importing", "Copy runs of other programs' files, and of bundles, into a store."),
    "export": ("keeping.exporting", "Write runs as files that others can read."),
    "originals": ("keeping.originals", "Show what marks of personal data stand for, with the vault's key."),
    "redact": ("keeping.redact", "Take secrets and personal data out of runs, or show them."),
    "otel": ("keeping.otel", "Send runs to an OpenTelemetry collector."),
    "verify": ("keeping.verify", "Check that nothing recorded is damaged."),
    "doctor": ("looking.doctor", "Show what agent-tt finds on this machine, and what it lacks."),
    "plugins": ("looking.plugins", "List installed sources, providers, adapters and other plug-ins."),
    "samples": ("looking.samples", "List the sample agents, or make their runs."),
}
"""Of every command the module below this package, which holds it as `command` or as what follows the colon, and its
first line of help."""

COMMANDS: Final = {name: words for name, (_, words) in _COMMANDS.items()}
"""Every command and its first line of help, in the order in which they are best learned."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """The names, in the order in which they are best learned."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(f"agent_tt_tui.cli.{module}"), name or "command")
        if cmd_name != "open":  # the app does, as soon as it is on screen
            gc.freeze()
            gc.enable()
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; where there is none, offer what looks like it."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            guess = f": did you mean {close[0]}?" if close else f": there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"there is no command {name!r}{guess}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--store",
    type=StorePath(),
    metavar="FILE",
    help="The file with the runs: agent-tt's, or another system's; or a database's address.",
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option("--version", is_flag=True, help="Show the version.")
@click.pass_context
def root(context: click.Context, store: Path | None, *, debug: bool, version: bool) -> int:
    """A time-travel debugger for AI agents, in the terminal.

    Without a command it opens the list of runs. A RUN is named by its id or the beginning of it, by its name, by
    `latest`, or by NAME~2 for the one before the one before; a STEP by its number (0 is the input), by ~1 from the end,
    or by @error.

    \b
    Exit codes: 0 done · 1 the answer is no (diverged, differs) · 2 usage ·
    3 not found · 4 store unreadable, damaged or newer · 5 the agent failed ·
    6 replay --strict: as recorded, with reservations · 130 interrupted
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    del debug  # see `options.common_options`
    context.obj = Options(store)
    if version:
        from agent_tt._version import __version__

        click.echo(f"agent-tt {__version__}")
        return 0
    if context.invoked_subcommand is None:
        from agent_tt_tui.cli.looking.open import open_app

        return open_app(context.obj)
    return 0


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Returns:
        The exit code.
    """

    def command() -> int:
        code = root.main(args=list(arguments), prog_name="agent-tt", standalone_mode=False)
        return code if isinstance(code, int) else 0

    return guarded(command, arguments)
