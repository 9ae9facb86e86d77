"""How the model's objects are kept in columns, and read back from a file that may hold anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from agent_tt.history.payloads.payload import pack
from agent_tt.model import ErrorInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallStatus, Effect, RunStatus, StepStatus

__all__ = [
    "ANY",
    "COUNT",
    "NAME",
    "NUMBER",
    "TEXT",
    "WHOLE",
    "Kind",
    "call_status",
    "draft_of",
    "effect",
    "error_from_text",
    "error_to_text",
    "fitted",
    "integer",
    "mapping_from_text",
    "mapping_to_text",
    "run_status",
    "sound",
    "sound_tree",
    "step_status",
    "text",
]

_RUN_STATUSES: Final[Mapping[object, RunStatus]] = {
    "running": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "interrupted": "interrupted",
    "crashed": "crashed",
    "unknown": "unknown",
}
_STEP_STATUSES: Final[Mapping[object, StepStatus]] = {
    "running": "running",
    "ok": "ok",
    "error": "error",
    "interrupted": "interrupted",
}
_EFFECTS: Final[Mapping[object, Effect]] = {"read": "read", "write": "write"}
_CALL_STATUSES: Final[Mapping[object, CallStatus]] = {
    "pending": "pending",
    "ok": "ok",
    "error": "error",
    "denied": "denied",
}


def run_status(found: object) -> RunStatus:
    """A run's status; what is none counts as crashed."""
    return _RUN_STATUSES.get(found, "crashed")


def step_status(found: object) -> StepStatus:
    """A step's status; what is none counts as interrupted."""
    return _STEP_STATUSES.get(found, "interrupted")


def effect(found: object) -> Effect | None:
    """What a call does to the world, None where that is not known."""
    return _EFFECTS.get(found)


def call_status(found: object) -> CallStatus:
    """A call's status; what is none counts as pending, the outcome unknown."""
    return _CALL_STATUSES.get(found, "pending")


class Kind(NamedTuple):
    """What a column is made to hold.

    Attributes:
        types: the types that it may give.
        otherwise: what is shown in place of anything else.
    """

    types: frozenset[type]
    otherwise: str | int | None = None


ANY: Final = Kind(frozenset({bool, bytes, float, int, str, type(None)}))
"""For columns that are read further, with care."""
WHOLE: Final = Kind(frozenset({int}), -1)
COUNT: Final = Kind(frozenset({int, type(None)}))
NUMBER: Final = Kind(frozenset({int, float, type(None)}))
TEXT: Final = Kind(frozenset({str, type(None)}))
NAME: Final = Kind(frozenset({str}), "")


def fitted(rows: Sequence[Sequence[Any]], kinds: Sequence[Kind]) -> Sequence[Sequence[Any]]:
    """Rows whose columns hold what they are made for: SQLite lets any column hold any type.

    As good as free where they do: a column is looked at at once, at the speed of C.
    """
    for column, kind in zip(zip(*rows, strict=True), kinds, strict=bool(rows)):
        if kind is not ANY and not set(map(type, column)) <= kind.types:
            break
    else:
        return rows
    return [
        tuple(value if type(value) in kind.types else kind.otherwise for value, kind in zip(row, kinds, strict=True))
        for row in rows
    ]


def text(found: object) -> str | None:
    """A text, or None."""
    return found if isinstance(found, str) else None


def integer(found: object) -> int | None:
    """A whole number, or None."""
    return found if type(found) is int else None


def mapping_to_text(facts: Mapping[str, Wire]) -> str | None:
    """Facts as a JSON column: without those that are None, NULL when none are left."""
    kept: dict[str, Wire] = {name: value for name, value in facts.items() if value is not None}
    if not kept:
        return None
    try:
        return pack(kept).decode()
    except UnicodeEncodeError:  # the name of a file may hold bytes that are not UTF-8
        return pack(sound_tree(kept)).decode()


def sound_tree(value: Wire) -> Wire:
    """A value whose texts are without lone surrogates, which UTF-8 cannot hold."""
    if isinstance(value, dict):
        return {sound(key): sound_tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return [sound_tree(item) for item in value]
    return sound(value) if isinstance(value, str) else value


def mapping_from_text(found: object) -> dict[str, Wire]:
    """The facts of a JSON column; empty where it holds none."""
    if not isinstance(found, str):
        return {}
    try:
        facts = orjson.loads(found)
    except orjson.JSONDecodeError:
        return {}
    return facts if isinstance(facts, dict) else {}


def error_to_text(error: ErrorInfo | None) -> str | None:
    """An exception as a JSON column."""
    if error is None:
        return None
    return mapping_to_text(
        {
            "class": error.class_name,
            "message": sound(error.message),
            "traceback": sound(error.traceback) or None,
            "value": error.value,
        }
    )


def error_from_text(found: object) -> ErrorInfo | None:
    """The exception of a JSON column."""
    if found is None:
        return None
    facts = mapping_from_text(found)
    return ErrorInfo(
        class_name=text(facts.get("class")) or "builtins:Exception",
        message=text(facts.get("message")) or "",
        traceback=text(facts.get("traceback")) or "",
        value=facts.get("value"),
    )


def sound(words: str) -> str:
    """`words` without lone surrogates, which UTF-8 cannot hold."""
    return words if words.isascii() else words.encode("utf-8", "backslashreplace").decode()


def draft_of(kind: type) -> type:
    """A class of objects whose fields can be set one by one, until `__class__ = kind` makes each what it stands for.

    The constructor of a frozen dataclass sets each field through a function: half of what listing a long run would
    cost. Two classes with the same slots may stand in for each other.
    """
    return type(f"{kind.__name__}Draft", (), {"__slots__": kind.__slots__})  # type: ignore[attr-defined]
