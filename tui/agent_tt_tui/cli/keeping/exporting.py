"""`agent-tt export`: runs as files that others can read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_tt.errors import RunNotFound, UsageError
from agent_tt.exporting.formats import EXPORTS, format_for, named_format
from agent_tt.querying.checkpoints import find_place
from agent_tt_tui.cli.keeping.screen_picture import ScreenPicture
from agent_tt_tui.cli.options import Options, common_options, runs_argument, with_options, write_json

if TYPE_CHECKING:
    from agent_tt.exporting.export import Export
    from agent_tt.protocols import RunSource

EXPORTS.add("svg", ScreenPicture())

_OWN: frozenset[str] = frozenset(
    {"at", "code", "debug", "force", "format", "help", "json", "output", "sign", "store", "with"}
)
"""Options of the command, which no format's name takes."""


@click.command()
@runs_argument
@click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The file; how its name ends chooses the format where no option does.",
)
@with_options(
    *(
        click.option(f"--{name}", "format_name", flag_value=name, help=export.HELP)
        for name, export in EXPORTS.all()
        if name not in _OWN and name.replace("-", "").isalnum()
    )
)
@click.option("--at", "step", metavar="STEP", help="The step to show, where a format shows one; of a single RUN.")
@click.option("--code", "with_code", is_flag=True, help="In a bundle: the files of the agents, and what they ran with.")
@click.option("--with", "more", multiple=True, metavar="GLOB", help="With --code: further files of the project.")
@click.option("--sign", "key", type=click.Path(path_type=Path), metavar="KEY", help="Sign a bundle: an Ed25519 key.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@common_options
def command(
    options: Options,
    runs: tuple[str, ...],
    path: Path | None,
    *,
    format_name: str | None,
    step: str | None,
    with_code: bool,
    more: tuple[str, ...],
    key: Path | None,
    force: bool,
) -> None:
    """Write RUNs as a file that others can read.

    Secrets that were taken out of a run are not in it, and what lies in a file of another system passes the rules of
    redaction first. Text goes to standard output where no FILE is named. The last RUN may be FILE where an option says
    the format (`--db out.db`); where it stands alone, all runs are written. FILE is written as a whole or not at all.
    Exit code 2 when FILE is there already, 3 when there is no such run or step.

    \b
    agent-tt export refund-loop --markdown
    agent-tt export flaky-checkout --at @error -o incident.md
    agent-tt export refund-loop --code -o incident.att
    agent-tt export refund-loop flaky-checkout --db out.db
    --json: {path, format, runs: [name]}; path is that of FILE, which has to be named
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.exporting.redacted import exported
    from agent_tt.exporting.writing import export_file, export_stream

    export = _format(format_name, path)
    if with_code or more or key is not None:
        export = _bundle(export, with_code=with_code, more=more, key=key)
    with options.source(*runs) as source:
        if path is None and _is_file(source, runs[-1], export):
            runs, path = runs[:-1], Path(runs[-1])
        if path is None and (options.as_json or not export.IS_TEXT):
            raise UsageError("no file is named", hint="Name one with -o FILE.")
        if step is not None and len(runs) != 1:
            raise UsageError("--at is of one run", hint="Name a step of each: RUN@STEP.")
        places = [find_place(source, run, step) for run in runs]
        if not runs:
            places = [(run, None) for run in source.runs(archived=True)]
        if not places:
            raise UsageError(f"there is no run in {source.path} to write")
        what = exported(source, places)
        if path is None:
            left_out = export_stream(export, what, sys.stdout.buffer)
        else:
            left_out = export_file(export, what, path, replaces=force)
    for line in (left_out or "").splitlines():
        click.echo(f"agent-tt: {options.terminal().safe(line)}", err=True)
    if options.as_json:
        name = next(name for name, each in EXPORTS.all() if type(each) is type(export))
        write_json({"path": str(path), "format": name, "runs": [run.name for run in what.runs]})


def _is_file(source: RunSource, word: str, export: Export) -> bool:
    """Whether a word in the place of a run, as in `--db out.db`, is the file: it ends like one, and no run is it."""
    ends = {Path(f"x{suffix}").suffix for suffix in export.SUFFIXES}  # of `.openai.jsonl` also `.jsonl`
    if Path(word.lower()).suffix not in ends:
        return False
    try:
        find_place(source, word, None)
    except RunNotFound:
        return True
    return False


def _format(name: str | None, path: Path | None) -> Export:
    """The format that was asked for, by its option or the file's name."""
    if name is not None:
        return named_format(name)
    if path is not None:
        return format_for(path)
    raise UsageError("no format is named", hint=f"Name one: {', '.join(f'--{name}' for name, _ in EXPORTS.all())}.")


def _bundle(export: Export, *, with_code: bool, more: tuple[str, ...], key: Path | None) -> Export:
    """A bundle as it was asked for.

    Raises:
        UsageError: it is another format, or files are named without the code.
    """
    from agent_tt.exporting.bundle import Bundle

    if not isinstance(export, Bundle):
        raise UsageError("--code, --with and --sign are of bundles", hint="Name the file FILE.att, or add --bundle.")
    if more and not with_code:
        raise UsageError("--with names files beside the code", hint="Add --code.")
    return Bundle(with_code=with_code, more=more, key=key)
