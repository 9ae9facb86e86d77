"""A text that grows, judged as it would be if it had come at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.marks import unnumbered
from agent_tt.redaction.names import SCHEMA_PARENTS
from agent_tt.redaction.shapes import secrets_in
from agent_tt.redaction.spans import Span, apart
from agent_tt.redaction.streams.open_ends import open_end, run_start, stays_calm
from agent_tt.redaction.texts import marked, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LONGEST", "Growing", "GrowingShown", "given_in"]

LONGEST: Final = 16_384
"""Characters that are waited for at most; of a longer secret the rest is not recognised."""


_CALM_TEXT: Final = 2_000
_CALM_KEPT: Final = 500
"""Characters that are kept of a text in which nothing is open; more than any pattern looks back."""
_LONGEST_MARK: Final = 2_000
_MARK_BEGUN: Final = re.compile(r"~(?:r(?:[edact]{0,7}(?:\d{1,9}~*)?)?)?\Z")


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
        self.settled = 0
        self.size = 0

    def feed(self, text: str, *, is_end: bool = False) -> list[Span]:
        """Take more of the text; give the secrets that no further text can change, by their places in the whole.

        Args:
            text: what it grows by.
            is_end: whether nothing more comes: then all of it is settled.
        """
        before = len(self._text)
        self._text += text
        self.size += len(text)
        whole = self._text
        if self._is_calm and text and not is_end and stays_calm(whole, before, self._run):
            self._run = run_start(whole, self._run)
            self.settled = self.size
            if before > _CALM_TEXT and not any(parent in whole for parent in SCHEMA_PARENTS):
                self._forget(len(whole) - _CALM_KEPT)
            return []
        found = apart([*secrets_in(whole), *given_in(whole)])
        self._run = run_start(whole, self._run if run_start(whole, before) == before else before)
        if is_end:
            end = context = len(whole)
        else:
            end, context, self._is_calm = open_end(whole, found, self._run)
            end = max(end, len(whole) - LONGEST)
        settled = self.settled - self._base
        end = max(end, settled)
        certain = [
            Span(max(span.start, settled) + self._base, min(span.end, end) + self._base, span.quote, span.kind)
            for span in found
            if span.end > settled and span.start < end
        ]
        self.settled = self._base + end
        self._forget(min(context, end))
        return certain

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
