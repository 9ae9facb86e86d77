"""A text that grows, judged as it would be if it had come at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.marks import unnumbered
from agent_tt.redaction.names import SCHEMA_PARENTS
from agent_tt.redaction.own import OWN
from agent_tt.redaction.shapes import secrets_in
from agent_tt.redaction.spans import Span, apart
from agent_tt.redaction.streams.open_ends import LONGEST_CALM, LONGEST_HINT, calm_to, is_word, open_end, run_start
from agent_tt.redaction.texts import Clean, marked, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LONGEST", "Growing", "GrowingShown", "given_in"]

LONGEST: Final = 16_384
"""Characters that are waited for at most; of a longer secret the rest is not recognised."""


_CALM_TEXT: Final = 2_000
_CALM_KEPT: Final = 500
"""Characters that are kept of a text in which nothing is open; more than any pattern looks back."""
_BLANKS: Final = " \n"
_PLAIN: Final = " \n,;!?"
"""Characters that may stand before and behind a plain word."""
_CLOSED: Final = Clean()
"""Words behind which nothing is open where nothing was open before: those of a language come again and again."""
_LONGEST_MARK: Final = 2_000
_MARK_BEGUN: Final = lazy_re(r"~(?:r(?:[edact]{0,7}(?:\d{1,9}~*)?)?)?\Z")


class Growing:
    """A text that grows.

    Attributes:
        settled: how many characters of it are judged for good.
        size: how many it has.

    Args:
        before: what counts as if it stood before the text.
    """

    def __init__(self, before: str = "") -> None:
        self._text = before
        self._base = -len(before)
        self._run = 0
        self._is_calm = False
        self._calm_for = 0
        self.settled = 0
        self.size = 0

    def feed(self, text: str, *, is_end: bool = False) -> list[Span]:
        """Take more of the text; give the secrets that no further text can change, by their places in the whole.

        Args:
            text: what it grows by.
            is_end: whether nothing more comes: then all of it is settled.
        """
        if text and not is_end and self._is_calm:
            settled_to = self._calm_to(text)
            if settled_to is not None:
                self._grow(text, settled_to)
                return []
        before = len(self._text)
        self._text += text
        self.size += len(text)
        self._calm_for = 0
        whole = self._text
        found = apart([*secrets_in(whole), *given_in(whole)]) if whole else []
        self._run = run_start(whole, self._run if run_start(whole, before) == before else before)
        if is_end:
            end = context = len(whole)
        else:
            end, context, self._is_calm = open_end(whole, found, self._run)
            end = max(end, len(whole) - LONGEST)
        settled = self.settled - self._base
        self._is_calm = self._is_calm and end >= settled
        end = max(end, settled)
        certain = [
            Span(max(span.start, settled) + self._base, min(span.end, end) + self._base, span.quote, span.kind)
            for span in found
            if span.end > settled and span.start < end
        ]
        self.settled = self._base + end
        self._forget(min(context, end))
        return certain

    def passes(self, text: str) -> bool:
        """Take more of the text where nothing is open and plain words come; False, and nothing taken, where not.

        Args:
            text: what it grows by; not empty.
        """
        end = len(self._text) + len(text)
        if not self._is_calm or self._calm_to(text) != end:
            return False
        self._grow(text, end)
        return True

    def _calm_to(self, text: str) -> int | None:
        """Up to where nothing is open once a piece has come; None where all of the text has to be looked at.

        Args:
            text: what comes.
        """
        before, low = len(self._text), self.settled - self._base
        may_know = self._may_know(text, before, low)
        if may_know and text in _CLOSED.kept:
            return before + len(text)
        closed = _CLOSED.seen()
        whole = self._text + text
        found = calm_to(whole, before, self._run, low)
        if may_know and found == len(whole) and text.strip(_PLAIN).isalpha() and text.isascii():
            closed.add(text)
        return None if found is None or found < low else found

    def _grow(self, text: str, settled_to: int) -> None:
        """Take a piece that leaves the text calm.

        Args:
            text: the piece.
            settled_to: as `_calm_to` says.
        """
        before = len(self._text)
        self._text += text
        self._run = len(self._text) if text[-1] == " " else run_start(self._text, self._run)
        self._calm_for += len(text)
        self.size += len(text)
        self.settled = self._base + settled_to
        if before > _CALM_TEXT and not any(parent in self._text for parent in SCHEMA_PARENTS):
            self._forget(len(self._text) - _CALM_KEPT)

    def _may_know(self, text: str, before: int, low: int) -> bool:
        """Whether `calm_to` says of a piece what it said before: nothing that it looks at goes over its beginning.

        White space parts the piece from what came. Where the piece begins with it, it may be what makes a word before
        it, such as `Bearer`, open something; so that has to have come in pieces that stayed calm. Large letters with
        white space between may be one number to a profile.
        """
        run = before - self._run
        if OWN.searches_all or run + len(text) > LONGEST_CALM:
            return False
        if not run:
            return low == before > 0 and self._text[-1] in _BLANKS
        is_seen = text[0] in _BLANKS and self._calm_for >= max(LONGEST_HINT, run)
        is_apart = low == before or is_word(self._text, low, self._run)
        return is_seen and is_apart and not (OWN and self._text[-1].isupper())

    def _forget(self, context: int) -> None:
        self._text = self._text[context:]
        self._base += context
        self._run = max(0, self._run - context)


class GrowingShown:
    """A text that grows, as it may be kept: what stands for a secret is as in a question."""

    def __init__(self) -> None:
        self._judged = Growing()
        self._unread = ""
        self._waiting = ""
        self._from = 0

    def feed(self, text: str, *, is_end: bool = False) -> str:
        """Take more of the text; give what may be kept by now and was not given before.

        Args:
            text: what it grows by.
            is_end: whether nothing more comes.
        """
        text = self._unread + text
        mark = None if is_end else _MARK_BEGUN.search(text, max(0, len(text) - _LONGEST_MARK))
        end = len(text) if mark is None else mark.start()
        text, self._unread = unnumbered(text[:end]), text[end:]
        self._waiting += text
        certain = self._judged.feed(text, is_end=is_end)
        settled = self._judged.settled - self._from
        spans = [Span(span.start - self._from, span.end - self._from, span.quote, span.kind) for span in certain]
        shown = replaced(self._waiting[:settled], spans, marked)
        self._waiting, self._from = self._waiting[settled:], self._judged.settled
        return shown


def given_in(text: str) -> Iterator[Span]:
    """Yield where secrets stand that the agent was given before."""
    for secret in GIVEN.secrets:
        at = text.find(secret)
        while at >= 0:
            yield Span(at, at + len(secret))
            at = text.find(secret, at + len(secret))
