"""`agent-tt verify`: check that nothing recorded is damaged."""

from __future__ import annotations

import click

from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.shapes import problem_shape
from agent_tt_tui.cli.terminal import Cell
from agent_tt_tui.format import counted

_DAMAGED = 4


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@common_options
def command(options: Options, run: str | None) -> int:
    """Check chain, digests and blobs of RUN, or of everything; exit code 4 when something is damaged.

    \b
    --json: {problems: [{run, step, what}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with options.source() as source:
        found = None if run is None else source.run(run)
        names = {every.id: every.name for every in source.runs(archived=True)}
        problems = source.verify(None if found is None else found.id)
        place = source.path
    if options.as_json:
        write_json({"problems": [problem_shape(problem) for problem in problems]})
        return _DAMAGED if problems else 0

    terminal = options.terminal()
    for problem in problems:
        name = names.get(problem.run or "", problem.run or place.name)
        where = name if problem.step is None else f"{name}@{problem.step}"
        terminal.line(Cell(terminal.glyphs.failed, "failed"), f" {terminal.safe(where)}: {terminal.safe(problem.what)}")
    if not problems:
        checked = terminal.safe(found.name) if found else f"{counted(len(names), 'run')} in {terminal.safe(str(place))}"
        terminal.line(Cell(terminal.glyphs.well, "well"), f" {checked}: nothing is damaged.")
    return _DAMAGED if problems else 0
