"""How statuses, steps and changes are said in text output, with the glyphs of the screens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.model import ACTING
from agent_tt_tui import format as shown
from agent_tt_tui.cli.terminal import Cell, Terminal, facts
from agent_tt_tui.format import counted
from agent_tt_tui.status import kind_glyph, run_glyph, run_tone
from agent_tt_tui.text import fit, width
from agent_tt_tui.viewmodel.debugger.marked_steps import name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.runs.equal_answers import Answer
    from agent_tt.found.folders import Unread
    from agent_tt.model import Call, Run, RunStatus, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expecting import Came, Hoped
    from agent_tt_tui.cli.terminal import Role
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.runs.runtree import RunRow

_MOST_ANSWERS: Final = 12

_STANDING_COLUMNS: Final = 40


def status_cell(status: RunStatus, glyphs: Glyphs) -> Cell:
    """`✓ succeeded`."""
    return Cell(f"{run_glyph(status, glyphs)} {status}", run_tone(status))


def ended_cell(run: Run, terminal: Terminal, *, is_held: bool = False) -> Cell:
    """`✓ succeeded`, or where a thread stands that was interrupted: `– interrupted before pay`; or that it is held."""
    cell = status_cell(run.status, terminal.glyphs)
    if is_held and run.status == "running":
        return Cell(f"{terminal.glyphs.person} held", "yours")
    if run.standing is None:
        return cell
    return Cell(f"{cell.text} {terminal.short(run.standing, _STANDING_COLUMNS)}", cell.role)


def say_unkept(source: RunSource, run: Run, *steps: int) -> None:
    """Say on standard error of which steps no checkpoint is kept: what is told of their states is of earlier ones."""
    for number in steps:
        for step in source.steps(run.id, number, number + 1) if number else ():
            words = step.why_unkept
            if words:
                terminal = Terminal.of(sys.stderr)
                what = terminal.safe(f"{run.name}@{number}: {words}")
                sys.stderr.write(f"{terminal.paint('agent-tt:', 'muted')} {what}\n")


def branch(row: RunRow, glyphs: Glyphs) -> str:
    """The branches of the tree before a fork's name."""
    if not row.last:
        return ""
    rails = "".join("  " if last else f"{glyphs.rail} " for last in row.last[:-1])
    return f"{rails}{glyphs.branch_last if row.last[-1] else glyphs.branch} "


def marks_of(run: Run, glyphs: Glyphs) -> str:
    """` · incomplete`, ` · 4 unrecorded`, ` · pinned`, ` · archived`, or nothing."""
    unrecorded = sum(count for count in run.facts.asked_unrecorded.values() if isinstance(count, int))
    known = (
        ("incomplete", run.incomplete is not None),
        (f"{unrecorded:,} unrecorded", bool(unrecorded)),
        ("pinned", run.pinned),
        ("archived", run.archived),
    )
    words = [word for word, holds in known if holds]
    return "".join(f" {glyphs.dot} {word}" for word in words)


def no_runs(terminal: Terminal, place: Path, *, hidden: bool) -> str:
    """What is said where no run is listed."""
    if hidden:
        return f"All runs in {terminal.safe(str(place))} are archived: --all lists them."
    return f"No runs in {terminal.safe(str(place))} yet: try `agent-tt open refund-loop`."


