"""`agent-tt copy`: runs from one store into another, on this disk or on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt_tui.cli.options import Options, StorePath, common_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.store.copying import Copied


@click.command()
@click.argument("words", nargs=-1, metavar="[RUN]... FROM TO")
@click.option("--all", "every", is_flag=True, help="Copy every run.")
@common_options
def command(options: Options, words: tuple[str, ...], *, every: bool) -> int:
    """Copy runs from the store FROM into the store TO: files, or addresses of databases on a server.

    What a run was forked from goes along, and notes, names, tags, pins and sweeps do. What TO has already stays as it
    is there. Each copy is compared with its original and checked; exit code 1 where one is not as it should be.

    A run that was recorded by somebody else, or on another machine, arrives without the program that it names.

    \b
    agent-tt copy --all .agent-tt/runs.db postgresql://user@host/runs
    agent-tt copy checkout postgresql://user@host/runs here.db
    --json: {copied: [{run, copy}], there: [run], left: [name], foreign: [copy], problems: [{run, step, what}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.errors import UsageError
    from agent_tt.store.copying import copy_between

    if len(words) < 2 or every == (len(words) > 2):
        raise UsageError("say what is copied, and from where to where", hint="agent-tt copy RUN|--all FROM TO")
    source, target = (StorePath().convert(word, None, None) for word in words[-2:])
    with counter("copying", show=not options.as_json) as report:
        done = copy_between(source, target, None if every else words[:-2], report)
    if options.as_json:
        write_json(_shape(done))
    else:
        _say(options, done)
    return 1 if done.problems else 0


def _say(options: Options, done: Copied) -> None:
    terminal = options.terminal()
    terminal.line(f"copied {counted(len(done.copies), 'run')}")
    if done.there:
        terminal.line(f"{counted(len(done.there), 'run')} there already")
    renamed = {run: copy for run, copy in done.copies.items() if run != copy}
    for run, copy in renamed.items():
        terminal.line(f"{run} is {copy} there: it has another run of that id")
    if done.left:
        terminal.line(f"left out, as they still run: {terminal.safe(', '.join(done.left))}")
    if done.foreign:
        terminal.line(f"{counted(len(done.foreign), 'run')} without a program: recorded by somebody else, or elsewhere")
    for problem in done.problems:
        terminal.line(terminal.paint(f"{problem.run} {terminal.safe(problem.what)}", "failed"))


def _shape(done: Copied) -> dict[str, Wire]:
    return {
        "copied": [{"run": run, "copy": copy} for run, copy in done.copies.items()],
        "there": [*done.there],
        "left": [*done.left],
        "foreign": [*done.foreign],
        "problems": [{"run": each.run, "step": each.step, "what": each.what} for each in done.problems],
    }
