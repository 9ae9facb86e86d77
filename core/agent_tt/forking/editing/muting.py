"""Muting a step, as if it had never happened: what it changed, and nobody has changed since, is put back.

What was added to a list is looked for where it has moved to. In a conversation the answer that the step brought goes,
with the results of the tools that it asked for; an agent may send an answer in other words than it got it in, so it is
known by the calls that it asks for, or by its place. What has been changed since stays, and is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path
from agent_tt.codec.wire import Path, is_envelope
from agent_tt.errors import InvalidEdit
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.model import Edit
from agent_tt.providers.reading import asked_ids, recorded_call, results_only, without_nulls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Step
    from agent_tt.protocols import RunSource
    from agent_tt.providers.shapes import Json

__all__ = ["mute"]

_SPEAKERS = frozenset({"assistant", "model"})
_MOST_NAMED = 4


def mute(
    source: RunSource, run_id: str, steps: Sequence[Step], number: int, at: int, state: Wire
) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """Give the edits that undo what a step did, after one that says so, and in words what cannot be undone.

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
    request, stays = _turns_sent(source, run_id, number), list[Path]()
    if request is not None and isinstance(after, dict) and isinstance(state, dict):
        key, sent = request
        edits = _without_answer(key, after, _end_of(sent, after.get(key)), state)
    else:
        edits = _undone((), before, after, state, stays)
    if not edits:
        raise InvalidEdit(
            f"step {number} {step.name} left nothing in the state after step {at} that could be put back",
            hint="what it changed has been changed since, or it changed nothing",
        )
    apply_edits(state, edits)  # they fit, one after the other
    return (said, *edits), _said_of(step, stays)


def _said_of(step: Step, stays: Sequence[Path]) -> tuple[str, ...]:
    if not stays:
        return ()
    named = ", ".join(format_path(path) or "the state" for path in stays[:_MOST_NAMED])
    more = f" and {len(stays) - _MOST_NAMED} more" if len(stays) > _MOST_NAMED else ""
    verb = "has" if len(stays) == 1 else "have"
    why = f"but {named}{more} {verb} been changed since: what it did there stays; --set says otherwise"
    return (f"step {step.number} {step.name} is muted, {why}",)


def _turns_sent(source: RunSource, run_id: str, number: int) -> tuple[str, list[Json]] | None:
    """Where a model step's conversation lies in its state, and the turns that were sent; None for other steps."""
    for call in reversed(source.calls(run_id, number)):
        request = recorded_call(call.args) if call.kind == "llm" else None
        if request is not None and request.turns:
            turns = request.conversation.get(request.turns)
            return (request.turns, turns) if isinstance(turns, list) else None
    return None


def _end_of(sent: Sequence[Json], turns: Wire) -> int:
    """Count the turns before the answer: earlier ones that the provider keeps, then those of this request."""
    known = turns if isinstance(turns, list) else []
    last = len(known) - len(sent)
    start = next((at for at in range(last, 0, -1) if known[at : at + len(sent)] == sent), 0) if sent else 0
    return start + len(sent)


def _without_answer(key: str, after: dict[str, Wire], sent: int, state: dict[str, Wire]) -> list[Edit]:
    then, now = after.get(key), state.get(key)
    if not isinstance(then, list) or not isinstance(now, list) or len(then) <= sent:
        return []
    answer = [without_nulls(turn) for turn in then[sent:]]
    asked = asked_ids(answer)
    gone = [index for index, turn in enumerate(now) if without_nulls(turn) in answer or asked_ids([turn]) & asked]
    before, place = [without_nulls(turn) for turn in then[:sent]], now[sent] if sent < len(now) else None
    if not gone and _speaks(place) and [without_nulls(turn) for turn in now[:sent]] == before:
        gone = [sent]
    if not gone:
        return []
    gone += [i for i, turn in enumerate(now) if i not in gone and results_only(turn) and results_only(turn) <= asked]
    gone.sort()
    return [Edit("delete", format_path((key, index)), old=now[index]) for index in reversed(gone)]


def _speaks(turn: Wire) -> bool:
    return isinstance(turn, dict) and turn.get("role") in _SPEAKERS


# ---------------------------------------------------------------- states


def _undone(path: Path, before: Wire, after: Wire, now: Wire, stays: list[Path]) -> list[Edit]:
    """The edits of `now` that take back what turned `before` into `after`, as far as it still stands.

    Args:
        path: where it lies.
        before: what was there before the step.
        after: what was there after it.
        now: what is there where the fork begins.
        stays: gets the places that have been changed since.
    """
    if before == after:
        return []
    if isinstance(before, list) and isinstance(after, list) and isinstance(now, list):
        return _undone_items(path, before, after, now, stays)
    if _is_object(before) and _is_object(after) and _is_object(now):
        return _undone_keys(path, before, after, now, stays)  # type: ignore[arg-type]
    if now == after:
        return [Edit("set", format_path(path), before, old=now)]
    if now != before:
        stays.append(path)
    return []


def _is_object(value: Wire) -> bool:
    return isinstance(value, dict) and not is_envelope(value)


def _undone_keys(
    path: Path, before: dict[str, Wire], after: dict[str, Wire], now: dict[str, Wire], stays: list[Path]
) -> list[Edit]:
    edits: list[Edit] = []
    for key in dict.fromkeys([*after, *before]):
        where = (*path, key)
        if key not in before:
            if key in now and now[key] == after[key]:
                edits.append(Edit("delete", format_path(where), old=now[key]))
            elif key in now:
                stays.append(where)
        elif key not in after:
            if key not in now:
                edits.append(Edit("set", format_path(where), before[key]))
        elif key in now:
            edits += _undone(where, before[key], after[key], now[key], stays)
    return edits


def _undone_items(path: Path, before: list[Wire], after: list[Wire], now: list[Wire], stays: list[Path]) -> list[Edit]:
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
            for edit in _undone((*path, index), old, new, now[index], stays)
        ]
    places: list[int] = []
    for item in come:  # each where it is now, in order
        index = next((i for i in range(places[-1] + 1 if places else 0, len(now)) if now[i] == item), None)
        if index is not None:
            places.append(index)
    if len(places) < len(come):
        stays.append(path)
    edits = [Edit("delete", format_path((*path, index)), old=now[index]) for index in reversed(places)]
    at = places[0] if places else start
    if gone and (places or not come) and at <= len(now):
        edits += [Edit("insert", format_path((*path, at + offset)), item) for offset, item in enumerate(gone)]
    return edits
