"""`agent-tt verify`: check that nothing recorded is damaged."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from agent_tt.model.facts import RunFacts
from agent_tt.shapes.records import problem_shape
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model.facts.runs import RedactedFacts

_DAMAGED = 4


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@common_options
def command(options: Options, run: str | None) -> int:
    """Check chain, digests and blobs of RUN, or of everything; exit code 4 when something is damaged.

    It also names the runs that something was taken out of after they were recorded, and by which rules, and the steps
    whose states were dropped.

    \b
    --json: {problems: [{run, step, what}], redacted: [{run, at, profile, patterns, fields}],
            dropped: [{run, at, steps}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with options.source() as source:
        found = None if run is None else source.run(run)
        runs = source.runs(archived=True)
        names = {every.id: every.name for every in runs}
        problems = source.verify(None if found is None else found.id)
        place = source.path
    checked = [run for run in runs if found is None or run.id == found.id]
    redacted = [(run, said) for run in checked for said in RunFacts.redacted.of(run.metadata) or ()]
    dropped = [(run, said) for run in checked for said in RunFacts.dropped.of(run.metadata) or ()]
    if options.as_json:
        shapes: list[Wire] = [{"run": run.id, **_shape(said)} for run, said in redacted]
        gone: list[Wire] = [{"run": run.id, "at": said.at, "steps": said.steps} for run, said in dropped]
        write_json({"problems": [problem_shape(problem) for problem in problems], "redacted": shapes, "dropped": gone})
        return _DAMAGED if problems else 0

    terminal = options.terminal()
    for problem in problems:
        name = names.get(problem.run or "", problem.run or place.name)
        where = name if problem.step is None else f"{name}@{problem.step}"
        terminal.line(Cell(terminal.glyphs.failed, "failed"), f" {terminal.safe(where)}: {terminal.safe(problem.what)}")
    for each, said in redacted:
        rules = ", ".join(filter(None, (said.profile, *(said.patterns or ()), *(said.fields or ()))))
        terminal.line(
            Cell(
                f"  {terminal.safe(each.name)}: redacted {_when(said.at)} ({terminal.safe(rules or 'secrets')})",
                "muted",
            )
        )
    for each, gone_then in dropped:
        steps = ", ".join(map(str, gone_then.steps or ()))
        what = f"dropped {_when(gone_then.at)} (states after step {steps})"
        terminal.line(Cell(f"  {terminal.safe(each.name)}: {terminal.safe(what)}", "muted"))
    if not problems:
        about = terminal.safe(found.name) if found else f"{counted(len(names), 'run')} in {terminal.safe(str(place))}"
        terminal.line(Cell(terminal.glyphs.well, "well"), f" {about}: nothing is damaged.")
    return _DAMAGED if problems else 0


def _when(at: int | None) -> str:
    return datetime.fromtimestamp((at or 0) / 1e6).astimezone().isoformat(" ", "minutes")


def _shape(said: RedactedFacts) -> dict[str, Wire]:
    return {
        "at": said.at,
        "profile": said.profile,
        "patterns": [*(said.patterns or ())],
        "fields": [*(said.fields or ())],
    }
