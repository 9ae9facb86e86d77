"""A run as text for an issue: what happened, one step with its diff, who wrote what it wrote, and how to open it.

Whatever was recorded stands in code spans and fences that it cannot break out of, and what does not print is escaped:
no markup, mention or control character of it takes effect.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt.addresses import Address
from agent_tt.codec.paths import get
from agent_tt.codec.text import pretty, printable, summary
from agent_tt.comparing.values.states import compare_states
from agent_tt.errors import AgentTTError
from agent_tt.exporting.export import Export
from agent_tt.exporting.facts import run_facts, usage
from agent_tt.model.shown import counted, duration, step_ranges
from agent_tt.querying.provenance.trail import trail_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.comparing.values.states import Change
    from agent_tt.exporting.export import Exported
    from agent_tt.model import Call, ErrorInfo, Run
    from agent_tt.protocols import RunSource

__all__ = ["Markdown"]

_MOST_VALUE: Final = 500
"""Characters of a value that a line shows."""

_MOST_TEXT: Final = 4_000
"""Characters of an argument, result or traceback that a fence shows."""

_MOST_LINES: Final = 12
"""Lines of a value up to which it is not folded."""

_MOST_CHANGES: Final = 40
_MOST_TRAILS: Final = 3
"""Values of a step of which it is said what caused them."""

_TICKS: Final = re.compile("`+")
_WORD: Final = re.compile("[a-z ]+")


class Markdown(Export):
    """A run as text, of one step in full: the one that was named, else the first that failed, else the last."""

    SUFFIXES: ClassVar = (".md", ".markdown")
    HELP: ClassVar = "Markdown for an issue: what happened, a step, its diff, who wrote it."
    IS_TEXT: ClassVar = True

    def write(self, exported: Exported, path: Path) -> None:
        """Write the runs, one after the other."""
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for position, run in enumerate(exported.runs):
                file.writelines(f"{line}\n" for line in ("", "---", "") if position)
                file.writelines(f"{line}\n" for line in _run_lines(exported.source, run, exported.steps.get(run.id)))


def code(text: str) -> str:
    """A text as a code span, on one line."""
    line = printable(" ".join(text.split())) or " "
    ticks = "`" * (_longest(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _word(text: str) -> str:
    """A word of ours as it is; what a file says in the place of one as a code span."""
    return text if _WORD.fullmatch(text.replace("_", " ")) else code(text)


def fence(text: str, language: str = "") -> Iterator[str]:
    """The lines of a text in a fence; of a long one the beginning, and how much is left out."""
    shown = printable(text[:_MOST_TEXT])
    ticks = "`" * max(3, _longest(shown) + 1)
    yield f"{ticks}{language}"
    yield from shown.split("\n")
    if len(text) > _MOST_TEXT:
        yield f"… {len(text) - _MOST_TEXT:,} more characters"
    yield ticks


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _run_lines(source: RunSource, run: Run, named: int | None) -> Iterator[str]:
    yield f"## {code(run.name)}: {_word(run.status)}"
    yield ""
    yield from (f"- {name}: {code(said)}" for name, said in run_facts(run))
    if run.error is not None:
        yield ""
        yield from fence(_error_text(run.error))
    yield ""
    step = _chosen_step(source, run) if named is None else named
    yield from _step_lines(source, run, step)
    yield "### Open it"
    yield ""
    yield from fence(_command(source, run, step), "sh")


def _chosen_step(source: RunSource, run: Run) -> int:
    """The step that tells most: the first that failed, else the last."""
    try:
        return source.step_number(run, "@error")
    except AgentTTError:
        return source.step_count(run.id)


def _step_lines(source: RunSource, run: Run, number: int) -> Iterator[str]:
    step = next(iter(source.steps(run.id, number, number + 1)), None) if number else None
    yield "### The input" if step is None else f"### Step {number} of {run.steps}: {code(step.name)}"
    yield ""
    if step is not None:
        took = None if step.duration_us is None else duration(step.duration_us / 1e6)
        yield " · ".join(filter(None, (_word(step.status), code(step.agent) if step.agent else "", took, *usage(step))))
        yield ""
        if step.damaged is not None:
            yield code(step.damaged)
            yield ""
        if step.decision:
            yield from ("decided", "", *fence(step.decision), "")
        if step.error is not None:
            yield from (*fence(_error_text(step.error)), "")
        for call in source.calls(run.id, number) if step.calls else ():
            yield from _call_lines(call)
    yield from _change_lines(source, run, number, is_unkept=step is not None and step.is_unkept)


def _call_lines(call: Call) -> Iterator[str]:
    effect = f", {_word(call.effect)}" if call.effect else ""
    status = "not answered" if call.status == "pending" else _word(call.status)
    yield f"**Call {call.number}**: {_word(call.kind)} {code(call.name)}{effect}, {status}"
    yield ""
    if call.damaged is not None:
        yield from (code(call.damaged), "")
    if call.args is not None:
        yield from _folded("asked", pretty(call.args))
    if call.error is not None:
        yield from (*fence(call.error.short), "")
    elif call.status == "ok":
        yield from _folded("gave", pretty(call.result))


def _folded(word: str, text: str) -> Iterator[str]:
    """A value in JSON; a long one is folded."""
    is_long = text.count("\n") > _MOST_LINES
    yield from (f"<details><summary>{word}</summary>", "") if is_long else (word, "")
    yield from (*fence(text, "json"), "")
    yield from ("</details>", "") if is_long else ()


def _change_lines(source: RunSource, run: Run, number: int, *, is_unkept: bool) -> Iterator[str]:
    yield "#### What it changed" if number else "#### The state"
    yield ""
    if is_unkept:
        yield from ("The state after this step was not kept.", "")
        return
    try:
        state = source.state(run.id, number)
        base = source.base_step(run.id, number) if number else None
        changes = None if base is None else compare_states(source.state(run.id, base), state)
    except AgentTTError as error:
        yield from (f"It cannot be read: {code(error.message)}", "")
        return
    if changes is None:
        yield from (*fence(pretty(state), "json"), "")
        return
    lost = _unkept_between(source, run, 0 if base is None else base, number)
    if lost and changes:
        steps = ", ".join(step_ranges(lost, " to "))
        yield from (f"Or the steps before it whose states were not kept: {steps}.", "")
    if not changes:
        yield from ("Nothing in the state.", "")
        return
    lines = [line for change in changes[:_MOST_CHANGES] for line in _diff_lines(change)]
    if len(changes) > _MOST_CHANGES:
        lines.append(f"… {len(changes) - _MOST_CHANGES:,} more changes")
    ticks = "`" * max(3, max(map(_longest, lines)) + 1)
    yield from (f"{ticks}diff", *lines, ticks, "")
    yield from _trail_lines(source, run, number, changes)


def _unkept_between(source: RunSource, run: Run, base: int, number: int) -> list[int]:
    """The steps between the last state that is kept and a step of that history: what changed may be theirs, too."""
    rows = source.steps(run.id, base + 1, number + 1)
    track = rows[-1].track if rows else ""
    return [step.number for step in rows[:-1] if step.is_unkept and step.track == track]


def _diff_lines(change: Change) -> Iterator[str]:
    """`+ path: value` for people and for the colours of a `diff` fence."""
    path = printable(change.path or "(everything)")
    if change.op == "move":
        yield f"! {path}: moved from {printable(change.old_path or '')}"
    elif change.op == "reorder":
        yield f"! {path}: its {change.of} in another order"
    else:
        if change.op != "add":
            yield f"- {path}: {summary(change.old, _MOST_VALUE)}"
        if change.op != "remove":
            yield f"+ {path}: {summary(change.new, _MOST_VALUE)}"


def _trail_lines(source: RunSource, run: Run, number: int, changes: list[Change]) -> Iterator[str]:
    """What caused the values that a step wrote."""
    written = [change for change in changes if change.op in ("add", "change")]
    if not written:
        return
    yield "#### Who wrote it"
    yield ""
    for change in written[:_MOST_TRAILS]:
        try:
            value = get(source.state(run.id, number), change.where)
            trail = trail_of(source, run.id, change.where, number, value)
        except AgentTTError as error:
            yield f"- {code(change.path or '(everything)')}: not known: {code(error.message)}"
            continue
        yield f"- {code(change.path or '(everything)')}"
        for link in trail.links:
            name = f" {code(' '.join(filter(None, (link.name, link.path))))}" if link.name or link.path else ""
            why = f" ({code(link.why)})" if link.why else ""
            yield f"  - step {link.step}, {_word(link.kind)}{name}: {code(summary(link.value, 200))}{why}"
        if trail.ends:
            yield f"  - ends: {code(trail.ends)}"
    if len(written) > _MOST_TRAILS:
        yield f"- of {counted(len(written) - _MOST_TRAILS, 'further value')} `agent-tt blame` says it"
    yield ""


def _error_text(error: ErrorInfo) -> str:
    """The traceback, of a long one its end: that says most; else the message."""
    text = error.traceback.rstrip() or "\n".join((error.short, *error.message.splitlines()[1:]))
    left_out = len(text) - _MOST_TEXT // 2
    return f"… {left_out:,} more characters before\n{text[left_out:]}" if left_out > 0 else text


def _command(source: RunSource, run: Run, step: int) -> str:
    name = run.name if run.name.isprintable() else run.id
    words = ["agent-tt", "open", name, "--at", str(step)]
    if not source.capabilities.records:
        words += ["--store", str(source.path) if isinstance(source.path, Address) else source.path.name]
    return shlex.join(words)
