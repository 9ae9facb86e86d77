"""`agent-tt diff`: what differs between two states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt_tui.cli.options import Options, common_options, find_checkpoint, write_json

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource


@click.command()
@click.argument("checkpoints", nargs=-1, required=True, metavar="RUN@STEP RUN@STEP | RUN STEP STEP")
@click.option(
    "--format", "layout", type=click.Choice(["text", "json-patch"]), default="text", help="json-patch: RFC 6902."
)
@common_options
def command(options: Options, checkpoints: tuple[str, ...], layout: str) -> int:
    """Show what differs between two states; exit code 1 when something does.

    \b
    --json: {changes: [{op, path, old, new}]}, op being add, remove, change,
            move or reorder
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.comparing.patch import to_json_patch
    from agent_tt.comparing.states import compare_states

    runs = checkpoints[:1] if len(checkpoints) == 3 else tuple(text.partition("@")[0] for text in checkpoints)
    with options.source(*runs) as source:
        (run_a, step_a), (run_b, step_b) = _pair(source, checkpoints)
        a, b = source.state(run_a.id, step_a), source.state(run_b.id, step_b)
    if layout == "json-patch":
        patch = to_json_patch(a, b)
        write_json(list(patch))
        return 1 if patch else 0
    changes = compare_states(a, b)
    if options.as_json:
        from agent_tt_tui.cli.shapes import change_shape

        write_json({"changes": [change_shape(change) for change in changes]})
    else:
        terminal = options.terminal()
        from agent_tt_tui.cli.changes import print_changes

        terminal.line(terminal.safe(f"{run_a.name}@{step_a} {terminal.glyphs.to} {run_b.name}@{step_b}"))
        if not changes:
            terminal.line("The states are equal.")
        print_changes(terminal, changes)
    return 1 if changes else 0


def _pair(source: RunSource, texts: tuple[str, ...]) -> tuple[tuple[Run, int], tuple[Run, int]]:
    if len(texts) == 3:
        run = source.run(texts[0])
        return (run, source.step_number(run, texts[1])), (run, source.step_number(run, texts[2]))
    if len(texts) == 2:
        return find_checkpoint(source, texts[0]), find_checkpoint(source, texts[1])
    raise click.UsageError("name two states: RUN@STEP RUN@STEP, or RUN STEP STEP")