def run_line(terminal: Terminal, run: Run, *, is_held: bool = False) -> None:
    """Write the line that stands above everything about a run: name, status, cause, facts."""
    name, status = terminal.short(run.name, terminal.columns // 2), ended_cell(run, terminal, is_held=is_held)
    run_id = None if run.id == run.name else run.id
    rest = terminal.safe(facts([counted(run.steps, "step"), run.agent, run_id], terminal.glyphs.dot))
    left = terminal.columns - width(name) - width(status.text) - 4
    terminal.line(Cell(name, "strong"), "  ", status, "  ", Cell(terminal.short(rest, left), "muted"))
    if run.damaged is not None:
        terminal.line(Cell(f"  {terminal.short(run.damaged, terminal.columns - 2)}", "failed"))
    if run.error is not None:
        terminal.line(Cell(f"  {terminal.short(run.error.short, terminal.columns - 2)}", "failed"))
    if run.incomplete is not None:
        terminal.line(Cell(f"  incomplete: {terminal.safe(run.incomplete)}", "changed"))


def hoped_cell(came: Came, terminal: Terminal, said: str = "") -> Cell:
    """`✓ came`, or all that is said of it: `✓ came: paid == true`."""
    glyphs = terminal.glyphs
    looks: dict[Came, tuple[str, Role]] = {
        "came": (glyphs.well, "well"),
        "did not come": (glyphs.failed, "failed"),
        "unknown": (glyphs.unknown, "changed"),
    }
    glyph, role = looks[came]
    return Cell(f"{glyph} {terminal.safe(said or came)}", role)


def print_hoped(terminal: Terminal, hoped: Hoped | None, side: str = "") -> None:
    """Write what was hoped with a fork and whether it came; nothing where nothing was said.

    Args:
        terminal: where to.
        hoped: what was hoped.
        side: of two runs, which one it is: `A`.
    """
    if hoped is not None:
        terminal.line(f"{side}  ", Cell("hoped for  ", "muted"), hoped_cell(hoped.came, terminal, hoped.said))


def step_line(terminal: Terminal, step: Step, calls: list[Call]) -> None:
    """Write one step of a run that goes on, without knowing how wide the columns of later steps will be."""
    number, glyph, name, what, duration, flag = step_cells(step, calls, terminal.glyphs)
    head = f"{number.text:>5} "
    title = f"{terminal.short(name.text, 24)}  "
    tail = f"  {fit(duration.text, 7, terminal.glyphs.cut, 'right')} {flag.text}".rstrip()
    left = terminal.columns - width(head) - 2 - width(title) - width(tail)
    shown_what = fit(terminal.short(what.text, left), left, terminal.glyphs.cut)
    terminal.line(head, Cell(f"{glyph.text} ", glyph.role), Cell(title, name.role), Cell(shown_what, what.role), tail)


def step_cells(step: Step, calls: list[Call], glyphs: Glyphs) -> list[Cell]:
    """One row about a step: number, glyph, name, what it did, duration, flag."""
    failed, called = step.status == "error", name_of(step)
    flag = glyphs.failed if failed else glyphs.same if step.repeat_of else ""
    duration = "" if step.duration_us is None else shown.duration(step.duration_us / 1e6)
    return [
        Cell(str(step.number), "muted" if step.inherited else "text"),
        Cell(kind_glyph(step.kind, glyphs), "failed" if failed else "key"),
        Cell(f"{step.agent}: {called}" if step.agent else called, "muted" if step.inherited else "strong"),
        Cell(summary(step, calls), "failed" if failed else "muted"),
        Cell(duration, "muted"),
        Cell(flag, "failed" if failed else "muted"),
    ]


def summary(step: Step, calls: list[Call]) -> str:
    """What a step did, in one line: what went wrong, else what it called and what came back, else what it decided."""
    if step.error is not None:
        return step.error.short
    acting = [call for call in calls if call.kind in ACTING]
    if not acting:
        return step.decision or ""
    return "; ".join(told(step, call) for call in acting[:3])


def told(step: Step, call: Call) -> str:
    """What was asked and what came back; what went wrong stands first, where it is not cut off."""
    if call.status == "ok":
        return f"{asked(step, call)}{came_back(call)}"
    word = "denied" if call.status == "denied" else came_back(call).removeprefix(": ")
    return f"{word}: {asked(step, call)}"


def came_back(call: Call) -> str:
    """` = 3`, or what is there in place of a result."""
    from agent_tt.codec.text import summary as value_summary

    if call.error is not None:
        return f": {call.error.short}"
    if call.status == "pending":
        return f": {pending_words(call)}"
    return f" = {value_summary(call.result, 60)}"


def pending_words(call: Call, *, is_running: bool = False) -> str:
    """What is known of a call that has no answer.

    Args:
        call: the call.
        is_running: whether the run that made it goes on.
    """
    from agent_tt.model.facts.calls import is_held

    return "no answer yet" if is_running or call.kind == "human" or is_held(call.meta) else "outcome unknown"


def asked(step: Step, call: Call) -> str:
    """`search_docs(query="refund policy")`, without the tool's name where the step bears it already."""
    name = "" if call.name == step.name else call.name
    return f"{name}({_arguments(call)})"


def _arguments(call: Call) -> str:
    from agent_tt.codec.text import summary as value_summary

    if isinstance(call.args, dict):
        return ", ".join(f"{name}={value_summary(value, 40)}" for name, value in call.args.items())
    return "" if call.args is None else value_summary(call.args, 60)


def place_words(place: str) -> str:
    """A file as one would write it from here; any other word as it is."""
    path = Path(place)
    return shown.short_path(path) if path.is_absolute() else place


def print_answers(terminal: Terminal, about: str, groups: Sequence[Answer], different: int, succeeded: int) -> None:
    """Write each answer on a line, with its letter and how often it came; nothing where there is none.

    Args:
        terminal: where to.
        about: what they answer.
        groups: the answers.
        different: how many different ones there are.
        succeeded: among how many runs, of which the answer is known.
    """
    if not groups:
        return
    terminal.line()
    none = "no run succeeded" if all(answer.failed for answer in groups) else "none is known"
    said = f"{different} different in {succeeded}" if succeeded else none
    terminal.line(Cell(terminal.safe(about).upper() + "  ", "muted"), Cell(said, "muted"))
    for answer in groups[:_MOST_ANSWERS]:
        head = f"{answer.letter} {answer.count:>4}{terminal.glyphs.times}  "
        text = terminal.short(answer.text, terminal.columns - len(head))
        terminal.line(Cell(head, "muted"), Cell(text, "failed" if answer.failed else "text"))
    if len(groups) > _MOST_ANSWERS:
        terminal.line(Cell(f"{terminal.glyphs.cut} {len(groups) - _MOST_ANSWERS} more", "muted"))


def tell_unread(unread: Sequence[Unread], folder: Path) -> None:
    """Say on standard error which files of a folder do not open, and why."""
    terminal = Terminal.of(sys.stderr)
    for each in unread:
        name = each.path.relative_to(folder) if each.path.is_relative_to(folder) else each.path
        sys.stderr.write(f"{terminal.safe(f'{name}: {each.why}')}\n")
