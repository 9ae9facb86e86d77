"""What the edit dialog makes of a value: text to edit, a verdict on what was typed, and the change by word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.parse import parse_value
from agent_tt.codec.text import pretty, summary
from agent_tt.comparing.values.words import compare_words
from agent_tt.errors import InvalidValue
from agent_tt.forking.editing.edits import check_type
from agent_tt_tui.format import counted
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

MOST_CHARACTERS: Final = 20_000
"""Longer values are edited in `$EDITOR` only, which is made for them."""

_CONTEXT: Final = 40


@dataclass(frozen=True, slots=True)
class Editable:
    """A value as text to edit.

    Attributes:
        text: The text; empty where the value is too long for the dialog.
        plain: Whether the text is the value itself, a string; else it is JSON.
        too_long: Whether the value is too long for the dialog.
    """

    text: str
    plain: bool
    too_long: bool = False

    @classmethod
    def of(cls, value: Wire, *, as_text: bool = True) -> Editable:
        """The text of a value: a string as it is, unless an editor could not show or keep all of it; else JSON.

        Args:
            value: The value.
            as_text: Whether a string may be edited as it is.
        """
        plain = as_text and isinstance(value, str) and is_plain(value)
        if (len(value) if isinstance(value, str) else len(summary(value, MOST_CHARACTERS))) >= MOST_CHARACTERS:
            return cls("", plain, too_long=True)
        return cls(text_of(value, plain=plain), plain)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a typed text is.

    Attributes:
        good: Whether it can be kept.
        message: Why not, or what it does to the type: `still a str`.
        value: The value; meaningless unless it is good.
    """

    good: bool
    message: str
    value: Wire = None


def text_of(value: Wire, *, plain: bool) -> str:
    """All of a value as text to edit."""
    return value if plain and isinstance(value, str) else pretty(value)


def judge(text: str, *, plain: bool, recorded: Wire) -> Verdict:
    """Read a typed text.

    Args:
        text: What was typed.
        plain: Whether it is a string itself; else it is JSON.
        recorded: The value that it replaces, for its type.
    """
    if plain:
        return Verdict(good=True, message=check_type(recorded, text), value=text)
    try:
        value = parse_value(text)
    except InvalidValue as error:
        return Verdict(good=False, message=f"not JSON: line {error.line}, column {error.column}")
    return Verdict(good=True, message=check_type(recorded, value), value=value)


def words_in(text: str) -> int:
    """How many words a text has."""
    return len(text.split())


def words_text(text: str) -> str:
    """How many words a text has, for people."""
    count = words_in(text)
    return counted(count, "word")


def change_pieces(old: str, new: str, more: str) -> list[Piece]:
    """The words that differ between two texts, with a little of what is the same around them.

    Args:
        old: The recorded text.
        new: The typed text.
        more: The glyph that says something is left out.
    """
    roles: dict[str, PieceRole] = {"same": "muted", "added": "added", "removed": "removed"}
    segments = compare_words(old, new)
    if all(segment.kind == "same" for segment in segments):
        return []
    pieces: list[Piece] = []
    for index, segment in enumerate(segments):
        text = segment.text
        if segment.kind == "same":
            text = _ends(text, more, head=index > 0, tail=index < len(segments) - 1)
        if pieces and segment.kind == "added" and pieces[-1][1] == "removed":
            pieces.append((" ", "text"))
        pieces.append((clean(text), roles[segment.kind]))
    return pieces


def _ends(text: str, more: str, *, head: bool, tail: bool) -> str:
    if len(text) <= 2 * _CONTEXT:
        return text
    return f"{text[:_CONTEXT] if head else ''}{' ' if head else ''}{more} {text[-_CONTEXT:] if tail else ''}"


def is_plain(text: str) -> bool:
    """Whether an editor shows all of a text and gives it back unchanged: it has no controls but line ends and tabs."""
    printed = text.replace("\n", " ").replace("\t", " ")
    return clean(printed) == printed
