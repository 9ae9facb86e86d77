"""Events of a stream that are written alike: all but a few texts of each is as in the one before.

Most events of a model's answer differ in one word. Once one was gone through, the next like it is told by what stands
between its texts, and of these only what may hold a secret is looked at: parsing each would take several times as long.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS
from agent_tt.redaction.fields import FIELDS
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.names import kind_of
from agent_tt.redaction.own import OWN
from agent_tt.redaction.texts import Clean, redact_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agent_tt.redaction.streams.channels import Key, Leaf

__all__ = ["EventForm", "Frame", "may_name"]

_LONGEST: Final = 2_000
"""Characters of an event whose form is kept."""
_MOST_VALUES: Final = 20
_SHORTEST_KEY: Final = 8
"""Characters of a key that may be a secret itself."""
_COUNT: Final = lazy_re(r"(?:0|[1-9][0-9]{0,8})(?![0-9.eE])")
"""A number that counts something: no personal data is as short."""
_TEXT: Final = r'([^"\\]*)'
"""A text of JSON without escapes."""


_LONGEST_KEPT: Final = 64
_NAMELESS: Final = Clean()
"""Texts that say nothing of others: the words of a language come again and again."""


_PLAIN: Final = Clean()
"""The same, as bytes, of those that are written as they are."""


class Frame:
    """Bytes of a stream that are events, and differ in one text alone: one that is joined with those of other events.

    Attributes:
        key: which text of the stream that is a stretch of.
        before: what stands before it, from the end of the event before on.

    Args:
        key: the same.
        before: the same.
        after: what stands behind it, up to the end of the event.
    """

    def __init__(self, key: Key, before: bytes, after: bytes) -> None:
        self.key = key
        self.before = before
        self._after = after
        self._version = GIVEN.version

    def said_in(self, data: bytes) -> str | None:
        """What one such event says there; None where the bytes are others, or say what has to be looked at.

        Args:
            data: the next bytes of the stream.
        """
        if self._version != GIVEN.version or not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        said = data[len(self.before) : -len(self._after)]
        return said.decode() if said and (said in _PLAIN.kept or _is_plain(said)) else None

    def all_said_in(self, data: bytes) -> str | None:
        """As `said_in`, for several events that came together: what they say there, joined."""
        at, parts = 0, list[str]()
        while at < len(data):
            end = data.find(self._after, at + len(self.before)) + len(self._after)
            if end == len(data) and not parts:
                return None  # of one `said_in` tells
            said = self.said_in(data[at:end])
            if said is None:
                return None
            parts.append(said)
            at = end
        return "".join(parts) or None


class EventForm:
    """How an event is written.

    Attributes:
        latest: that of the latest event; None where there is none. The next stream's events are mostly like it.

    Args:
        text: the event.
        places: where texts and numbers stand in it that may differ from event to event, and whether each is a text.
        keys: which text of the stream each of these texts is a stretch of; None of one that stands for itself.
        is_quiet: whether nothing is found in those that stand for themselves.
    """

    latest: ClassVar[EventForm | None] = None

    def __init__(
        self, text: str, places: Sequence[tuple[int, int, bool]], keys: Sequence[Key | None], *, is_quiet: bool
    ) -> None:
        self._text = text
        self._places = places
        self._keys = keys
        self._quiet: list[str | None] = [None] * len(keys)
        self._version = GIVEN.version
        self._written: re.Pattern[str] | None = None
        joined = [number for number, key in enumerate(keys) if key is not None]
        self._joined = joined[0] if len(joined) == 1 else None
        self._around: tuple[str, str] | None = None
        if is_quiet and self._joined is not None:
            self._differs_in(text, *[place[:2] for place in places if place[2]][self._joined])

    @classmethod
    def of(
        cls, text: str, leaves: Sequence[Leaf], written: Sequence[re.Match[str]], keys: Collection[str]
    ) -> EventForm | None:
        """The form of an event; None where the next one has to be gone through as this one was.

        Args:
            text: the event.
            leaves: its texts and numbers.
            written: the same, as they are written.
            keys: the names of its fields, as they are written.
        """
        if len(text) > _LONGEST or len(leaves) > _MOST_VALUES or may_name(text, keys, leaves):
            return None
        if any(len(key) >= _SHORTEST_KEY and not key.replace("_", "").isalpha() for key in keys):
            return None
        places: list[tuple[int, int, bool]] = []
        of_texts: list[Key | None] = []
        is_quiet = True
        for leaf, token in zip(leaves, written, strict=True):
            held, is_text = leaf.held, isinstance(leaf.held, str)
            is_same = not leaf.path or _tells_texts_apart(leaf) or not (is_text or _COUNT.fullmatch(token[0]))
            if isinstance(held, str) and leaf.key is None and redact_text(held) != held:
                is_quiet = False
            if is_same and is_text and (leaf.key is not None or not is_quiet):
                return None  # nobody would look at it in the next one, where it is the same
            if not is_same:
                places.append((*(token.span("text") if is_text else token.span()), is_text))
                of_texts += [leaf.key] if is_text else []
        cls.latest = cls(text, places, of_texts, is_quiet=is_quiet)
        return cls.latest

    def texts_in(self, text: str) -> list[tuple[Key | None, str, int]] | None:
        """The texts of another event that are to be judged, with their places; None where it is not of this form.

        Args:
            text: the event.
        """
        if self._version != GIVEN.version or not text.isprintable():
            return None
        if self._around is not None:
            before, after = self._around
            first, last = len(before), len(text) - len(after)
            if last >= first and text.startswith(before) and text.endswith(after):
                said = text[first:last]
                if '"' not in said and "\\" not in said:
                    return None if _names_something(said) else [(self._keys[self._joined or 0], said, first)]
        match = (self._written or self._made()).fullmatch(text)
        if match is None:
            return None
        found, quiet = [], self._quiet
        for number, (key, said) in enumerate(zip(self._keys, match.groups(), strict=True)):
            is_new = said != quiet[number]
            if is_new and _names_something(said):
                return None
            if key is not None or (is_new and redact_text(said) != said):
                found.append((key, said, match.start(number + 1)))
            elif is_new:
                quiet[number] = said  # mostly the next event says it again
        if self._joined is not None and len(found) == 1:
            self._differs_in(text, *match.span(self._joined + 1))
        return found

    def framed(self, data: bytes, at: int) -> Frame | None:
        """What frames the text in which events of this form differ; None where that is more than one.

        Args:
            data: bytes that are the latest event, and what parts it from others.
            at: where its JSON begins there.
        """
        if self._around is None or self._joined is None:
            return None
        before, after = (part.encode("utf-8", "surrogateescape") for part in self._around)
        last = data.find(b'"', at + len(before))
        key = self._keys[self._joined]
        if key is None or not data.startswith(before, at) or not data.startswith(after, last):
            return None  # the latest is written in another way
        return Frame(key, data[:at] + before, data[last:])

    def _differs_in(self, text: str, first: int, last: int) -> None:
        """The next event may be this one but for the text that stands there."""
        self._around = (text[:first], text[last:])

    def _made(self) -> re.Pattern[str]:
        """What fits such an event: a group for each text that may differ."""
        at, text = 0, self._text
        parts: list[str] = []
        for first, last, is_text in self._places:
            parts += [re.escape(text[at:first]), _TEXT if is_text else _COUNT.pattern]
            at = last
        self._written = re.compile("".join([*parts, re.escape(text[at:])]))
        return self._written


def may_name(text: str, keys: Collection[str], leaves: Sequence[Leaf]) -> bool:
    """Whether the name of a field or option, or a number's size, may give something of an event away.

    Args:
        text: the event, as it is written.
        keys: the names of its fields, as they are written.
        leaves: its texts and numbers.
    """
    if "\\u" in text or "value" in keys or any(map(kind_of, keys)):
        return True
    if any(_names_something(leaf.held) for leaf in leaves if isinstance(leaf.held, str)):
        return True
    return OWN.has_profile and any(type(leaf.held) is int and leaf.held >= OWN.least_number for leaf in leaves)


def _names_something(text: str) -> bool:
    """Whether a text of an event may say what another of its texts is: the name of a header, an option, a field."""
    seen = _NAMELESS.seen()
    if text in seen:
        return False
    held = ANCHORS.words_in(text)
    if held and (any(FIELDS.hints_in(held)) or "auth" in held or "-u" in held):
        return True
    if len(text) < _LONGEST_KEPT:
        seen.add(text)
    return False


def _is_plain(said: bytes) -> bool:
    """Whether a text of JSON is written as it is, and says nothing of others."""
    text = said.decode("ascii", "replace")
    if b"\\" in said or b'"' in said or not said.isascii() or not text.isprintable() or _names_something(text):
        return False
    if len(said) < _LONGEST_KEPT:
        _PLAIN.seen().add(said)
    return True


def _tells_texts_apart(leaf: Leaf) -> bool:
    """Whether what a text says is part of what others of its event are called."""
    name = leaf.path[-1]
    return isinstance(name, str) and (name.lower().endswith("index") or (name == "type" and len(leaf.path) == 1))
