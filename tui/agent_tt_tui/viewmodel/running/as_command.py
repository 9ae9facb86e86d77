"""What was chosen in a dialog, as the command that does the same.

Each part is read back by what reads it from the command line: a command is given only where it says exactly that.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from agent_tt.addresses import Address, found_again
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.forking.editing.edits import is_retyped
from agent_tt.forking.editing.forms import read_edit
from agent_tt.intercepting.rules import read_assignment
from agent_tt.sweeping.axes import axis_of
from agent_tt_tui.viewmodel.runs.sweep_form import axis_line, axis_of_edit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_tt.asking_again.plan import AgainRequest
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit, Run
    from agent_tt.protocols import RunSource
    from agent_tt.resuming.plan import ResumePlan
    from agent_tt.sweeping.axes import Axis
    from agent_tt_tui.viewmodel.running.fork_setup import ForkSetup
    from agent_tt_tui.viewmodel.runs.sweep_form import SweepDraft

__all__ = [
    "again_command", "answers_command", "compare_command", "edit_words", "fork_command", "pdb_command",
    "replay_command", "resume_command", "sweep_command", "sweep_resume_command",
]  # fmt: skip

_DIGITS: Final = frozenset({"stop_at", "max_tokens", "seed"})


def fork_command(source: RunSource, run: Run, setup: ForkSetup) -> str:
    """The command of a fork.

    Raises:
        UsageError: A part of it cannot be said on a command line; the message says which.
    """
    words = ["agent-tt", "fork", _name(source, run), "--at", str(0 if setup.inputs else setup.step)]
    for edit in (*setup.edits, *setup.inputs.values(), *setup.requests.values()):
        words += _option(*_written(edit))
    words += _given("--agent", setup.agent) + _given("--continue-with", setup.continue_with)
    words += _given("--name", setup.name)
    said = [] if setup.policy is None else [(name, rule) for name, rule in setup.policy.said() if rule.source == "you"]
    for name, rule in reversed(said):
        text = f"{name}={rule.text}"
        read_name, read_rule = read_assignment(text)
        if (read_name, read_rule.text) != (name, rule.text):
            raise UsageError(f"the policy of {name} cannot be said in a command")
        words += _option("--policy", text)
    for tool, effect in setup.effects.items():
        words += _option("--effect", f"{tool}={effect}")
    for key, text in setup.texts.items():
        if key in ("accept_changes", "reuse_answers"):
            words.append(f"--{key.replace('_', '-')}")
        else:
            plain = text.replace(",", "").replace("_", "") if key in _DIGITS else text
            words += _option(f"--{key.replace('_', '-')}", plain.removeprefix("$") if key == "max_cost" else plain)
    for text in setup.overrides.values():
        words += _option("--override", text)
    for text in setup.breaks:
        words += _option("--break", text)
    return _line(words, source)


def again_command(source: RunSource, run: Run, asked: AgainRequest) -> str:
    """The command that asks a recorded call again.

    Raises:
        UsageError: A part of it cannot be said on a command line.
    """
    place = str(asked.step) if asked.call is None else f"{asked.step}.{asked.call}"
    words = ["agent-tt", "again", _name(source, run), place, "--times", str(asked.times)]
    for edit in asked.edits:
        words += _option(*_written(edit))
    words += _given("--model", asked.model) + _given("--key", asked.key)
    return _line(words, source)


def answers_command(source: RunSource, run: Run) -> str:
    """The command that shows the answers of a run that asked again.

    Raises:
        UsageError: Its name cannot be said on a command line.
    """
    return _line(["agent-tt", "again", _name(source, run)], source)


def replay_command(source: RunSource, run: Run, *, observe: bool, agent: str, arguments: Iterable[str]) -> str:
    """The command of a replay.

    Raises:
        UsageError: A part of it cannot be said on a command line.
    """
    given = list(arguments)
    words = ["agent-tt", "replay", _name(source, run), *(["--observe"] if observe else [])]
    words += _given("--agent", agent or None)
    return _line(words, source, after=["--", *given] if given else [])


def pdb_command(source: RunSource, run: Run, step: int) -> str:
    """The command of a replay with pdb at a step.

    Raises:
        UsageError: A part of it cannot be said on a command line.
    """
    return _line(["agent-tt", "replay", _name(source, run), "--pdb", "--at", str(step)], source)


def resume_command(source: RunSource, plan: ResumePlan) -> str:
    """The command that resumes a run, with what was said of calls in flight.

    Raises:
        UsageError: A part of it cannot be said on a command line.
    """
    words = ["agent-tt", "resume", _name(source, plan.run)]
    for (step, call), said in plan.decided.items():
        if said is None:
            words += ["--not-happened", f"{step}.{call}"]
        else:
            words += ["--happened", f"{step}.{call}={_json(cast('Wire', said.result))}"]
    words += ["--redo-unrecorded"] if plan.redo_unrecorded else []
    return _line(words, source)


def sweep_resume_command(source: RunSource, sweep_id: str) -> str:
    """The command that drives a sweep that is written down.

    Raises:
        UsageError: Its store cannot be said on a command line.
    """
    return _line(["agent-tt", "sweep", "--resume", sweep_id], source)


def edit_words(edit: Edit) -> str:
    """An edit as its option says it, `set budget=3`; else what it edits."""
    try:
        form, text = _written(edit)
    except AgentTTError:
        return f"{edit.op} {edit.where or 'the whole state'}"
    return f"{form.removeprefix('--')} {text}"


def compare_command(source: RunSource, a: Run, other: RunSource, b: Run) -> str:
    """The command that compares two runs.

    Raises:
        UsageError: A name cannot be said on a command line.
    """
    second = _name(other, b) if other.path == source.path else f"{_place(other)}:{_name(other, b)}"
    return _line(["agent-tt", "compare", _name(source, a), second], source)


def sweep_command(source: RunSource, run: Run, draft: SweepDraft) -> str:
    """The command of a sweep.

    Raises:
        UsageError: It makes no sense yet, or a part of it cannot be said on a command line.
    """
    draft.definition()
    words = ["agent-tt", "sweep", _name(source, run), "--at", str(draft.step)]
    for axis in draft.fixed:
        words += _option(f"--{axis.kind}", _axis_text(axis))
    for line in draft.lines:
        first, _, rest = line.strip().partition(" ")
        is_named = axis_line(line).kind == first.removeprefix("--") and rest.strip()
        words += _option(f"--{first.removeprefix('--')}", rest.strip()) if is_named else _option("--set", line.strip())
    words += ["--samples", str(draft.samples), "--jobs", str(draft.jobs)]
    for text in draft.outcomes:
        words += _option("--outcome", text)
    words += _given("--max-cost", None if draft.max_cost is None else repr(draft.max_cost))
    for name in draft.allow:
        words += _option("--allow", name)
    return _line(words, source)


def _name(source: RunSource, run: Run) -> str:
    """The run's name where that names it alone and is no option, else its id."""
    try:
        is_named = source.run(run.name).id == run.id
    except AgentTTError:
        is_named = False
    return run.name if is_named and not run.name.startswith("-") and ":" not in run.name else run.id


