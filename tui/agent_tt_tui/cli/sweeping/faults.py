"""`agent-tt sweep RUN --faults`: what an agent does where its tools answer wrongly."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from agent_tt.errors import Interrupted
from agent_tt_tui.cli.options import Options, with_options, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.running.following import stopped_as_by_ctrl_c
from agent_tt_tui.cli.running.fork_options import takes_request
from agent_tt_tui.cli.running.trust import ask_for_trust
from agent_tt_tui.cli.terminal import Cell, Column, Role
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.forking.request import ForkRequest
    from agent_tt.sweeping.faults import Fault, Reaction, Tried
    from agent_tt_tui.cli.terminal import Terminal

__all__ = ["faults_option"]

_PASSED_ON: Final = 1
_UNKNOWN: Final = 2
_SAID: Final = 40
_OF_A_MATRIX: Final = ("step", "axes", "samples", "jobs", "outcomes", "by", "budget", "first_seed", "new_keys", "yes")
_OTHER_WAYS: Final = ("resume", "show", "listed")

_OPTIONS: Final = with_options(
    click.option("--faults", "with_faults", is_flag=True, help="Let each tool in turn answer wrongly, writes held."),
    click.option("--expect", metavar="EXPRESSION", help="With --faults: what holds at the end where it has noticed."),
)


def faults_option(command: Callable[..., None]) -> Callable[..., int | None]:
    """Give `agent-tt sweep` the option that tries faults in its place."""

    @_OPTIONS
    @functools.wraps(command)
    def called(options: Options, *, with_faults: bool, expect: str | None, **params: Any) -> int | None:
        if not with_faults:
            if expect is not None:
                raise click.UsageError("--expect goes with --faults; --outcome asks something of each run of a sweep")
            command(options, **params)
            return None
        if params["run"] is None or any(params.pop(name, None) for name in (*_OF_A_MATRIX, *_OTHER_WAYS)):
            raise click.UsageError(
                "--faults takes a RUN, terms, --allow, --effect and --expect, and varies nothing else"
            )
        code: int = takes_request(_run)(options, hoped=expect, **params)
        return code

    return called


def _run(options: Options, *, request: ForkRequest, run: str, hoped: str | None, dry_run: bool, trust: bool) -> int:
    from agent_tt.sweeping.faults import Tried, faults_of, try_faults

    with options.source(run) as source:
        found = source.run(run)
        faults = faults_of(source, found)
        done: list[Tried] = []
        is_stopped = False
        if not dry_run:
            ask_for_trust(options, source.path, found, trust=trust)
            with counter("trying faults", show=not options.as_json) as report:
                try:
                    with stopped_as_by_ctrl_c():
                        for each in try_faults(source, found, request, faults, expect=hoped):
                            done.append(each)
                            report(len(done), len(faults))
                except KeyboardInterrupt:
                    is_stopped = True
    counts = Counter(each.reaction for each in done)
    if options.as_json:
        shown = [Tried(each, None, each.why_not) for each in faults] if dry_run else done
        write_json(
            {
                "run": found.id,
                "name": found.name,
                "noticed": counts["noticed"],
                "passed_on": counts["passed on"],
                "unknown": counts["unknown"],
                "stopped": is_stopped,
                "faults": [each.to_json() for each in shown],
            }
        )
    else:
        _print(options.terminal(), faults, done, dry_run=dry_run)
    if is_stopped:
        raise Interrupted(f"it was stopped: {len(done)} of {counted(len(faults), 'fault')} were tried")
    return _PASSED_ON if counts["passed on"] else _UNKNOWN if counts["unknown"] else 0


def _print(terminal: Terminal, faults: Sequence[Fault], done: Sequence[Tried], *, dry_run: bool) -> None:
    from agent_tt.codec.text import summary

    glyphs = terminal.glyphs
    looks: dict[Reaction, tuple[str, Role]] = {
        "noticed": (glyphs.well, "well"),
        "passed on": (glyphs.failed, "failed"),
        "unknown": (glyphs.unknown, "changed"),
    }
    if dry_run:
        columns = (Column("TOOL"), Column("STEP", "right"), Column("FAULT"), Column("ANSWER", flexible=True))
        terminal.table(
            columns,
            [
                [
                    Cell(each.call.name, "strong"),
                    Cell(str(each.call.step)),
                    Cell(each.kind),
                    Cell(f"not tried: {each.why_not}", "muted")
                    if each.edit is None
                    else Cell(summary(each.edit.value, _SAID)),
                ]
                for each in faults
            ],
        )
        terminal.line(Cell("Nothing was run.", "muted"))
        return
    columns = (Column("TOOL"), Column("FAULT"), Column(""), Column("BECAUSE", flexible=True))
    rows = [
        [
            Cell(each.fault.call.name, "strong"),
            Cell(each.fault.kind),
            Cell("not tried", "muted")
            if each.reaction is None
            else Cell(f"{looks[each.reaction][0]} {each.reaction}", looks[each.reaction][1]),
            Cell(each.how, "muted"),
        ]
        for each in done
    ]
    terminal.table(columns, rows)
    counts = Counter(each.reaction for each in done if each.reaction is not None)
    said = [f"{counts[reaction]} {reaction}" for reaction in looks if counts[reaction]]
    terminal.line(f"{counted(counts.total(), 'fault')}: {', '.join(said) or 'none was tried'}; what writes was held")
