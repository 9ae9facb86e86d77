"""Wire values to Python values. Nothing is imported and no code of the user's is called.

A class is used only if the caller offers it in `types`, and its objects are made without `__init__`. What cannot be
rebuilt raises `NotRebuildable`, or, where lenience is asked for, stays as it is on the wire, as a `Typed`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from agent_tt.codec.builtin_values import BUILTIN
from agent_tt.codec.class_values import CLASSES
from agent_tt.codec.paths import format_path
from agent_tt.codec.refusal import NeedsClass, Refusal
from agent_tt.codec.wire import TYPE, VALUE, envelope_type, is_envelope
from agent_tt.errors import NotRebuildable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Path, Wire

__all__ = ["Typed", "check_envelopes", "decode"]

_DEEPEST: Final = 250
"""Wire values nested deeper than this were not made by the encoder."""

_SHOWN_ONLY: Final = {
    "opaque": "it was recorded only as text",
    "made": "it was made by a constructor that only its own system may call",
}


class Typed(dict[str, object]):
    """An envelope that could not be rebuilt, in the place of the value it stands for: `$type`, `$v` and the rest."""


class _Mode(Enum):
    STRICT = "everything must be rebuilt"
    LENIENT = "what cannot be rebuilt becomes a Typed"
    CHECK = "only envelopes that are not well formed are refused"


def decode(wire: Wire, types: Mapping[str, type] | None = None, *, lenient: bool = False) -> object:
    """Decode a wire value as a Python value.

    Args:
        wire: the wire value; the result shares no container with it.
        types: the classes that may be used, by `module:Qualified.Name`.
        lenient: give a `Typed` where something cannot be rebuilt, instead of raising.

    Raises:
        NotRebuildable: something cannot be rebuilt; the message names its path.
    """
    return _Decoder({} if types is None else types, _Mode.LENIENT if lenient else _Mode.STRICT).run(wire)


def check_envelopes(wire: Wire) -> None:
    """Check that every envelope in a wire value is one that the encoder could have written.

    Raises:
        NotRebuildable: one is not; the message names its path.
    """
    _Decoder({}, _Mode.CHECK).run(wire)


class _Decoder:
    """One decoding: the classes on offer, and the path that has been walked down to."""

    __slots__ = ("_mode", "_path", "types")

    def __init__(self, types: Mapping[str, type], mode: _Mode) -> None:
        self.types = types
        self._mode = mode
        self._path: list[str | int] = []

    def run(self, wire: Wire) -> object:
        try:
            return self.decode(wire)
        except RecursionError as error:
            raise self._error("list", "it is nested too deeply") from error

    def decode(self, wire: Wire) -> object:
        kind = type(wire)
        if kind is list:
            return self.items(wire)
        if kind is not dict:
            return wire
        if is_envelope(wire):
            return self._envelope(wire)
        return {key: self.part(item, key) for key, item in wire.items()}  # type: ignore[union-attr]

    def part(self, wire: Wire, *steps: str | int) -> object:
        """Decode something that lies `steps` below."""
        if type(wire) is not list and type(wire) is not dict:
            return wire
        before = len(self._path)
        self._path += steps
        if before >= _DEEPEST:
            raise self._error("list", "it is nested deeper than anything that is recorded")
        value = self.decode(wire)
        del self._path[before:]
        return value

    def items(self, wire: Wire) -> list[object]:
        """Decode a list, whatever it stands for."""
        if type(wire) is not list:
            raise Refusal("its payload is not a list")
        return [self.part(item, index) for index, item in enumerate(wire)]

    def pairs(self, wire: Wire) -> list[tuple[object, object]]:
        """Decode `[[key, value], ...]`."""
        if type(wire) is not list:
            raise Refusal("its payload is not a list of pairs")
        found = []
        for index, pair in enumerate(wire):
            if type(pair) is not list or len(pair) != 2:
                raise Refusal("its payload is not a list of pairs")
            found.append((self.part(pair[0], index, 0), self.part(pair[1], index, 1)))
        return found

    def offered(self, envelope: dict[str, Wire]) -> type:
        """The class that an envelope names, if the caller offers it."""
        name = envelope.get("class")
        if type(name) is not str:
            raise Refusal("it names no class")
        found = self.types.get(name)
        if found is None:
            raise NeedsClass(f"its class {name} is not offered")
        return found

    def _envelope(self, wire: dict[str, Wire]) -> object:
        before = len(self._path)
        try:
            return self._rebuilt(wire)
        except NotRebuildable:
            raise
        except Exception as error:
            # The payload may be anything and so may what a constructor of the standard library says to it.
            tolerated = self._mode is _Mode.LENIENT or (self._mode is _Mode.CHECK and isinstance(error, NeedsClass))
            if tolerated:
                return Typed(wire)
            del self._path[before:]
            why = str(error) if isinstance(error, Refusal) else f"its payload is damaged ({type(error).__name__})"
            raise self._error(wire.get("class", wire[TYPE]), why) from error
        finally:
            del self._path[before:]

    def _rebuilt(self, wire: dict[str, Wire]) -> object:
        kind = envelope_type(wire)
        if kind is None or VALUE not in wire:
            raise Refusal("it is not an envelope")
        if kind in _SHOWN_ONLY:
            raise NeedsClass(_SHOWN_ONLY[kind])
        rule = BUILTIN.get(kind) or CLASSES.get(kind)
        if rule is None:
            raise Refusal(f"this version does not know values of type {kind!r}")
        self._path.append(VALUE)
        return rule(wire, wire[VALUE], self)

    def _error(self, name: Wire, why: str) -> NotRebuildable:
        path: Path = tuple(self._path)
        shown = format_path(path) or "the value"
        class_name = name[:200] if type(name) is str else "unknown"
        what = "is not a well-formed typed value" if self._mode is _Mode.CHECK else "cannot be rebuilt"
        hint = "Offer its class, or edit the value at that path into plain data."
        return NotRebuildable(f"{shown} {what}: {why}", path=shown, class_name=class_name, hint=hint)
