"""Find why two runs diverge where they do; `divergence_reason` puts it into words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.comparing.runs.divergence_reason import (
    Deed,
    Reason,
    ReasonKind,
    differences,
    explain,
    explain_code,
    explain_edits,
    explain_input,
    explain_question,
)
from agent_tt.comparing.steps.moves import is_silent
from agent_tt.comparing.steps.updates import different_places
from agent_tt.comparing.values.states import Change
from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.comparing.runs.rows import Row
    from agent_tt.comparing.runs.run_view import RunView

__all__ = ["by_certainty", "reasons_to_part"]

_SURE: Final[tuple[ReasonKind, ...]] = ("edit", "code", "input", "question", "result")
"""The causes that are certain, the most certain first."""


def reasons_to_part(
    a: RunView, b: RunView, rows: Sequence[Row], parting: int | None, shared: int, moved: Sequence[tuple[int, int]]
) -> tuple[Reason, ...]:
    """List why two runs diverge: in their input, in what models were asked, at the step itself, or by a person's edit.

    What is certain to be a cause stands before what a model or an agent did because of it.

    Args:
        a: the one run.
        b: the other.
        rows: all rows of the comparison.
        parting: index of the row at which they part; None where they do not: then only what they began with
            and what their models were asked counts.
        shared: how many leading steps are one and the same.
        moved: steps that both took, at other places: (number in A, number in B).
    """
    began = None if shared else explain_input(_input_changes(a, b))
    found = [began, _first_question(a, b, rows, parting)]
    if parting is not None:
        acted = _first_act(a, b, rows, parting)
        row = rows[acted]
        found += [_ending(a, b, rows[acted:]) or _swap(a, b, rows, acted, moved) or _explain(a, b, row)]
        found += _made_by_people(a, b, shared)
    return tuple(by_certainty([reason for reason in found if reason is not None]))


def by_certainty(reasons: Sequence[Reason]) -> list[Reason]:
    """Sort reasons: causes that are certain come first, then what a model or an agent did because of them."""
    return sorted(reasons, key=lambda each: _SURE.index(each.kind) if each.kind in _SURE else len(_SURE))


def _first_act(a: RunView, b: RunView, rows: Sequence[Row], parting: int) -> int:
    """The row of the first difference that an agent made; that where they part, if all that differs are edits."""
    for index in range(parting, len(rows)):
        row = rows[index]
        if row.kind not in ("same", "pending") and not any(
            number is not None and side.by_number[number].facts.is_edit for side, number in ((a, row.a), (b, row.b))
        ):
            return index
    return parting


def _made_by_people(a: RunView, b: RunView, shared: int) -> Iterator[Reason | None]:
    # Edits count where they are the last thing before the runs went their own ways.
    for side, other in ((a, b), (b, a)):
        if _is_forked_at(side, shared):
            yield explain_edits(side.run, other.run if _is_forked_at(other, shared) else None, of_b=side is b)
    if shared:
        yield explain_code(a.run, b.run)


def _is_forked_at(side: RunView, step: int) -> bool:
    return side.run.parent is not None and side.run.fork_step == step


def _first_question(a: RunView, b: RunView, rows: Sequence[Row], parting: int | None) -> Reason | None:
    """The first thing that the models of both were not asked alike, up to where the runs part."""
    for row in rows if parting is None else rows[: parting + 1]:
        if row.a is None or row.b is None or not (a.did(row.a) and b.did(row.b)):
            continue
        if a.move(row.a).questions == b.move(row.b).questions:
            continue
        a.check()
        found = explain_question(*(Deed(side.by_number[n], side.calls(n)) for side, n in ((a, row.a), (b, row.b))))
        if found is not None:
            return found
    return None


def _input_changes(a: RunView, b: RunView) -> list[Change]:
    try:
        if a.source.digest(a.run.id, 0) == b.source.digest(b.run.id, 0) is not None:
            return []
        return differences(a.state(0), b.state(0))
    except AgentTTError:  # a damaged beginning must not hide what the steps did
        return []


def _explain(a: RunView, b: RunView, row: Row) -> Reason | None:
    one, other = (
        None if number is None else Deed(side.by_number[number], side.calls(number))
        for side, number in ((a, row.a), (b, row.b))
    )
    written: list[Change] = []
    if one is not None and other is not None and is_silent(one.calls) and is_silent(other.calls):
        places = different_places(a.updates(one.step), b.updates(other.step))
        written = _changes_at(a, b, one.step.number, other.step.number, places)
    return explain(one, other, written)


def _changes_at(a: RunView, b: RunView, step_a: int, step_b: int, places: Sequence[str]) -> list[Change]:
    """What the states hold at the places to which two steps wrote different things."""
    try:
        found = differences(a.state(step_a), b.state(step_b)) if places else []
    except AgentTTError:
        found = []
    return [
        next((change for change in found if _is_within(change.path, place)), Change("change", place))
        for place in places
    ]


def _is_within(path: str, place: str) -> bool:
    return not place or path == place or path.startswith((f"{place}.", f"{place}["))


def _ending(a: RunView, b: RunView, rows: Sequence[Row]) -> Reason | None:
    """Say so where one run was simply over at the first of these rows."""
    ends, first = (len(a.steps), len(b.steps)), rows[0]
    is_over = (not any(row.b for row in rows), not any(row.a for row in rows))
    for side, last, beyond, over in (("B", ends[1], first.a, is_over[0]), ("A", ends[0], first.b, is_over[1])):
        if over and (not last or beyond == last + 1):
            text = f"{side} ends after step {last}" if last else f"{side} took no step"
            return Reason("ending", text, *ends)
    return None


def _swap(a: RunView, b: RunView, rows: Sequence[Row], parting: int, moved: Sequence[tuple[int, int]]) -> Reason | None:
    """Say so where a step was taken by both, at different places; `swapped` where two of them changed places."""
    row = rows[parting]
    place_in_b, place_in_a = dict(moved), {number_b: number_a for number_a, number_b in moved}
    there, origin = place_in_b.get(row.a or 0), place_in_a.get(row.b or 0)
    if row.kind == "different" and there is not None and origin is not None:
        if _beside(rows, origin, there):
            return _swapped(a, row.a or 0, origin, there)
        return None
    for number_a, number_b in moved:
        if row.a != number_a and row.b != number_b:
            continue
        for way in (1, -1):
            passed_a, passed_b = a.beside(number_a, way), b.beside(number_b, -way)
            if passed_a is not None and passed_b is not None and passed_a.did == passed_b.did:
                return _swapped(a, number_a, passed_a.number, number_b)
        if row.kind == "different":  # then more is known than that
            return None
        title = a.move(number_a).title
        text = f"{title} is step {number_a} in A, step {number_b} in B"
        return Reason("moved", text, number_a, number_b, title, number_a, number_b)
    return None


def _swapped(a: RunView, step: int, with_step: int, there: int) -> Reason:
    """Two steps of A changed places: one of them, which is step `there` of B, and another."""
    first, second = sorted((step, with_step))
    names = [a.move(number).title for number in (first, second)]
    text = f"steps {first} and {second} are swapped in B: {names[0]}, {names[1]}"
    return Reason("swapped", text, step, there, a.move(step).title, step, there)


def _beside(rows: Sequence[Row], number_a: int, number_b: int) -> bool:
    """Whether a step of A and one of B stand at one place: in one row, or in two with nothing between."""
    at_a = next((at for at, row in enumerate(rows) if row.a == number_a), None)
    at_b = next((at for at, row in enumerate(rows) if row.b == number_b), None)
    return at_a is not None and at_b is not None and abs(at_a - at_b) <= 1
