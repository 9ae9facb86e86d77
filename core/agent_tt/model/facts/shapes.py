"""The shapes of facts that several records use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.model.facts.fact import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire

__all__ = [
    "LIST",
    "NUMBER",
    "OBJECT",
    "PLACE",
    "PLACES",
    "TEXT",
    "TEXTS",
    "TEXT_BY_NAME",
    "TRUTH",
    "VALUE",
    "WHOLE",
    "Place",
    "place_said",
]

Place: TypeAlias = tuple[int, int]
"""A call of a run: its step, and its number in there."""


def _text(found: Wire) -> str | None:
    return found if isinstance(found, str) else None


def _whole(found: Wire) -> int | None:
    return found if type(found) is int else None


def _number(found: Wire) -> float | None:
    return found if type(found) in (int, float) else None  # type: ignore[return-value]


def _object(found: Wire) -> Mapping[str, Wire]:
    return found if isinstance(found, dict) else {}


def _list(found: Wire) -> list[Wire]:
    return found if isinstance(found, list) else []


def _texts(found: Wire) -> tuple[str, ...]:
    return tuple(text for text in found if isinstance(text, str)) if isinstance(found, list) else ()


def _text_by_name(found: Wire) -> dict[str, str]:
    items = found.items() if isinstance(found, dict) else ()
    return {name: text for name, text in items if isinstance(text, str)}


def place_said(found: object) -> Place | None:
    """The place that `{"step": 3, "call": 1}` names; None where it names none."""
    if not isinstance(found, dict):
        return None
    step, number = found.get("step"), found.get("call")
    return (step, number) if isinstance(step, int) and isinstance(number, int) else None


def _place_to_wire(place: Place | None) -> Wire:
    return None if place is None else {"step": place[0], "call": place[1]}


def _places(found: Wire) -> frozenset[Place]:
    pairs = found if isinstance(found, list) else []
    return frozenset(
        (pair[0], pair[1])
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], int) and isinstance(pair[1], int)
    )


def _names(found: Sequence[str]) -> Wire:
    return [*found]


TEXT: Final[Shape[str | None]] = Shape("text", _text)
WHOLE: Final[Shape[int | None]] = Shape("whole number", _whole)
NUMBER: Final[Shape[float | None]] = Shape("number", _number)
TRUTH: Final[Shape[bool | None]] = Shape("true or false", lambda found: found if isinstance(found, bool) else None)
VALUE: Final[Shape[Wire]] = Shape("any value", lambda found: found)
OBJECT: Final[Shape[Mapping[str, Wire]]] = Shape("object", _object, dict)
LIST: Final[Shape[list[Wire]]] = Shape("list", _list)
TEXTS: Final[Shape[tuple[str, ...]]] = Shape("list of texts", _texts, _names)
TEXT_BY_NAME: Final[Shape[dict[str, str]]] = Shape("object of texts", _text_by_name, dict)
PLACE: Final[Shape[Place | None]] = Shape('`{"step", "call"}`', place_said, _place_to_wire)
PLACES: Final[Shape[frozenset[Place]]] = Shape(
    "list of `[step, call]`", _places, lambda places: [[*place] for place in sorted(places)]
)
