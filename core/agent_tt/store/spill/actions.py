"""What a recorder says, as JSON and back. What is read was written by us, and may have been changed since."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from agent_tt.errors import Damaged
from agent_tt.model import AgentCode, CallEnd, ErrorInfo, ModelConfig, NewCall, NewRun, NewStep, StepEnd
from agent_tt.store import ingest_filter

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = [
    "admitted_call", "admitted_end", "admitted_run", "admitted_step", "admitted_step_end", "from_wire",
    "settled_from", "to_wire",
]  # fmt: skip

T = TypeVar("T")

_INSIDE: Final[dict[str, type]] = {"error": ErrorInfo, "code": AgentCode, "model": ModelConfig}
"""Fields that hold another object of the model."""


def to_wire(said: object) -> Wire:
    """An object of `agent_tt.model` that says what a recorder said, field by field."""
    shown: dict[str, Wire] = {}
    for field in fields(said):  # type: ignore[arg-type]  # a dataclass
        value = getattr(said, field.name)
        if field.name in _INSIDE and value is not None:
            value = to_wire(value)
        shown[field.name] = list(value) if isinstance(value, tuple) else value
    return shown


def from_wire(kind: type[T], found: Wire) -> T:
    """What `to_wire` gave, as it was.

    Raises:
        Damaged: it is something else.
    """
    if not isinstance(found, dict):
        raise Damaged(f"a line of a spill file holds no {kind.__name__}")
    values: dict[str, Any] = {}
    for name, value in found.items():
        inside = _INSIDE.get(name)
        values[name] = from_wire(inside, value) if inside is not None and value is not None else value
    if kind is NewRun:
        values["tags"] = tuple(values.get("tags") or ())
    if kind is CallEnd:
        values["settled"] = settled_from(values.get("settled"))
    try:
        return kind(**values)
    except TypeError as error:
        raise Damaged(f"a line of a spill file holds no {kind.__name__}: {error}") from None


def settled_from(found: Wire) -> tuple[tuple[int, Wire], ...]:
    """What is kept of pieces that were held back, by their places.

    Raises:
        Damaged: it is something else.
    """
    settled: list[tuple[int, Wire]] = []
    for pair in found if isinstance(found, list) else []:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int or pair[0] < 0:
            raise Damaged("a line of a spill file holds no pieces of a stream")
        settled.append((pair[0], pair[1]))
    return tuple(settled)


# -------------------------------------------------------------- without secrets, as the store's own filter leaves them


def admitted_run(new: NewRun) -> Wire:
    """A run that begins."""
    shown = cast("dict[str, Wire]", to_wire(new))
    return {
        **shown,
        "name": ingest_filter.admit_text(new.name),
        "user_id": None if new.user_id is None else ingest_filter.admit_text(new.user_id),
        "tags": [ingest_filter.admit_text(tag) for tag in new.tags],
        "metadata": ingest_filter.admit_mapping(new.metadata),
    }


def admitted_step(new: NewStep) -> Wire:
    """A step that opens."""
    shown = cast("dict[str, Wire]", to_wire(new))
    texts = {
        name: None if (text := shown[name]) is None else ingest_filter.admit_text(str(text))
        for name in ("name", "agent")
    }
    return {**shown, **texts}


def admitted_step_end(end: StepEnd) -> Wire:
    """A step that closes."""
    shown = cast("dict[str, Wire]", to_wire(end))
    return {
        **shown,
        "error": None if end.error is None else to_wire(ingest_filter.admit_error(end.error)),
        "decision": None if end.decision is None else ingest_filter.admit_text(end.decision),
        "extra": ingest_filter.admit_mapping(end.extra),
    }


def admitted_call(new: NewCall) -> Wire:
    """A call that begins."""
    shown = cast("dict[str, Wire]", to_wire(new))
    return {
        **shown,
        "name": ingest_filter.admit_text(new.name),
        "args": ingest_filter.admit(new.args),
        "meta": ingest_filter.admit_mapping(new.meta),
    }


def admitted_end(end: CallEnd) -> Wire:
    """What came back from a call."""
    shown = cast("dict[str, Wire]", to_wire(end))
    return {
        **shown,
        "result": ingest_filter.admit_answer(end.result),
        "error": None if end.error is None else to_wire(ingest_filter.admit_error(end.error)),
        "meta": ingest_filter.admit_mapping(end.meta),
        "returned": ingest_filter.admit_answer(end.returned),
    }
