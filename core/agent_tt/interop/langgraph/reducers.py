"""How writes to a channel are combined with its value, as far as a thread shows it.

The function that does it is the graph's own and not in the file. What is there are examples: a value, what was written,
and the value after that. Of the few ways in which nearly all graphs combine, those that explain every example are kept;
where they agree on a value it is taken, else it is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.fields import fields_of
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import TYPE, VALUE, envelope_type, is_envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["Example", "combined", "overwritten"]

_OVERWRITE: Final = "__overwrite__"
_REMOVE_ALL: Final = "__remove_all__"


@dataclass(frozen=True, slots=True)
class Example:
    """What became of a channel once.

    Attributes:
        before: its value; None where it had none.
        writes: what was written to it, in order.
        after: its value after that.
    """

    before: Wire
    writes: Sequence[Wire]
    after: Wire


class _Unknown(Exception):
    """A way of combining does not apply."""


def combined(before: Wire, writes: Sequence[Wire], examples: Iterable[Example]) -> tuple[Wire] | None:
    """The value after some writes, alone in a tuple; None where the examples do not show it.

    Args:
        before: the value before; None where there was none.
        writes: what is written, in order.
        examples: what became of the channel at other times.
    """
    start = next((at for at in range(len(writes), 0, -1) if overwritten(writes[at - 1]) is not None), 0)
    if start:
        (before,) = overwritten(writes[start - 1]) or (None,)
    writes = writes[start:]
    if not writes:
        return (before,)
    ways = _ways_shown(examples)
    found: list[Wire] = []
    for way in ways:
        try:
            found.append(way(before, writes))
        except _Unknown:
            return None
    if not found or any(tlv(each) != tlv(found[0]) for each in found[1:]):
        return None
    return (found[0],)


def overwritten(write: Wire) -> tuple[Wire] | None:
    """What an `Overwrite` puts in place of a channel's value, alone in a tuple; None for any other write."""
    fields = fields_of(write)
    if fields is None or not isinstance(write, dict):
        return None
    if write.get("class") == "langgraph.types:Overwrite" or fields.get("type") == _OVERWRITE:
        return (fields["value"],) if "value" in fields else None
    return (fields[_OVERWRITE],) if len(fields) == 1 and _OVERWRITE in fields else None


def _ways_shown(examples: Iterable[Example]) -> list[Callable[[Wire, Sequence[Wire]], Wire]]:
    """The ways of combining that explain every example; none where no example combined two values."""
    ways: list[Callable[[Wire, Sequence[Wire]], Wire]] = list(_WAYS)
    telling = False
    for example in examples:
        if not example.writes or any(overwritten(write) is not None for write in example.writes):
            continue
        telling |= len(example.writes) + (example.before not in (None, [], {})) > 1
        ways = [way for way in ways if _explains(way, example)]
    return ways if telling else []


def _explains(way: Callable[[Wire, Sequence[Wire]], Wire], example: Example) -> bool:
    try:
        made = way(example.before, example.writes)
    except _Unknown:
        return False
    if tlv(made) == tlv(example.after):
        return True
    after = example.after
    if not isinstance(made, list) or not isinstance(after, list) or len(made) != len(after):
        return False
    return all(_same_but_for_id(item, other) for item, other in zip(made, after, strict=True))


def _same_but_for_id(made: Wire, stored: Wire) -> bool:
    """Whether a message is as it was stored: one that was written without an id was given one then."""
    fields, other = fields_of(made), fields_of(stored)
    if tlv(made) == tlv(stored):
        return True
    if fields is None or other is None or fields.get("id") is not None or "content" not in fields:
        return False
    return all(tlv(value) == tlv(other.get(name)) for name, value in fields.items() if name not in ("id", "type"))


def _last(_before: Wire, writes: Sequence[Wire]) -> Wire:
    return writes[-1]


def _appended(before: Wire, writes: Sequence[Wire]) -> Wire:
    found: list[Wire] = []
    for part in ([] if before is None else before, *writes):
        if not isinstance(part, list):
            raise _Unknown
        found += part
    return found


def _messages(before: Wire, writes: Sequence[Wire]) -> Wire:
    """As LangGraph's `add_messages`: one with an id that is there takes its place, others are appended."""
    found = [] if before is None else before
    if not isinstance(found, list):
        raise _Unknown
    kept: dict[object, Wire] = {_name(message) or object(): message for message in found}
    for write in writes:
        for message in write if isinstance(write, list) else [write]:
            fields = fields_of(message)
            if fields is None or "content" not in fields:
                raise _Unknown
            name = _name(message) or object()
            if fields.get("type") != "remove":
                kept[name] = message
            elif name == _REMOVE_ALL:
                kept = {}
            elif kept.pop(name, None) is None:
                raise _Unknown
    return list(kept.values())


def _name(message: Wire) -> str | None:
    name = (fields_of(message) or {}).get("id")
    return name if isinstance(name, str) else None


def _merged(before: Wire, writes: Sequence[Wire]) -> Wire:
    found: dict[str, Wire] = {}
    for part in ({} if before is None else before, *writes):
        if not isinstance(part, dict) or is_envelope(part):
            raise _Unknown
        found |= part
    return found


def _summed(before: Wire, writes: Sequence[Wire]) -> Wire:
    found: int | float = 0
    for part in (0 if before is None else before, *writes):
        if isinstance(part, bool) or not isinstance(part, int | float):
            raise _Unknown
        found += part
    return found


def _united(before: Wire, writes: Sequence[Wire]) -> Wire:
    parts = [part for part in (before, *writes) if part is not None]
    items: dict[bytes, Wire] = {}
    for part in parts:
        content = part.get(VALUE) if isinstance(part, dict) and envelope_type(part) == "set" else None
        if not isinstance(content, list):
            raise _Unknown
        items |= {tlv(item): item for item in content}
    return {TYPE: "set", VALUE: [items[key] for key in sorted(items)]}


_WAYS: Final = (_last, _appended, _messages, _merged, _summed, _united)
"""The last one wins, lists are joined, messages replace by id, objects are merged, numbers added, sets united."""
