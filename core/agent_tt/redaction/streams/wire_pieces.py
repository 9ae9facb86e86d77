"""Pieces of a stream that are values, without secrets: judged joined, as a whole that came at once would be."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.model import HELD_BACK, Judged
from agent_tt.redaction.own import OWN
from agent_tt.redaction.streams.channels import Channels, leaves_of, named_leaves
from agent_tt.redaction.texts import given_text
from agent_tt.redaction.values import given_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["WirePieces"]


class WirePieces:
    """The pieces of one stream.

    Attributes:
        shown: what is kept of each piece, in order; of one that waits None.
    """

    def __init__(self) -> None:
        self._channels = Channels()
        self._waiting: dict[int, _Piece] = {}
        self.shown: list[Wire] = []

    def take(self, piece: Wire) -> Judged:
        """Take the next piece; what of it, and of those before it, is kept.

        Args:
            piece: the piece.
        """
        number = len(self.shown)
        self.shown.append(None)
        self._waiting[number] = held = _Piece(piece, number)
        held.feed(self._channels)
        settled = dict(self._settle())
        now = settled.pop(number, HELD_BACK)
        return Judged(now, tuple(settled.items()))

    def end(self) -> tuple[tuple[int, Wire], ...]:
        """Nothing more comes: what is kept of the pieces that wait, by their places in the stream."""
        self._channels.end()
        return self._settle()

    def _settle(self) -> tuple[tuple[int, Wire], ...]:
        open_pieces = {part.number for part, _ in self._channels.open_parts if isinstance(part, _Text)}
        settled = [number for number in self._waiting if number not in open_pieces]
        for number in settled:
            self.shown[number] = self._waiting.pop(number).shown()
        return tuple((number, self.shown[number]) for number in settled)


class _Piece:
    def __init__(self, value: Wire, number: int) -> None:
        self._value = value
        self._number = number
        self._texts: list[_Text] = []
        self._named: dict[tuple[str | int, ...], str | float] = {}

    def feed(self, channels: Channels) -> None:
        """Feed each text of the piece to the channel that joins it with those of other pieces."""
        self._named = named_leaves(self._value)
        for leaf in leaves_of(self._value):
            if isinstance(leaf.held, str) and leaf.path not in self._named:
                text = _Text(self._number, leaf.path, *_said(self._value, leaf.path, leaf.held))
                self._texts.append(text)
                channels.feed(leaf.key, text.held, text)

    def shown(self) -> Wire:
        """The value with what is covered in it."""
        shown = self._value
        for path, held in self._named.items():
            shown = _with(shown, path, held)
        for text in self._texts:
            text.judge_alone()
            if text.is_covered:
                shown = _with(shown, text.path, text.shown())
        return given_keys(shown)


class _Text:
    """A text in a piece.

    Attributes:
        number: of the piece.
        path: where it stands in there.
        held: what it says.
        is_covered: whether something is covered in it.
    """

    __slots__ = ("_is_packed", "held", "is_covered", "number", "path")

    def __init__(self, number: int, path: tuple[str | int, ...], held: str, is_packed: bool) -> None:  # noqa: FBT001
        self.number = number
        self.path = path
        self.held = held
        self.is_covered = False
        self._is_packed = is_packed

    def raw(self, start: int, end: int) -> str:
        """See `Part`."""
        return self.held[start:end]

    def size(self, start: int, end: int) -> int:
        """See `Part`."""
        return end - start

    def cover(self, start: int, end: int, shown: str) -> None:
        """See `Part`."""
        self.held = self.held[:start] + shown + self.held[end:]
        self.is_covered = True

    def judge_alone(self) -> None:
        """Cover what is told in the piece alone: a stream of values has nothing between them that parts them."""
        alone = given_text(self.held) if OWN else self.held
        if alone != self.held:
            self.cover(0, len(self.held), alone)

    def shown(self) -> str:
        """The text as it stands in the piece."""
        return base64.b64encode(self.held.encode("latin-1")).decode() if self._is_packed else self.held


def _said(value: Wire, path: tuple[str | int, ...], held: str) -> tuple[str, bool]:
    """What a text says; of one that packs bytes, those, one a character."""
    holder = value
    for part in path[:-1]:
        holder = holder[part]  # type: ignore[index]
    if path[-1:] == (VALUE,) and isinstance(holder, dict) and holder.get(TYPE) in ("bytes", "bytearray"):
        try:
            return base64.b64decode(held).decode("latin-1"), True
        except (ValueError, binascii.Error):
            return held, False
    return held, False


def _with(value: Wire, path: Sequence[str | int], held: Wire) -> Wire:
    if not path:
        return held
    name, *rest = path
    if isinstance(value, list) and isinstance(name, int):
        return [*value[:name], _with(value[name], rest, held), *value[name + 1 :]]
    if isinstance(value, dict) and isinstance(name, str):
        return {**value, name: _with(value[name], rest, held)}
    return value
