"""`agent-tt diff`: what differs between two states."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from agent_tt.querying.checkpoints import find_checkpoint, find_place
from agent_tt_tui.cli.changes import print_states
from agent_tt_tui.cli.comparing.named import opened
from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.terminal import Terminal
from agent_tt_tui.cli.wording import say_unkept

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.state_diff import StateDiff
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource


@click.command()
@click.argument("checkpoints", nargs=-1, required=True, metavar="RUN@STEP [RUN@]STEP | RUN STEP STEP")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "json-patch", "unified", "deepdiff", "delta"]),
    default="text",
    help="json-patch: RFC 6902; unified: for `patch`, both states as YAML; deepdiff: DeepDiff's JSON; delta: a"
    " deepdiff.Delta as JSON, which leads from the first state to the second.",
)
@click.option("--ignore-order", is_flag=True, help="Lists of the same items in another order are equal.")
@click.option(
    "--ignore",
    "paths",
    multiple=True,
    metavar="PATH",
    help="What is at PATH does not count; [*] is any position and any key: messages[*].id.",
)
@click.option("--tolerance", metavar="N", help="Numbers of one type that are at most N apart are equal.")
@click.option(
    "--ignore-type", is_flag=True, help="Values that differ in type alone are equal: 1 and 1.0, (1, 2) and [1, 2]."
)
@common_options
def command(
    options: Options,
    checkpoints: tuple[str, ...],
    layout: str,
    paths: tuple[str, ...],
    tolerance: str | None,
    *,
    ignore_order: bool,
    ignore_type: bool,
) -> int:
    """Show what differs between two states; exit code 1 when something does.

    A STEP alone is one of the run before it. A state of another file, ours or a
    database, is FILE:RUN@STEP. What differs in the order of a dict's keys alone
    is said, and is not a difference.

    What is ignored is left out of every format and does not count for the exit
    code. How much that was is said: below the changes, or on standard error
    beside a format for programs.

    \b
    --json: {changes: [{op, path, old, new}]}, op being add, remove, change, move
            or reorder; with old_path where it was elsewhere. A reorder has `of`:
            items (old, new: their old positions) or keys (old, new: the keys).
            With something to ignore also ignored: [{path, why}], why being path,
            order, tolerance or type; unknown and unmatched: [path]
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.comparing.values.ignoring import Ignoring
    from agent_tt.comparing.values.state_diff import diff_states

    rules = Ignoring.of(ignore_order=ignore_order, ignore=paths, tolerance=tolerance, ignore_type=ignore_type)
    names, (a, b) = _states(options, checkpoints)
    found = diff_states(a, b, rules)
    if layout != "text":
        code = _write(layout, found, names)
        _remark(found)
        return code
    if options.as_json:
        said: dict[str, Wire] = {"changes": [change.to_json() for change in found]}
        if rules:
            said["ignored"] = [one.to_json() for one in found.ignored]
            said |= {"unknown": list(found.unknown), "unmatched": list(found.unmatched)}
        write_json(said)
    else:
        print_states(options.terminal(), found, names, b)
    return 1 if found.differ else 0


def _write(layout: str, found: StateDiff, names: tuple[str, str]) -> int:
    """Write the difference for another program; 1 where there is one."""
    if layout == "unified":
        _print_unified(names, found.old, found.kept)
        return 1 if found.differ else 0
    patch: dict[str, Wire] | list[dict[str, Wire]]
    if layout == "deepdiff":
        patch = found.to_deepdiff()
    elif layout == "delta":
        patch = found.to_delta()
    else:
        from agent_tt.comparing.values.patch import to_json_patch

        patch = to_json_patch(found.old, found.kept)
    write_json(patch if isinstance(patch, dict) else list(patch))
    return 1 if found.differ else 0


def _remark(found: StateDiff) -> None:
    """Say on standard error what a format for programs has no place for."""
    terminal = Terminal.of(sys.stderr)
    for remark in found.remarks():
        sys.stderr.write(f"{terminal.paint('agent-tt:', 'muted')} {terminal.safe(remark)}\n")


def _print_unified(names: tuple[str, str], a: Wire, b: Wire) -> None:
    from agent_tt.comparing.values.unified import state_lines, unified_diff

    for line in unified_diff(state_lines(a), state_lines(b), *names):
        click.echo(line)


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
            say_unkept(each.source, run, step)
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
