"""`agent-tt diff`: what differs between two states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt_tui.cli.named import opened
from agent_tt_tui.cli.options import Options, common_options, find_checkpoint, find_place, write_json

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource


@click.command()
@click.argument("checkpoints", nargs=-1, required=True, metavar="RUN@STEP [RUN@]STEP | RUN STEP STEP")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "json-patch", "unified"]),
    default="text",
    help="json-patch: RFC 6902; unified: for `patch`, both states as YAML.",
)
@common_options
def command(options: Options, checkpoints: tuple[str, ...], layout: str) -> int:
    """Show what differs between two states; exit code 1 when something does.

    A STEP alone is one of the run before it. A state of another file, ours or a
    database, is FILE:RUN@STEP. What differs in the order of a dict's keys alone
    is said, and is no difference.

    \b
    --json: {changes: [{op, path, old, new}]}, op being add, remove, change, move
            or reorder; with old_path where it was elsewhere. A reorder has `of`:
            items (old, new: their old positions) or keys (old, new: the keys)
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    names, (a, b) = _states(options, checkpoints)
    if layout == "json-patch":
        from agent_tt.comparing.patch import to_json_patch

        patch = to_json_patch(a, b)
        write_json(list(patch))
        return 1 if patch else 0
    if layout == "unified":
        return _print_unified(names, a, b)
    from agent_tt.comparing.states import compare_states

    changes = compare_states(a, b)
    differ = any(change.makes_a_difference for change in changes)
    if options.as_json:
        write_json({"changes": [change.to_json() for change in changes]})
        return 1 if differ else 0
    terminal = options.terminal()
    from agent_tt.comparing.echoes import without_echoes
    from agent_tt_tui.cli.changes import print_rows
    from agent_tt_tui.cli.terminal import Cell
    from agent_tt_tui.viewmodel.difflines import DiffRows

    terminal.line(terminal.safe(f"{names[0]} {terminal.glyphs.to} {names[1]}"))
    if not differ:
        terminal.line("The states are equal." if not changes else "The states are equal but for the order of keys.")
    shown = without_echoes(a, b, changes)
    print_rows(terminal, DiffRows(shown, nested=True).lay_out(terminal.columns))
    if len(shown) < len(changes):
        more = f"{len(changes) - len(shown)} more say the same in another way (null, order of keys, spaces): --json"
        terminal.line(Cell(more, "muted"))
    return 1 if differ else 0


def _print_unified(names: tuple[str, str], a: Wire, b: Wire) -> int:
    from agent_tt.comparing.unified import state_lines, unified_diff

    differ = False
    for line in unified_diff(state_lines(a), state_lines(b), *names):
        differ = True
        click.echo(line)
    return 1 if differ else 0


def _states(options: Options, checkpoints: tuple[str, ...]) -> tuple[tuple[str, str], tuple[Wire, Wire]]:
    """What the two states are called, and they themselves."""
    if len(checkpoints) not in (2, 3):
        raise click.UsageError("name two states: RUN@STEP RUN@STEP, RUN@STEP STEP, or RUN STEP STEP")
    steps = _steps(checkpoints)
    found = []
    with opened(options, checkpoints if steps is None else checkpoints[:1] * 2) as named:
        for at, each in enumerate(named):
            if steps is None:
                run, step = find_checkpoint(each.source, each.text)
            else:
                run, step = _of_one_run(each.source, each.text, steps, at)
            found.append((f"{each.called(run.name)}@{step}", each.source.state(run.id, step)))
    (name_a, a), (name_b, b) = found
    return (name_a, name_b), (a, b)


def _steps(checkpoints: tuple[str, ...]) -> tuple[str, ...] | None:
    """The steps of the first run that are named without their run; None where each has its own."""
    if len(checkpoints) == 3 or not checkpoints[1].rpartition("@")[0]:  # `@error` alone is a step, too
        return checkpoints[1:]
    return None


def _of_one_run(source: RunSource, text: str, steps: tuple[str, ...], at: int) -> tuple[Run, int]:
    """The first (0) or second (1) state of `RUN STEP STEP` or `RUN@STEP STEP`."""
    run, named = find_place(source, text, None)
    if named is None and len(steps) == 2:
        return run, source.step_number(run, steps[at])
    if named is None:
        raise click.UsageError(f"{text} names no step: name two of them, {text} STEP STEP")
    if len(steps) == 2:
        raise click.UsageError(f"{text} names a step, and {steps[0]} and {steps[1]} are two more: name two states")
    return run, named if at == 0 else source.step_number(run, steps[0])
