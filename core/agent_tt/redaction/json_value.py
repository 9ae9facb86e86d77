r"""The value of a field of JSON that stands in a text: whole, in part, or as a string of other JSON, to any depth.

A quote is written `"` in JSON, `\"` in JSON that a string of JSON holds, `\\\"` one deeper, and so on: with
`2**depth - 1` backslashes. So a field of any depth is read without parsing what is around it, and also where the text
is only a piece of a body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.judging import is_secret_number, is_secret_text, secret_cookies
from agent_tt.redaction.marks import is_mark
from agent_tt.redaction.names import SCHEMA_PARENTS, kind_of, within
from agent_tt.redaction.spans import Span

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

__all__ = ["JsonValue", "is_description"]

_NUMBER: Final = lazy_re(r"-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,5})?(?![\w.])")
_COLON: Final = lazy_re(r"(?:\s|\\{1,15}[nrt]){0,60}:")
_MOST_OF_CONTAINER: Final = 100_000
"""Characters of a list or object under a secret name that are gone through."""
_AROUND: Final = 200
_BEFORE_PROPERTY: Final = 4000
_DESCRIPTION: Final = lazy_re(
    r"\{(?:\s|\\{1,15}[nrt]){0,60}\\{0,15}\""
    r"(?:type|title|description|default|anyOf|allOf|oneOf|enum|format|\$ref|examples?)\\{0,15}\""
)


def is_description(text: str, name: int, value: int) -> bool:
    """Whether a field describes another, in a JSON schema, as far as its text and what stands before tell.

    Args:
        text: the text.
        name: where the name of the field begins.
        value: where its value begins.
    """
    if _DESCRIPTION.match(text, value) is None:
        return False
    before = text[max(0, name - _BEFORE_PROPERTY) : name]
    return any(parent in before for parent in SCHEMA_PARENTS)


class JsonValue:
    """A value, written at one depth.

    Args:
        text: the text that it stands in.
        slashes: the backslashes before each of its quotes.

    Attributes:
        at: one after the last character that was gone through.
    """

    def __init__(self, text: str, slashes: str) -> None:
        self._text = text
        self._slashes = slashes
        self._quote = slashes + '"'
        self.at = 0

    def is_at(self, start: int) -> bool:
        """Whether a text, number, list or object begins there."""
        if self._text.startswith(("[", "{", self._quote), start):
            return True
        return _NUMBER.match(self._text, start) is not None

    def secrets(self, start: int, name: str) -> Iterator[Span]:
        """Yield the secrets in the value that begins there.

        Args:
            start: where it begins.
            name: of the field that holds it.
        """
        self.at = start
        text = self._text
        if text.startswith(self._quote, start):
            first = start + len(self._quote)
            last = self.end_of_string(first)
            yield from self._string(first, last, name)
            self.at = last
        elif text[start : start + 1] in ("[", "{"):
            yield from self._container(start, name)
        else:
            number = _NUMBER.match(text, start)
            if number is not None:
                self.at = number.end()
                yield from self._number(number, name)

    def _string(self, first: int, last: int, name: str) -> Iterator[Span]:
        value = self._text[first:last]
        if kind_of(name) == "cookie" and not is_mark(value):
            yield from (Span(first + start, first + end) for start, end in secret_cookies(value))
        elif not is_mark(value) and is_secret_text(name, value, lambda: self._around(first, last)):
            yield Span(first, last)

    def _number(self, number: re.Match[str], name: str) -> Iterator[Span]:
        if is_secret_number(name, float(number[0]), lambda: self._around(*number.span())):
            yield Span(*number.span(), self._quote)

    def _around(self, first: int, last: int) -> str:
        return self._text[max(0, first - _AROUND) : last + _AROUND]

    def end_of_string(self, first: int) -> int:
        """Where the string from `first` on ends: at its closing quote, or where the line or the text ends.

        Args:
            first: its first character, after the quote.
        """
        text, period = self._text, 2 * (len(self._slashes) + 1)
        at = first
        while True:
            quote = text.find('"', at)
            end = len(text) if quote < 0 else quote
            line_ends = [place for place in (text.find(mark, at, end) for mark in "\r\n") if place >= 0]
            if line_ends or quote < 0:
                return min(line_ends, default=end)
            slashes = quote
            while slashes > first and text[slashes - 1] == "\\":
                slashes -= 1
            if (quote - slashes) % period == len(self._slashes):
                return quote - len(self._slashes)
            if quote - slashes < len(self._slashes):  # the JSON around this one ends here
                return slashes
            at = quote + 1

    def _container(self, start: int, name: str) -> Iterator[Span]:
        """Each text and number in a list or object; the names of its fields count too."""
        text, at = self._text, start
        end = min(len(text), start + _MOST_OF_CONTAINER)
        held_by: list[str] = []
        field = name
        while at < end:
            letter = text[at]
            if letter in "[{":
                held_by.append(field)
                at += 1
            elif letter in "]}":
                held_by.pop()
                at += 1
                if not held_by:
                    break
                field = held_by[-1]
            elif text.startswith(self._quote, at):
                first = at + len(self._quote)
                last = self.end_of_string(first)
                after = _COLON.match(text, last + len(self._quote))
                if after is not None:
                    field, at = within(held_by[-1], text[first:last]), after.end()
                    continue
                yield from self._string(first, last, field)
                at = max(last, first) + len(self._quote)
            else:
                number = _NUMBER.match(text, at)
                if number is not None:
                    yield from self._number(number, field)
                    at = number.end()
                else:
                    at += 1
        self.at = min(at, len(text))