def _option(flag: str, value: str) -> list[str]:
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]


def _given(flag: str, value: str | None) -> list[str]:
    return [] if value is None else _option(flag, value)


def _line(words: list[str], source: RunSource, after: Iterable[str] = ()) -> str:
    words = [*words, *_option("--store", _place(source)), *after]
    if not all(word.replace("\n", "").isprintable() for word in words):
        raise UsageError("it holds characters that do not print, which no command should")
    return shlex.join(words)


def _place(source: RunSource) -> str:
    """Give what a command names a store by. A password is never said: a command finds it in AGENT_TT_STORE.

    Raises:
        UsageError: It is on a server, and nothing that may be said leads there.
    """
    path, text = source.path, str(source.path)
    if isinstance(path, Address):
        again = found_again(text)
        if not isinstance(again, Address) or again.url != path.url:
            raise UsageError("its store is on a server, which cannot be said in a command")
    return text


def _written(edit: Edit) -> tuple[str, str]:
    """The option of an edit and what follows it."""
    axis = axis_of_edit(edit)
    text = _text_of(axis)
    read = _try(lambda: read_edit(axis.kind, text))
    if read != replace(edit, old=None) or (edit.target == "result" and is_retyped(edit)):
        raise UsageError(f"the edit of {edit.where or 'the whole state'} cannot be said in a command")
    return f"--{axis.kind}", text


def _text_of(axis: Axis) -> str:
    """What follows the option of an edit."""
    (value,) = axis.values
    if axis.kind in ("mute", "model", "system"):
        return str(value)
    if axis.kind == "delete":
        return axis.place
    return f"{axis.place}={value if axis.kind == 'move' else _json(value)}"


def _axis_text(axis: Axis) -> str:
    text = _text_of(axis)
    if _try(lambda: axis_of(axis.kind, text)) != axis:
        raise UsageError(f"the edit of {axis.place or axis.kind} cannot be said in a command of a sweep")
    return text


def _json(value: Wire) -> str:
    return json.dumps(value, ensure_ascii=not str(value).isprintable())


def _try(read: Callable[[], object]) -> object:
    try:
        return read()
    except AgentTTError:
        return None
