"""Arguments that a person changed before a call goes out: made of what the agent gave, wherever that stayed the same.

A person sees arguments as JSON, with marks in place of secrets and text in place of what JSON cannot say. So only what
differs is made anew; beside it the agent's own objects go out, and no mark in place of a secret ever does.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.sameness import common_ends, identical
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.errors import UsageError
from agent_tt.redaction.marks import MARK, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.signature import Parameters

    Decode = Callable[[Wire], object]

__all__ = ["FunctionCall", "edited_value"]

_WITH_FIELDS: Final = frozenset({"dataclass", "pydantic"})


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """What a function is called with.

    Attributes:
        parameters: those of the function.
        args, kwargs: the arguments.
    """

    parameters: Parameters
    args: Sequence[object]
    kwargs: Mapping[str, object]

    def editable(self, named: Mapping[str, Wire]) -> tuple[str, ...]:
        """All of its arguments, where its parameters are known."""
        return self.parameters.editable(named)

    def edited(
        self, named: Mapping[str, Wire], changed: Mapping[str, Wire], decode: Decode
    ) -> tuple[Sequence[object], Mapping[str, object]]:
        """What it is called with where a person changed something."""
        args, kwargs = self.args, self.kwargs
        objects = self.parameters.objects(args, kwargs)
        for name, value in changed.items():
            live = edited_value(objects[name], named[name], value, decode, name)
            args, kwargs = self.parameters.replace(args, kwargs, name, live)
        return args, kwargs


def edited_value(live: Any, before: Wire, after: Wire, decode: Decode, path: str) -> object:
    """A value that a person changed.

    Args:
        live: the agent's own; it is left as it is.
        before: how the person saw it.
        after: what that was made.
        decode: makes Python values.
        path: where it stands, for messages.

    Raises:
        NotRebuildable: a value cannot become a Python object.
        UsageError: a mark in place of a secret would go out.
    """
    if identical(before, after):
        return live
    if isinstance(before, list) and isinstance(after, list) and type(live) is list and len(live) == len(before):
        return _edited_list(live, before, after, decode, path)
    if isinstance(before, dict) and isinstance(after, dict) and before.get(TYPE) == after.get(TYPE):
        if TYPE not in before and type(live) is dict:
            return {
                key: edited_value(live[key], before[key], value, decode, f"{path}.{key}")
                if key in before and key in live
                else _made(value, decode, f"{path}.{key}")
                for key, value in after.items()
            }
        first, last = before.get(VALUE), after.get(VALUE)
        is_same_class = before.get(TYPE) in _WITH_FIELDS and before.get("class") == after.get("class")
        if is_same_class and isinstance(first, dict) and isinstance(last, dict) and first.keys() == last.keys():
            return _edited_fields(live, first, last, decode, path)
    return _made(after, decode, path)


def _edited_list(live: list[object], before: list[Wire], after: list[Wire], decode: Decode, path: str) -> list[object]:
    """A list, of which the items at its beginning and end that stayed the same are the agent's own."""
    start, end = common_ends(before, after)
    is_as_long = len(before) == len(after)
    middle = [
        edited_value(live[index], before[index], after[index], decode, f"{path}[{index}]")
        if is_as_long
        else _made(after[index], decode, f"{path}[{index}]")
        for index in range(start, len(after) - end)
    ]
    return [*live[:start], *middle, *live[len(live) - end :]]


def _edited_fields(
    live: object, before: Mapping[str, Wire], after: Mapping[str, Wire], decode: Decode, path: str
) -> object:
    """A copy of an object with some fields changed. Nothing of its class runs but what `copy` asks."""
    changed = copy.copy(live)
    for name, value in after.items():
        if not identical(before[name], value):
            was = object.__getattribute__(live, name)
            object.__setattr__(changed, name, edited_value(was, before[name], value, decode, f"{path}.{name}"))
    return changed


def _made(wire: Wire, decode: Decode, path: str) -> object:
    where = _mark_in(wire, path)
    if where is not None:
        raise UsageError(
            f"{where} is a mark in place of a secret", hint="write the secret itself, or leave it unchanged"
        )
    return decode(wire)


def _mark_in(wire: Wire, path: str) -> str | None:
    """Where a mark stands in a value; None where none does."""
    if isinstance(wire, str):
        return path if MARK in canonical(wire) else None
    items: Sequence[tuple[str, Wire]] = ()
    if isinstance(wire, list):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(wire)]
    elif isinstance(wire, dict):
        items = [(f"{path}.{key}", item) for key, item in wire.items()]
    return next((found for below, item in items if (found := _mark_in(item, below)) is not None), None)
