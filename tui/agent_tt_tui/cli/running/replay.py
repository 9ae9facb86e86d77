"""`agent-tt replay`: run a recorded agent again, offline, with every call answered from its recording."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import RESERVED, AgentFailed, UsageError
from agent_tt.querying.checkpoints import find_place
from agent_tt.replaying.report import VERDICT_WORDS, compared
from agent_tt_tui.cli.options import Options, common_options, complete_runs, in_file, write_json
from agent_tt_tui.cli.running.trust import bundle_of, trust_option, trusted
from agent_tt_tui.cli.terminal import Cell, Column, Role, Terminal, facts
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.divergence import ChangedPart, Finding
    from agent_tt.replaying.preflight import Preflight
    from agent_tt.replaying.report import ReplayReport, Verdict

_OUTPUT_LINES: Final = 12
_MOST_FINDINGS: Final = 20
_MOST_CHANGES: Final = 5


@click.command(context_settings={"allow_interspersed_args": True})
@click.argument("run", shell_complete=complete_runs)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--observe", is_flag=True, help="Go on after a changed request, and collect all that differs.")
@click.option("--strict", is_flag=True, help="Exit with 6 where it went as recorded only with reservations.")
@click.option("--dry-run", is_flag=True, help="Show what is recorded, and run nothing.")
@click.option("--from", "from_step", metavar="STEP", help="With --dry-run: count the answers after it.")
@click.option("--agent", metavar="FILE:NAME", help="Run this entry point, where the code has moved.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give up after this long.")
@click.option("--pdb", "with_pdb", is_flag=True, help="Open pdb in the agent, where a step makes its first call.")
@click.option("--at", "at", metavar="STEP", help="With --pdb: the step; else the first that failed, else the last.")
@trust_option
@common_options
def command(
    options: Options,
    run: str,
    arguments: tuple[str, ...],
    *,
    observe: bool,
    strict: bool,
    dry_run: bool,
    from_step: str | None,
    agent: str | None,
    timeout: float | None,
    with_pdb: bool,
    at: str | None,
    trust: bool,
) -> int:
    """Run RUN's agent again with every call answered from the recording; nothing is reached, no run is made.

    A FILE of runs may stand before RUN, FILE:RUN. A bundle alone names the run that it was made of; its code is asked
    about each time, and runs in a temporary folder.

    What came of it is kept with the run: see `agent-tt replays`. It halts at the first difference, unless it is to
    --observe. What follows -- is given to the agent, and so is what is piped in. RUN@STEP names the step of --pdb or of
    --from.

    Exit code 0 when it went as recorded, also with reservations, 6 then with --strict; 1 when it diverged or ended well
    where it failed then, 5 when the agent failed otherwise than it did then, 130 when it was stopped in the debugger.

    \b
    agent-tt replay refund-loop
    agent-tt replay latest --observe --json -- --verbose
    agent-tt replay refund-loop --agent src/refunds.py:main
    agent-tt replay refund-loop --pdb --at 3
    agent-tt replay incident.att
    --json: {run, name, mode, verdict, reservations: [{kind, text, count}], faithful, recorded, served,
             drawn, nested, failure, agent, notes, state_compared, output_compared, output,
             divergences: [{kind, message, hint, step, call, lane, lane_seq, call_kind, name,
                            file, line, asked, recorded, changes: [{path, old, new, words}], nearest}]};
            with --dry-run {run, name, from_step, answers, without, nested, lanes, problems}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.rerunning.replay import run_replay

    if with_pdb and options.as_json:
        raise UsageError("--pdb talks on the terminal, so there is no --json", hint="leave one of them out")
    if at is not None and not with_pdb:
        raise UsageError("--at says where --pdb opens", hint=f"agent-tt replay {run} --pdb --at {at}")
    if with_pdb and dry_run:
        raise UsageError("--dry-run runs nothing, so there is nothing for --pdb", hint="leave one of them out")
    if from_step is not None and not dry_run:
        raise UsageError(
            "--from counts what there are answers for, and a replay begins where the run began",
            hint=f"agent-tt replay {run} --dry-run --from {from_step}",
        )
    options, ref = _in_file(options, run)
    with options.source(*([ref] if ref else [])) as source:
        run = ref or _run_in(source, run)
        named, option = (from_step, "--from") if dry_run else (at, "--at")
        found, number = find_place(source, run, named, option=option)
        if dry_run:
            from agent_tt.replaying.preflight import preflight

            plan = preflight(source, found, from_step=number or 0)
            if options.as_json:
                write_json(plan.to_json())
            else:
                _print_plan(options.terminal(), plan)
            return 0
        if number is not None and not with_pdb:
            raise UsageError(
                f"a replay begins where {found.name} began, and {run} names step {number}",
                hint=f"--pdb stops there, --dry-run counts from there, `agent-tt fork {run}` begins there",
            )
        with trusted(options, source, found, trust=trust, agent=agent) as (where, again):
            step = _debugged(where, again, number) if with_pdb else None
            report = run_replay(
                where,
                again,
                observe=observe,
                arguments=arguments,
                timeout=timeout,
                debug_at=step,
                standard_input=_piped(),
                agent=agent,
            )
    if options.as_json:
        write_json(report.to_json())
    else:
        _print_report(options.terminal(), report)
    return _exit_code(report, strict=strict)


