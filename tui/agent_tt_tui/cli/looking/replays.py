"""`agent-tt replays`: what came of replays, as it was kept with the runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from agent_tt.shapes.records import replay_shape
from agent_tt_tui import format as shown
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Role, Terminal, facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.model import Replay, ReplayVerdict

_ROLES: Final[Mapping[ReplayVerdict, Role]] = {
    "as_recorded": "well",
    "reserved": "changed",
    "diverged": "failed",
    "failed": "failed",
}
_MARK: Final = 8
"""How much of a fingerprint tells two apart at a glance."""


@click.command()
@click.argument("run", required=False, shell_complete=complete_runs)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The newest N only.")
@common_options
def command(options: Options, run: str | None, *, limit: int | None) -> None:
    """List the replays of RUN that were kept, or of all runs, newest first.

    Each replay is kept with its run: the command's, the app's and those from Python; not one under a debugger, nor one
    that was stopped. `failed`: there was no report. CODE is the beginning of the fingerprint of the agent's file then.

    \b
    agent-tt replays refund-loop
    --json: [{replay, run, name, ended, verdict, mode, duration_ms, recorded, served, reservations: {kind: count},
              divergences, divergence, step, call, message, agent, fingerprint}]
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    with options.source(*([run] if run else [])) as source:
        found = None if run is None else source.run(run).id
        names = {each.id: each.name for each in source.runs(archived=True)}
        replays = [replay for replay in source.replays(found) if replay.run in names][:limit]
    if options.as_json:
        write_json([{**replay_shape(replay), "name": names[replay.run]} for replay in replays])
        return
    terminal = options.terminal()
    if replays:
        _print(terminal, replays, names)
    else:
        terminal.line("No replay was kept yet: `agent-tt replay RUN` makes one.")


def _print(terminal: Terminal, replays: Sequence[Replay], names: Mapping[str, str]) -> None:
    columns = (
        Column("RUN", flexible=True),
        Column("VERDICT", flexible=True),
        Column("ANSWERED", "right"),
        Column("TOOK", "right"),
        Column("CODE"),
        Column("AGE", "right"),
    )
    now = time.time()
    rows, below = [], []
    for replay in replays:
        answered = "" if replay.served is None else f"{replay.served:,} of {replay.recorded:,}"
        rows.append(
            [
                Cell(names[replay.run], "strong"),
                Cell(_word(replay.verdict), _ROLES[replay.verdict]),
                Cell(answered),
                Cell(shown.duration(replay.duration_us / 1e6)),
                Cell((replay.fingerprint or "")[:_MARK], "muted"),
                Cell(shown.age(max(0.0, now - replay.at_us / 1e6)), "muted"),
            ]
        )
        said = facts(
            [
                replay.divergence,
                None if replay.step is None else f"step {replay.step}",
                *(f"{kind} ({count} times)" if count > 1 else kind for kind, count in replay.reservations.items()),
                replay.message,
            ],
            terminal.glyphs.dot,
        )
        below.append([[Cell(f"  {terminal.short(said, terminal.columns - 2)}", "muted")]] if said else [])
    terminal.table(columns, rows, below)


def _word(verdict: ReplayVerdict) -> str:
    from agent_tt.replaying.report import VERDICT_WORDS

    return "failed" if verdict == "failed" else VERDICT_WORDS[verdict]
