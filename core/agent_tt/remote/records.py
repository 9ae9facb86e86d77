"""The model's objects as JSON, and back: with every field, so that a client sees what the server does."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent_tt.errors import StoreUnreadable
from agent_tt.model import AgentCode, Call, Edit, ErrorInfo, ModelConfig, Run, Step
from agent_tt.questions import CallQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["read", "read_all", "written"]

T = TypeVar("T")


def written(record: object) -> Any:
    """A record, or several, as JSON: fields that are as they are by default are left out."""
    if isinstance(record, list | tuple):
        return [written(each) for each in record]
    return _object(record) if _is_record(record) else record


def _is_record(value: object) -> bool:
    return hasattr(type(value), "__dataclass_fields__")


def _object(record: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.default is not MISSING and value == field.default and type(value) is type(field.default):
            continue
        if isinstance(value, tuple) and value and _is_record(value[0]):
            value = [_object(each) for each in value]
        elif _is_record(value):
            value = _object(value)
        elif isinstance(value, tuple):
            value = [*value]
        elif not isinstance(value, dict | list) and hasattr(value, "items"):
            value = dict(value)
        found[field.name] = value
    return found


def _one(kind: type[Any]) -> Callable[[Any], Any]:
    return lambda given: None if given is None else read(kind, given)


def _edits(given: Any) -> tuple[Edit, ...]:
    return tuple(read(Edit, each) for each in given)


_PARTS: Final[Mapping[type[Any], Mapping[str, Callable[[Any], Any]]]] = {
    Run: {
        "code": _one(AgentCode),
        "model": _one(ModelConfig),
        "error": _one(ErrorInfo),
        "edits": _edits,
        "tags": tuple,
        "former_names": tuple,
    },
    Step: {"error": _one(ErrorInfo)},
    Call: {"error": _one(ErrorInfo)},
    CallQuestion: {"editable": tuple},
}
"""Fields of records that are no JSON themselves, and what reads them."""


def read(kind: type[T], given: Any) -> T:
    """A record of JSON; what a newer server says beside is left out.

    Raises:
        StoreUnreadable: it is none.
    """
    parts = _PARTS.get(kind, {})
    try:
        known = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # each of them is a record
        return kind(**{name: parts.get(name, _as_is)(value) for name, value in given.items() if name in known})
    except (TypeError, AttributeError, ValueError) as error:
        raise StoreUnreadable(f"the server answered what is no {kind.__name__.lower()}: {error}") from error


def read_all(kind: type[T], given: Any) -> list[T]:
    """Several records.

    Raises:
        StoreUnreadable: they are none.
    """
    if not isinstance(given, list):
        raise StoreUnreadable(f"the server answered what is no list of {kind.__name__.lower()}s")
    return [read(kind, each) for each in given]


def _as_is(value: Any) -> Any:
    return value
