"""What two states have in common, place by place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt.codec.paths import format_path
from agent_tt.codec.text import summary
from agent_tt.codec.wire import is_envelope
from agent_tt.history.changes.diff import same
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.calls.messages import line_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from agent_tt.codec.wire import Path, Wire

_LONGEST = 400
"""Characters of a value that are shown."""


class Alike(NamedTuple):
    """One place with the same value in both states."""

    path: str
    value: Wire

    @property
    def said(self) -> str:
        """The value as safe text: a message as it reads, else the value on one line."""
        message = line_of(self.value)
        if message is None:
            return clean(summary(self.value, _LONGEST))
        who, what = message
        return f"{who} {what[:_LONGEST]}" if who else what[:_LONGEST]


def alike_places(a: Wire, b: Wire, changed: Collection[str] = ()) -> Iterator[Alike]:
    """Give the places at which two states hold equal values, in the order of the first state.

    Of a value that is equal as a whole only its own place is given, not those inside it.

    Of two states that are equal throughout these are their entries. Items of lists are looked for at their own places
    only: one that moved is a difference.

    Args:
        a: The one state.
        b: The other.
        changed: Paths that are shown as different: what is below them is not looked at.
    """
    return _below(a, b, (), frozenset(changed))


def _below(a: Wire, b: Wire, path: Path, changed: frozenset[str]) -> Iterator[Alike]:
    if path and same(a, b):
        yield Alike(format_path(path), a)
    elif path and format_path(path) in changed:
        return
    elif isinstance(a, dict) and isinstance(b, dict) and not is_envelope(a) and not is_envelope(b):
        for key, value in a.items():
            if key in b:
                yield from _below(value, b[key], (*path, key), changed)
    elif isinstance(a, list) and isinstance(b, list):
        for index, (one, other) in enumerate(zip(a, b, strict=False)):
            yield from _below(one, other, (*path, index), changed)
