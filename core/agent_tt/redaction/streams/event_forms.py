"""Events of a stream that are written alike: all but a few texts of each is as in the one before.

Most events of a model's answer differ in one word. Once one was gone through, the next like it is told by what stands
between its texts, and of these only what may hold a secret is looked at: parsing each would take several times as long.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.redaction.anchors import ANCHORS
from agent_tt.redaction.fields import FIELDS
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.names import kind_of
from agent_tt.redaction.own import OWN
from agent_tt.redaction.texts import Clean, redact_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agent_tt.redaction.streams.channels import Key, Leaf

__all__ = ["EventForm", "may_name"]

_LONGEST: Final = 2_000
"""Characters of an event whose form is kept."""
_MOST_VALUES: Final = 20
_SHORTEST_KEY: Final = 8
"""Characters of a key that may be a secret itself."""
_COUNT: Final = re.compile(r"(?:0|[1-9][0-9]{0,8})(?![0-9.eE])")
"""A number that counts something: no personal data is as short."""
_TEXT: Final = r'([^"\\]*)'
"""A text of JSON without escapes."""


_LONGEST_KEPT: Final = 64
_NAMELESS: Final = Clean()
"""Texts that say nothing of others: the words of a language come again and again."""


class EventForm:
    """How an event is written.

    Args:
        written: fits what is written so: a group for each text that may differ from event to event.
        keys: which text of the stream each of these is a stretch of; None of one that stands for itself.
    """

    def __init__(self, written: re.Pattern[str], keys: Sequence[Key | None]) -> None:
        self._written = written
        self._keys = keys
        self._quiet: list[str | None] = [None] * len(keys)
        self._version = GIVEN.version

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
        parts, of_texts, at = list[str](), list["Key | None"](), 0
        for leaf, token in zip(leaves, written, strict=True):
            is_text = isinstance(leaf.held, str)
            if not leaf.path or _tells_texts_apart(leaf) or not (is_text or _COUNT.fullmatch(token[0])):
                continue
            first, last = token.span("text") if is_text else token.span()
            parts += [re.escape(text[at:first]), _TEXT if is_text else _COUNT.pattern]
            if is_text:
                of_texts.append(leaf.key)
            at = last
        return cls(re.compile("".join([*parts, re.escape(text[at:])])), of_texts)

    def texts_in(self, text: str) -> list[tuple[Key | None, str, int]] | None:
        """The texts of another event that are to be judged, with their places; None where it is not of this form.

        Args:
            text: the event.
        """
        match = self._written.fullmatch(text)
        if match is None or not text.isprintable() or self._version != GIVEN.version:
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
        return found


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


def _tells_texts_apart(leaf: Leaf) -> bool:
    """Whether what a text says is part of what others of its event are called."""
    name = leaf.path[-1]
    return isinstance(name, str) and (name.lower().endswith("index") or (name == "type" and len(leaf.path) == 1))
