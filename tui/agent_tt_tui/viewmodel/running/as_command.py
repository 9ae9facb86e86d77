"""What was chosen in a dialog, as the command that does the same.

Each part is read back by what reads it from the command line: a command is given only where it says exactly that.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError, UsageError
from agent_tt.forking.editing.forms import read_edit
from agent_tt.intercepting.rules import read_assignment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit, Run
    from agent_tt.protocols import RunSource
    from agent_tt.sweeping.axes import Axis
    from agent_tt_tui.viewmodel.running.fork_setup import ForkSetup
    from agent_tt_tui.viewmodel.runs.sweep_form import SweepDraft

__all__ = ["compare_command", "fork_command", "replay_command", "sweep_command"]

_CALLS: Final = frozenset({"result", "error", "answer"})
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


def replay_command(source: RunSource, run: Run, *, observe: bool, agent: str, arguments: Iterable[str]) -> str:
    """The command of a replay.

    Raises:
        UsageError: A part of it cannot be said on a command line.
    """
    given = list(arguments)
    words = ["agent-tt", "replay", _name(source, run), *(["--observe"] if observe else [])]
    words += _given("--agent", agent or None)
    return _line(words, source, after=["--", *given] if given else [])


def compare_command(source: RunSource, a: Run, other: RunSource, b: Run) -> str:
    """The command that compares two runs.

    Raises:
        UsageError: A name cannot be said on a command line.
    """
    second = _name(other, b) if other.path == source.path else f"{other.path}:{_name(other, b)}"
    return _line(["agent-tt", "compare", _name(source, a), second], source)


def sweep_command(source: RunSource, run: Run, draft: SweepDraft) -> str:
    """The command of a sweep.

    Raises:
        UsageError: It makes no sense yet, or a part of it cannot be said on a command line.
    """
    from agent_tt_tui.viewmodel.runs.sweep_form import axis_line

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
    words = [*words, *_option("--store", str(source.path)), *after]
    if not all(word.replace("\n", "").isprintable() for word in words):
        raise UsageError("it holds characters that do not print, which no command should")
    return shlex.join(words)


def _written(edit: Edit) -> tuple[str, str]:
    """The option of an edit and what follows it."""
    form, text = _form_of(edit)
    read = _try(lambda: read_edit(form, text))
    if read != replace(edit, old=None):
        raise UsageError(f"the edit of {edit.where or 'the whole state'} cannot be said in a command")
    return f"--{form}", text


def _form_of(edit: Edit) -> tuple[str, str]:
    if edit.target in _CALLS:
        place = f"{edit.step}" if edit.call is None else f"{edit.step}.{edit.call}"
        inside = edit.path if not edit.path or edit.path.startswith("[") else f".{edit.path}"
        return edit.target, f"{place}{inside}={_json(edit.value)}"
    match edit.target, edit.op:
        case "state", "delete":
            return "delete", edit.path
        case "state", "move":
            return "move", f"{edit.path}={edit.to}"
        case "state", op:
            return op, f"{edit.path}={_json(edit.value)}"
        case "parameter", op:
            return "param", f"{edit.path}={'null' if op == 'delete' else _json(edit.value)}"
        case "step", _:
            return "mute", str(edit.step)
        case target, _:
            return target, str(edit.value)


def _axis_text(axis: Axis) -> str:
    from agent_tt.sweeping.axes import axis_of

    (value,) = axis.values
    if axis.kind in ("mute", "model", "system"):
        text = str(value)
    elif axis.kind == "delete":
        text = axis.place
    elif axis.kind == "move":
        text = f"{axis.place}={value}"
    else:
        text = f"{axis.place}={_json(value)}"
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
