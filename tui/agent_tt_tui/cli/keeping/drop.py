"""`agent-tt drop`: steps whose states are not kept any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt.errors import UsageError
from agent_tt.querying.checkpoints import find_place
from agent_tt_tui.cli.marks import writable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

_NO = 1
_MOST_LISTED = 20


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("step", nargs=-1)
@click.option("--yes", is_flag=True, help="Do not ask: drop them.")
@common_options
def command(options: Options, run: str, step: tuple[str, ...], *, yes: bool) -> int:
    """Drop the states after STEPs of a run for good. The steps and their calls stay, and so does every other state.

    A STEP may be two with `..` between, of which those with a checkpoint are meant. The first and the last state stay,
    and so do those that forks begin with: the forks are named then, and nothing is dropped, with exit code 1. What a
    dropped state brought that the next one still has is shown as written by the next step, or by the dropped ones.

    It is tried first, and asked before anything is changed; exit code 1 when you say no.

    \b
    agent-tt drop refund-loop@3
    agent-tt drop refund-loop 3 5 7..12 --yes
    --json: {done, run, steps, clean, left}, done only with --yes; clean is null where nothing was done, and
            false where free room of the store still holds what was dropped; left says what may hold it, or null
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.redacting.beside import still_held
    from agent_tt.redacting.dropping import drop_checkpoints

    with options.source() as source:
        found, steps = _steps(source, run, step)
        path = writable(source).path
    gone, _ = drop_checkpoints(path, found, steps, is_tried=True)
    terminal = options.terminal()
    name = terminal.safe(found.name)
    is_asked = not yes and options.can_ask
    if is_asked and not click.confirm(f"Drop {_what(gone)} of {name} for good?", default=False):
        terminal.line("Nothing was dropped.")
        return _NO
    is_done, is_clean = yes or is_asked, None
    if is_done:
        gone, is_clean = drop_checkpoints(path, found, steps)
    left = "" if is_clean is None else still_held(path, is_clean=is_clean)
    if options.as_json:
        write_json({"done": is_done, "run": found.id, "steps": [*gone], "clean": is_clean, "left": left or None})
        return 0
    terminal.line(f"{name}: {_what(gone)} {'dropped' if is_done else 'would be dropped'}")
    if not is_done:
        terminal.line(Cell("nothing was changed yet: --yes drops them", "muted"))
    elif left:
        terminal.line(Cell(terminal.safe(left), "muted" if is_clean else "failed"))
    return 0


def _steps(source: RunSource, run: str, named: tuple[str, ...]) -> tuple[Run, list[int]]:
    """The run and the steps that were named.

    Raises:
        UsageError: no step was named, or one in two ways.
        RunNotFound, StepNotFound: there is no such run or step.
    """
    if len(named) > 1:
        found, number = find_place(source, run, None)
        if number is not None:
            raise UsageError(f"{run} names step {number}, and {len(named)} more are named", hint="Name the run alone.")
        return found, [step for each in named for step in _between(source, found, each)]
    given = named[0] if named else None
    head, dots, last = (given or run).rpartition("..")
    if not dots:
        found, number = find_place(source, run, given, option="STEP")
        if number is None:
            raise UsageError(f"{found.name} names no step", hint=f"agent-tt drop {found.name}@3")
        return found, [number]
    if given is not None:
        found, number = find_place(source, run, None)
        if number is not None:
            raise UsageError(f"{run} names step {number}, and STEP names {given}", hint="Name the run alone.")
        return found, _between(source, found, given)
    found, number = find_place(source, head, None)
    if number is None:
        raise UsageError(f"{run} is not RUN@STEP..STEP", hint="agent-tt drop refund-loop@3..9")
    return found, _between(source, found, f"{number}..{last}")


def _between(source: RunSource, run: Run, text: str) -> list[int]:
    """The steps that a STEP means, or those with a checkpoint between two.

    Raises:
        UsageError: there is none between them.
        StepNotFound: there is no such step.
    """
    first, dots, last = text.partition("..")
    start = source.step_number(run, first)
    if not dots:
        return [start]
    end = source.step_number(run, last)
    found = [step.number for step in source.steps(run.id, max(1, start), end + 1) if step.seq is not None]
    if not found:
        raise UsageError(f"no step from {start} to {end} has a checkpoint", hint="The first step is named first.")
    return found


def _what(steps: list[int]) -> str:
    listed = ", ".join(map(str, steps[:_MOST_LISTED])) + (
        f" and {len(steps) - _MOST_LISTED} more" if len(steps) > _MOST_LISTED else ""
    )
    return f"{counted(len(steps), 'state')}{f' after step {listed}' if steps else ''}"
