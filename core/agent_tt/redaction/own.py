"""The rules that hold in this process: patterns and fields of a project's own, and a profile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from agent_tt.redaction import number_places, personal
from agent_tt.redaction.fields import FIELDS, STRICT_FIELDS
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.names import is_secret_header, kind_of
from agent_tt.redaction.patterns import Unfit, read_pattern
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.spans import Span, quote_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from agent_tt.redaction.patterns import Pattern

__all__ = ["OWN"]


class _Own:
    """The rules that hold in this process.

    Attributes:
        rules: as they were said.
        at_least: rules that hold whatever others do: an agent is given what they took out.
        has_profile: whether a profile is among them.
        finds_more: whether they find anything in texts.
        searches_all: whether every text is searched, whatever words it holds.
        least_number: the least number that may be personal data.
    """

    def __init__(self) -> None:
        self.rules = self.at_least = Rules()
        self.has_profile = self.finds_more = self.searches_all = False
        self.least_number: float = math.inf
        self._patterns: tuple[Pattern, ...] = ()

    def use(self, rules: Rules) -> None:
        """Search with these from now on, and with no others. A pattern that does not fit is left out.

        Patterns of a file are checked here as those of settings are: whoever wrote it may have meant harm.

        Args:
            rules: the rules; the libraries that its profile needs have to be there.
        """
        rules = rules.joined(self.at_least) if self.at_least else rules
        if rules == self.rules:
            return
        found = []
        for text in rules.patterns.values():
            try:
                found.append(read_pattern(text))
            except Unfit:
                continue
        self.rules, self._patterns, self.has_profile = rules, tuple(found), bool(rules.profile)
        self.searches_all = bool(found)
        self.finds_more = self.searches_all or self.has_profile
        number_places.look_for(rules.profile)
        self.least_number = personal.LEAST_NUMBER if self.has_profile else math.inf
        FIELDS.use((*rules.fields, *(STRICT_FIELDS if rules.profile == "strict" else ())), rules.allow)
        kind_of.cache_clear()
        is_secret_header.cache_clear()
        GIVEN.renew()

    def __bool__(self) -> bool:
        return self.finds_more

    def spans(self, text: str, held: AbstractSet[str]) -> list[Span]:
        """What they find in a text.

        Args:
            text: any text.
            held: the words of `ANCHORS` that it holds.
        """
        found = personal.personal_in(text, held) if self.has_profile else []
        for own in self._patterns:
            found += (Span(*match.span(), quote_of(text, *match.span())) for match in own.pattern.finditer(text))
        return [span for span in found if not FIELDS.allow(text[span.start : span.end])] if self.rules.allow else found

    def may_take_short(self, text: str) -> bool:
        """Whether a short text may hold something that a profile or an own pattern takes out.

        By its form or name no such text is that is one word: addresses and what names a value have other signs, and
        numbers are longer.

        Args:
            text: a text of less than eight characters.
        """
        return bool(self._patterns) or (self.has_profile and not text.replace("_", "").isalnum())

    def takes_number(self, number: float) -> bool:
        """Whether a number is personal data."""
        return number >= self.least_number and type(number) is int and personal.is_personal_number(number)

    def open_from(self, text: str) -> int:
        """Find where a match could begin that the text's next piece would complete; its length where none could."""
        at = min(own.begin(text) for own in self._patterns) if self._patterns else len(text)
        return min(at, personal.open_from(text)) if self.has_profile else at


OWN: Final = _Own()
