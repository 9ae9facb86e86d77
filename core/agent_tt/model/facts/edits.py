"""Edits as JSON: those of a fork, and those of a state that were made while its agent was held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from agent_tt.model.edits import Edit
from agent_tt.model.facts.fact import Fact, Facts, Shape
from agent_tt.model.facts.shapes import TEXT, VALUE, WHOLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model.kinds import EditTarget

__all__ = ["EDITS", "EditFacts"]

_OPS: Final[Mapping[str | None, Literal["set", "insert", "delete", "move", "mute"]]] = {
    "set": "set",
    "insert": "insert",
    "delete": "delete",
    "move": "move",
    "mute": "mute",
}
_TARGETS: Final[Mapping[str | None, EditTarget]] = {
    None: "state",
    "state": "state",
    "result": "result",
    "error": "error",
    "answer": "answer",
    "system": "system",
    "model": "model",
    "parameter": "parameter",
    "step": "step",
}


class EditFacts(Facts):
    """The fields of `Edit`."""

    __slots__ = ()

    op = Fact(TEXT, "`set`, `insert`, `delete`, `move`, or `mute` of a step")
    path = Fact(TEXT, "inside of what is changed; the name of a parameter")
    value = Fact(VALUE, "the new value")
    old = Fact(VALUE, "the value that was there")
    to = Fact(TEXT, "where a move leads")
    target = Fact(
        TEXT, "`state` where absent; `result`, `error` or `answer` of a call, `system`, `model`, `parameter`, `step`"
    )
    step = Fact(WHOLE, "the step whose call it is, that is muted, or after which the state is changed")
    call = Fact(WHOLE, "the number of the call in that step")


def _edits(found: Wire) -> tuple[Edit, ...]:
    if not isinstance(found, list):
        return ()
    every = (EditFacts(said) for said in found if isinstance(said, dict))
    return tuple(edit for said in every if (edit := _edit(said)) is not None)


def _edit(said: EditFacts) -> Edit | None:
    """The edit; None of one of something that this version does not know."""
    op, target = _OPS.get(said.op), _TARGETS.get(said.target or None)
    if op is None or target is None:
        return None
    return Edit(op, said.path or "", said.value, said.old, said.to, target, said.step, said.call)


def _edits_to_wire(edits: tuple[Edit, ...]) -> Wire:
    return [_edit_to_wire(edit) for edit in edits] or None


def _edit_to_wire(edit: Edit) -> Wire:
    facts: dict[str, Wire] = {"op": edit.op, "path": edit.path, "value": edit.value, "old": edit.old, "to": edit.to}
    if edit.target != "state":
        facts |= EditFacts.target.entry(edit.target)
    return facts | {key: fact for key, fact in (("step", edit.step), ("call", edit.call)) if fact is not None}


EDITS: Final[Shape[tuple[Edit, ...]]] = Shape("list of objects", _edits, _edits_to_wire, EditFacts)
