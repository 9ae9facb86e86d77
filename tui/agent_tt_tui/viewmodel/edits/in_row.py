"""What a field in a row of the state edits: one value as text, whose type stays unless a person says otherwise."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.codec.parse import parse_value
from agent_tt.codec.text import pretty
from agent_tt.codec.wire import VALUE, envelope_type
from agent_tt.errors import InvalidValue
from agent_tt.forking.editing.edits import check_type, type_word, with_article
from agent_tt.forking.editing.typed_text import AS_TEXT, read_as
from agent_tt_tui.text import width as columns_of
from agent_tt_tui.viewmodel.edits.editing import Verdict, is_plain

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

MOST_ROWS: Final = 3
"""Rows of a text that is edited in its row; a longer one has a dialog."""


@dataclass(frozen=True, slots=True)
class RowField:
    """A value that is edited in its row.

    Attributes:
        value: The value as it is now, with earlier edits.
        recorded: The value as it was recorded: its type is the one to keep.
    """

    value: Wire
    recorded: Wire

    @classmethod
    def of(cls, value: Wire, recorded: Wire, columns: int) -> RowField | None:
        """Make the field of a value, None where it needs more than a row: a list, a dict, a long text.

        Args:
            value: The value as it is now.
            recorded: The value as it was recorded.
            columns: How wide the field is.
        """
        fits = _is_single(value) and _is_single(recorded)
        if fits and isinstance(value, str):
            fits = is_plain(value) and "\n" not in value and columns_of(value) < MOST_ROWS * columns
        return cls(value, recorded) if fits else None

    @property
    def text(self) -> str:
        """The value as text to edit."""
        return _text_of(self.value)

    @property
    def recorded_text(self) -> str:
        """The recorded value, written as the row writes it."""
        return _text_of(self.recorded)

    @property
    def is_text(self) -> bool:
        """Whether what is typed is the value itself, a string."""
        return isinstance(self.recorded, str)

    def judge(self, typed: str) -> Verdict:
        """Read what was typed as a value of the recorded type; a value where `null` was recorded may have any type."""
        if self.recorded is None:
            value = _as_it_reads(typed)
        else:
            try:
                value = read_as(self.recorded, typed)
            except ValueError:
                return Verdict(good=False, message=f"not {with_article(type_word(self.recorded))}")
        return Verdict(good=True, message=check_type(self.recorded, value), value=value)

    def other(self, typed: str) -> Verdict | None:
        """Read what was typed as a value of another type; None where the recorded type is what it is taken for."""
        value = _as_it_reads(typed)
        if type_word(value) == type_word(self.recorded) or (self.judge(typed).good and not self.is_text):
            return None
        return Verdict(good=True, message=check_type(self.recorded, value), value=value)

    def stepped(self, typed: str, by: int) -> str | None:
        """Add to a typed number or, in days, to a date; turn over a truth value. None where none of these was typed."""
        try:
            value = decode(read_as(self.recorded, typed))
        except ValueError:
            return None
        match value:
            case bool():
                return _text_of(not value)
            case int():
                return str(value + by)
            case float():
                return str(float(Decimal(repr(value)) + by))
            case Decimal() if value.is_finite():
                return str(value + by)
            case dt.date():
                try:
                    return _text_of(encode(value + dt.timedelta(days=by)))
                except OverflowError:
                    return None
            case _:
                return None


def _is_single(value: Wire) -> bool:
    if isinstance(value, dict):
        return envelope_type(value) in AS_TEXT and isinstance(value.get(VALUE), str)
    return not isinstance(value, list)


def _text_of(value: Wire) -> str:
    if isinstance(value, dict):
        return str(value[VALUE])
    return value if isinstance(value, str) else pretty(value)


def _as_it_reads(typed: str) -> Wire:
    """A text as the JSON that it is, else as the text."""
    try:
        return parse_value(typed)
    except InvalidValue:
        return typed
