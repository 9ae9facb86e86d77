"""Texts that come in parts, spread over the pieces of a stream: searched for secrets joined, and split again."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt.codec.wire import TYPE
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import KEYED
from agent_tt.redaction.marks import same_digits
from agent_tt.redaction.streams.growing import Growing
from agent_tt.redaction.texts import redact_text
from agent_tt.redaction.values import given_by_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.redaction.spans import Span

__all__ = ["Channel", "Channels", "Leaf", "Part", "leaves_of", "named_leaves"]

_MOST: Final = 2000
"""Texts of one stream that are joined; what a stream with more of them brings is judged by itself."""
_KINDS: Final = frozenset(
    {"id", "object", "model", "type", "role", "status", "event", "obfuscation", "finish_reason", "stop_reason"}
    | {"system_fingerprint", "service_tier", "class", TYPE}
)
"""Fields that say what a piece is; nobody joins them."""
Key = tuple[object, ...]


class Part(Protocol):
    """What holds one stretch of a text."""

    def raw(self, start: int, end: int) -> str:
        """What is written there for these characters of the stretch."""

    def size(self, start: int, end: int) -> int:
        """How long what stands for them has to be."""

    def cover(self, start: int, end: int, shown: str) -> None:
        """Replace these characters with `shown`, which is as long as `size` says."""


class Channel:
    """One text.

    Args:
        before: what counts as if it stood before it.
    """

    def __init__(self, before: str = "") -> None:
        self._text = Growing(before)
        self._parts: deque[tuple[int, int, Part]] = deque()

    @property
    def open_parts(self) -> Iterator[tuple[Part, int]]:
        """The parts that are not settled as a whole, and the first character of each that is not."""
        settled = self._text.settled
        return ((part, max(0, settled - first)) for first, _, part in self._parts)

    def feed(self, text: str, part: Part, *, is_end: bool = False) -> None:
        """Take the next stretch, and cover what is known to be secret now.

        Args:
            text: the stretch.
            part: what holds it.
            is_end: whether it is the last.
        """
        first = self._text.size
        self._parts.append((first, first + len(text), part))
        self._settle(self._text.feed(text, is_end=is_end))

    def passes(self, text: str) -> bool:
        """Take the next stretch where nothing of it has to be covered or waited for; False, and nothing taken, if not.

        Args:
            text: the stretch; not empty.
        """
        return not self._parts and self._text.passes(text)

    def end(self) -> None:
        """Nothing more comes."""
        self._settle(self._text.feed("", is_end=True))

    def _settle(self, certain: list[Span]) -> None:
        for span in certain:
            self._cover(span)
        while self._parts and self._parts[0][1] <= self._text.settled:
            self._parts.popleft()

    def _cover(self, span: Span) -> None:
        touched = [
            (part, max(span.start - first, 0), min(span.end, last) - first)
            for first, last, part in self._parts
            if first < span.end and last > span.start
        ]
        raw = "".join(part.raw(start, end) for part, start, end in touched)
        sizes = [part.size(start, end) for part, start, end in touched]
        if span.quote is not None:
            shown = same_digits(raw)
        else:
            shown = KEYED.mark(span.kind, raw, size=sum(sizes)) if span.kind else GIVEN.hide(raw, size=sum(sizes))
        at = 0
        for (part, start, end), size in zip(touched, sizes, strict=True):
            part.cover(start, end, shown[at : at + size])
            at += size


class Channels:
    """The texts of one stream, by what its pieces call them."""

    def __init__(self) -> None:
        self._known: dict[Key, Channel] = {}

    def feed(self, key: Key | None, text: str, part: Part) -> None:
        """Take a stretch of a text.

        Args:
            key: which text; None of one that is judged by itself.
            text: the stretch.
            part: what holds it.
        """
        if key is None or (key not in self._known and len(self._known) >= _MOST):
            if redact_text(text) == text:
                return
            alone = Channel()
            alone.feed(text, part)
            alone.end()
            return
        channel = self._known.get(key)
        if channel is None:
            channel = self._known[key] = Channel()
        channel.feed(text, part)

    def passes(self, key: Key, text: str) -> bool:
        """As `Channel.passes`, for a text that was begun."""
        channel = self._known.get(key)
        return channel is not None and channel.passes(text)

    def end(self) -> None:
        """Nothing more comes."""
        for channel in self._known.values():
            channel.end()

    @property
    def open_parts(self) -> Iterator[tuple[Part, int]]:
        """See `Channel`."""
        for channel in self._known.values():
            yield from channel.open_parts


class Leaf(tuple[Key | None, tuple[str | int, ...], "str | float"]):
    """A text or number of a value: which text it is a stretch of (None of none), its path, and what it is."""

    __slots__ = ()

    @property
    def key(self) -> Key | None:
        """Which text it is a stretch of."""
        return self[0]

    @property
    def path(self) -> tuple[str | int, ...]:
        """Where it stands."""
        return self[1]

    @property
    def held(self) -> str | float:
        """What it is."""
        return self[2]


def leaves_of(value: Wire) -> Iterator[Leaf]:
    """Yield the texts and numbers of a value, in their order.

    Parts of one text stand at the same path, in whichever place of a list; fields called `index`, and the `type` of
    the whole, tell several of them apart, as providers do.

    Args:
        value: one event of a stream.
    """
    return _leaves(value, (), (), is_kind=False)


def _leaves(value: Wire, key: Key, path: tuple[str | int, ...], *, is_kind: bool) -> Iterator[Leaf]:
    if isinstance(value, dict):
        own = [
            (name, item)
            for name, item in value.items()
            if type(item) in (int, str) and (name.lower().endswith("index") or (name == "type" and not path))
        ]
        key = (*key, *own) if own else key
        for name, item in value.items():
            says_kind = name in _KINDS or name.endswith("_id")
            yield from _leaves(item, (*key, name), (*path, name), is_kind=says_kind)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, key, (*path, number), is_kind=is_kind)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield Leaf((None if is_kind else key, path, value))


def named_leaves(value: Wire) -> dict[tuple[str | int, ...], str | float]:
    """What stands for those texts and numbers of a value that names of fields give away, by their paths."""
    shown = given_by_name(value)
    if shown is value:
        return {}
    now = {leaf.path: leaf.held for leaf in leaves_of(shown)}
    return {leaf.path: now[leaf.path] for leaf in leaves_of(value) if leaf.path in now and now[leaf.path] != leaf.held}