def _in_file(options: Options, run: str) -> tuple[Options, str | None]:
    """What to look at, and the run in it; a file without a run is one only where it is a bundle, and no run's name."""
    from agent_tt.querying.checkpoints import split_file

    names_file = split_file(run)[0] is not None or _is_bundle(run)
    return in_file(options, run) if names_file else (options, run)


def _is_bundle(run: str) -> bool:
    if not os.path.exists(os.path.expanduser(run)):  # noqa: PTH110, PTH111  of whatever was typed
        return False
    from agent_tt.interop.bundle.container import is_bundle_file

    return is_bundle_file(Path(run).expanduser())


def _run_in(source: RunSource, file: str) -> str:
    """The first run that a bundle was made of.

    Raises:
        UsageError: it names none.
    """
    bundle = bundle_of(source)
    if bundle is None or not bundle.container.manifest.runs:
        raise UsageError(f"{file} names no run that it was made of", hint=f"Name one in it: {file}:RUN.")
    return bundle.container.manifest.runs[0]


def _piped() -> int | None:
    """The file that is our standard input; None for a terminal: the agent's prompts are not shown on it."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # there is none, it is closed, or it is not a file
        return None
    return None if os.isatty(descriptor) else descriptor


def _debugged(source: RunSource, run: Run, at: int | None) -> int:
    """The step at which the debugger opens.

    Raises:
        UsageError: nothing of the agent runs there.
    """
    from agent_tt.querying.checkpoints import opening_step
    from agent_tt.replaying.preflight import why_no_debugger

    step = opening_step(source, run) if at is None else at
    trouble = why_no_debugger(run, step)
    if trouble is not None:
        raise UsageError(trouble, hint="name another step with --at")
    return step


def _exit_code(report: ReplayReport, *, strict: bool) -> int:
    if report.verdict != "diverged":
        return RESERVED if strict and report.verdict == "reserved" else 0
    if report.agent.failed_otherwise and not report.divergences:
        return AgentFailed.exit_code
    return 1


def _print_report(terminal: Terminal, report: ReplayReport) -> None:

    looks: dict[Verdict, tuple[Role, str]] = {
        "as_recorded": ("well", terminal.glyphs.well),
        "reserved": ("changed", terminal.glyphs.crashed),
        "diverged": ("failed", terminal.glyphs.failed),
    }
    role, glyph = looks[report.verdict]
    told = facts(
        [f"{report.served:,} of {counted(report.recorded, 'call')} answered", _ending(report)], terminal.glyphs.dot
    )
    name = terminal.short(report.run_name, terminal.columns // 2)
    terminal.line(Cell(name, "strong"), "  ", Cell(f"{glyph} {_verdict(report)}", role), "  ", told)
    if report.agent.failed_otherwise:
        for line in report.output.splitlines()[-_OUTPUT_LINES:]:
            terminal.line(Cell(f"  {terminal.safe(line)}", "muted"))
    if report.failed_before_asking:
        missing = f"none of its {counted(report.recorded, 'recorded call')} was made"
        terminal.line(Cell(missing, "muted"))
    _print_findings(terminal, report.divergences)
    for note in report.notes:
        count = f" ({note.count} times)" if note.count > 1 else ""
        label = Cell("reservation  ", "changed") if note.is_reservation else Cell("note  ", "muted")
        terminal.line(label, terminal.safe(f"{note.kind}: {note.text}{count}"))
    if report.verdict != "diverged":
        terminal.line(Cell(compared(report), "muted"))


def _print_findings(terminal: Terminal, findings: Sequence[Finding]) -> None:

    for finding in findings[:_MOST_FINDINGS]:
        _print_finding(terminal, finding)
    left = len(findings) - _MOST_FINDINGS
    if left > 0:
        terminal.line(Cell(f"and {left} more", "muted"))


def _verdict(report: ReplayReport) -> str:
    """The words of the verdict; of a divergence also what kinds there are."""
    words = VERDICT_WORDS[report.verdict]
    if report.verdict != "diverged":
        return words
    kinds = [finding.kind for finding in report.divergences]
    ending = ["failed"] if report.agent.failed_otherwise else [] if kinds else ["ended otherwise"]
    return f"{words}: {', '.join(dict.fromkeys([*ending, *kinds]))}"


def _ending(report: ReplayReport) -> str:
    agent = report.agent
    match agent.status:
        case "halted":
            return "halted"
        case "raised":
            same = {True: ", as it did then", False: ", which it did not then", None: ""}[agent.as_recorded]
            return f"the agent raised {agent.error}{same}"
        case _:
            return "the agent ended" + (", which it did not then" if agent.as_recorded is False else "")


def _print_finding(terminal: Terminal, finding: Finding) -> None:
    from agent_tt_tui.viewmodel.running.replayed import alike

    terminal.line()
    terminal.line(Cell(finding.kind, "failed"), "  ", terminal.safe(finding.message))
    place = facts([finding.place, finding.source], terminal.glyphs.dot)
    if place:
        terminal.line(Cell(f"  {terminal.safe(place)}", "muted"))
    for change in finding.changes[:_MOST_CHANGES]:
        _print_change(terminal, change)
    left = len(finding.changes) - _MOST_CHANGES
    if left > 0:
        terminal.line(Cell(f"  and {left} more changes", "muted"))
    if finding.kind != "changed request":
        for near in finding.nearest:
            where = f"step {near.call.step}, call {near.call.number} ({near.call.name})"
            paths = ", ".join(change.path or "all of it" for change in near.changes[:3])
            unlike = f": differs in {paths}" if paths else ""
            terminal.line(Cell("  near  ", "muted"), terminal.safe(f"{where}, {alike(near)} alike{unlike}"))
    if finding.hint:
        for line in textwrap.wrap(terminal.safe(finding.hint), terminal.columns - 2):
            terminal.line(Cell(f"  {line}", "muted"))


def _print_change(terminal: Terminal, change: ChangedPart) -> None:
    """Write the path and the words: removed ones in `[-…-]`, added ones in `{+…+}`, so that no colour is needed."""
    from agent_tt.replaying.findings.question_likeness import shown_words

    roles: dict[str, tuple[Role, str, str]] = {
        "same": ("text", "", ""),
        "removed": ("failed", "[-", "-]"),
        "added": ("well", "{+", "+}"),
    }
    cells: list[Cell | str] = [Cell(f"  {terminal.safe(change.path or 'the question')}  ", "changed")]
    for segment in shown_words(change.words):
        role, before, after = roles[segment.kind]
        text = terminal.short(segment.text, terminal.columns * 2)
        cells.append(Cell(f"{before}{text}{after}", role))
    terminal.line(*cells)


def _print_plan(terminal: Terminal, plan: Preflight) -> None:

    told = facts(
        [
            counted(sum(row.recorded for row in plan.answers), "call"),
            counted(plan.lanes, "lane"),
            f"{plan.nested} inside others" if plan.nested else "",
        ],
        terminal.glyphs.dot,
    )
    terminal.line(Cell(terminal.safe(plan.run.name), "strong"), "  ", Cell(told, "muted"))
    columns = [Column("BOUNDARY", flexible=True), Column("RECORDED", "right")]
    if plan.from_step:
        columns.append(Column(f"AFTER {plan.from_step}", "right"))
    columns += [Column("RESULTS", "right"), Column("ERRORS", "right"), Column("OPEN", "right")]
    rows = []
    for row in plan.answers:
        cells = [Cell(f"{row.name} ({'writes' if row.effect == 'write' else row.kind})"), Cell(str(row.recorded))]
        if plan.from_step:
            cells.append(Cell(str(row.from_here)))
        cells += [Cell(str(row.results)), Cell(str(row.errors)), Cell(str(row.open), "failed" if row.open else "text")]
        rows.append(cells)
    terminal.table(columns, rows)
    if plan.without:
        terminal.line(Cell("no answers  ", "failed"), terminal.safe(", ".join(plan.without)))
    for problem in plan.problems:
        terminal.line(Cell("note  ", "muted"), terminal.safe(problem))
    terminal.line(Cell("Nothing was run.", "muted"))
