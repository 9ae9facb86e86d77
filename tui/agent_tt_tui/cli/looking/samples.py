"""`agent-tt samples`: the sample agents, their versions, and making their runs afresh."""

from __future__ import annotations

import difflib
import textwrap

import click

from agent_tt.errors import UsageError
from agent_tt.shapes.records import run_shape, sample_shape
from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell
from agent_tt_tui.cli.wording import run_line


class SamplesGroup(click.Group):
    """A group that knows what somebody wants who writes a sample where a command belongs."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; where a sample is named instead, say what can be done with it."""
        from agent_tt import samples

        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = [sample.name for sample in samples.names()]
            close = difflib.get_close_matches(name, known, n=1)
            meant = name if name in known else close[0] if close else "NAME"
            what = f"{name!r} is a sample, not a command" if name in known else f"there is no sample {name!r}"
            raise UsageError(
                what,
                hint=f"`agent-tt open {meant}` shows its run, `agent-tt samples build {meant}` makes a new one.",
            )
        return super().resolve_command(ctx, args)


@click.group(cls=SamplesGroup, invoke_without_command=True)
@common_options
def command(options: Options) -> None:
    """List the sample agents and their second versions, which a fork can run.

    \b
    --json: [{name, title, summary, entry, versions, steps, prebuilt}]
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    context = click.get_current_context()
    context.obj = options
    if context.invoked_subcommand is None:
        _list(options)


@command.command()
@click.argument("name")
@click.option("--steps", type=click.IntRange(min=1), help="How many steps to make, where the sample takes any number.")
@common_options
def build(options: Options, name: str, steps: int | None) -> None:
    """Run the sample agent NAME now, and keep the run.

    \b
    --json: the run, as in `runs`
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt import samples

    with counter(f"making {name}", show=not options.as_json) as report:
        run_id = samples.build(name, options.store_path(), report, steps=steps)
    with options.source() as source:
        run = source.run(run_id)
    if options.as_json:
        write_json(run_shape(run))
    else:
        run_line(options.terminal(), run)


def _list(options: Options) -> None:
    from agent_tt import samples

    if options.as_json:
        write_json([sample_shape(sample) for sample in samples.names()])
        return
    terminal = options.terminal()
    for sample in samples.names():
        steps = f"{sample.steps:,} steps" + ("" if sample.prebuilt else ", made when it is first opened")
        terminal.line(Cell(sample.name, "strong"), f"  {sample.title}  ", Cell(steps, "muted"))
        for line in textwrap.wrap(sample.summary, terminal.columns - 2):
            terminal.line(f"  {line}")
        for version in sample.versions:
            terminal.line(Cell(f"  also: --agent {version}", "muted"))
    terminal.line()
    terminal.line("Open one with `agent-tt open NAME`.")
