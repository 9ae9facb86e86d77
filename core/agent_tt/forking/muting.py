"""Muting a step, as if it had never happened: what it changed, and nobody has changed since, is put back.

What was added to a list is looked for where it has moved to. In a conversation the answer that the step brought goes,
with the results of the tools that it asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path
from agent_tt.codec.wire import is_envelope
from agent_tt.errors import InvalidEdit
from agent_tt.forking.edits import apply_edits
from agent_tt.model import Edit
from agent_tt.providers.recorded import recorded_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Step
    from agent_tt.protocols import RunSource

__all__ = ["mute"]

_ANSWERS = ("tool_call_id", "tool_use_id", "call_id")


def mute(source: RunSource, run_id: str, steps: Sequence[Step], number: int, at: int, state: Wire) -> tuple[Edit, ...]:
    """The edits that make a step's doing undone, behind one that says so.

    Args:
        source: where the run lies.
        run_id: the run.
        steps: all its steps.
        number: the step that is muted.
        at: the step whose state is edited.
        state: that state, with other edits applied.

    Raises:
        InvalidEdit: there is no such step before the fork, or it left nothing in the state that could be put back.
    """
    if not 1 <= number <= at:
        raise InvalidEdit(
            f"step {number} cannot be muted: the fork begins after step {at}", hint=f"name one from 1 to {at}"
        )
    step, base = steps[number - 1], source.base_step(run_id, number)
    said = Edit("mute", "", step.name, target="step", step=number)
    after = source.state(run_id, number)
    before: Wire = None if base is None else source.state(run_id, base)
    request = _turns_sent(source, run_id, number)
    if request is not None and isinstance(after, dict) and isinstance(state, dict):
        key, sent = request
        edits = _without_answer(key, after, sent, state)
    else:
        edits = _undone((), before, after, state)
    if not edits:
        raise InvalidEdit(
            f"step {number} {step.name} left nothing in the state after step {at} that could be put back",
            hint="what it changed has been changed since, or it changed nothing",
        )
    apply_edits(state, edits)  # they fit, one after the other
    return (said, *edits)


def _turns_sent(source: RunSource, run_id: str, number: int) -> tuple[str, int] | None:
    """Where a model step's conversation lies in its state, and how many turns were sent; None for other steps."""
    for call in reversed(source.calls(run_id, number)):
        request = recorded_call(call.args) if call.kind == "llm" else None
        if request is not None and request.turns:
            turns = request.conversation.get(request.turns)
            return (request.turns, len(turns)) if isinstance(turns, list) else None
    return None


def _without_answer(key: str, after: dict[str, Wire], sent: int, state: dict[str, Wire]) -> list[Edit]:
    then, now = after.get(key), state.get(key)
    if not isinstance(then, list) or not isinstance(now, list) or len(then) <= sent:
        return []
    answer = then[sent:]
    asked = {found for turn in answer for found in _ids(turn)}
    gone = [
        index
        for index, turn in enumerate(now)
        if turn in answer or (_results(turn) and _results(turn) <= asked)  # a turn of results of nothing else
    ]
    return [Edit("delete", format_path((key, index)), old=now[index]) for index in reversed(gone)]


def _ids(value: Wire) -> set[str]:
    if isinstance(value, dict):
        own = {str(value[key]) for key in ("id", "call_id", "toolUseId") if isinstance(value.get(key), str)}
        return own.union(*(_ids(part) for part in value.values()))
    return set[str]().union(*(_ids(part) for part in value)) if isinstance(value, list) else set()


def _results(turn: Wire) -> set[str]:
    """The calls whose results a turn gives, where it gives nothing else."""
    if not isinstance(turn, dict):
        return set()
    own = {str(turn[key]) for key in _ANSWERS if key in turn}
    if own and (turn.get("role") == "tool" or str(turn.get("type", "")).endswith("_output")):
        return own
    content = turn.get("content")
    blocks = content if isinstance(content, list) else []
    results = [str(block[key]) for block in blocks if isinstance(block, dict) for key in _ANSWERS if key in block]
    return set(results) if blocks and len(results) == len(blocks) else set()


# ---------------------------------------------------------------- states


def _undone(path: Path, before: Wire, after: Wire, now: Wire) -> list[Edit]:
    """The edits of `now` that take back what turned `before` into `after`, as far as it still stands."""
    if before == after:
        return []
    if isinstance(before, list) and isinstance(after, list) and isinstance(now, list):
        return _undone_items(path, before, after, now)
    if _is_object(before) and _is_object(after) and _is_object(now):
        return _undone_keys(path, before, after, now)  # type: ignore[arg-type]
    return [Edit("set", format_path(path), before, old=now)] if now == after else []


def _is_object(value: Wire) -> bool:
    return isinstance(value, dict) and not is_envelope(value)


def _undone_keys(path: Path, before: dict[str, Wire], after: dict[str, Wire], now: dict[str, Wire]) -> list[Edit]:
    edits: list[Edit] = []
    for key in dict.fromkeys([*after, *before]):
        where = (*path, key)
        if key not in before:
            if key in now and now[key] == after[key]:
                edits.append(Edit("delete", format_path(where), old=now[key]))
        elif key not in after:
            if key not in now:
                edits.append(Edit("set", format_path(where), before[key]))
        elif key in now:
            edits += _undone(where, before[key], after[key], now[key])
    return edits


def _undone_items(path: Path, before: list[Wire], after: list[Wire], now: list[Wire]) -> list[Edit]:
    start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after))
    )
    left = min(len(before), len(after)) - start
    end = next((i for i in range(left) if before[-1 - i] != after[-1 - i]), left)
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    if len(gone) == len(come):
        return [
            edit
            for index, (old, new) in enumerate(zip(gone, come, strict=True), start)
            if index < len(now)
            for edit in _undone((*path, index), old, new, now[index])
        ]
    places: list[int] = []
    for item in come:  # each where it is now, in order
        index = next((i for i in range(places[-1] + 1 if places else 0, len(now)) if now[i] == item), None)
        if index is not None:
            places.append(index)
    edits = [Edit("delete", format_path((*path, index)), old=now[index]) for index in reversed(places)]
    at = places[0] if places else start
    if gone and (places or not come) and at <= len(now):
        edits += [Edit("insert", format_path((*path, at + offset)), item) for offset, item in enumerate(gone)]
    return edits
