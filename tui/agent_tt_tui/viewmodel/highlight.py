"""Colours of code, line by line, in the roles of the interface: names stand out a little, punctuation steps back."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from agent_tt_tui.viewmodel.pieces import Piece, PieceRole

Language: TypeAlias = Literal["json", "python"]

# A string that is cut off ends with the line.
_TOKENS: Final[dict[Language, re.Pattern[str]]] = {
    "json": re.compile(
        r'(?P<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?P<text>"(?:[^"\\]|\\.)*"?|[\w.+-]+)|(?P<sign>[^"\w.+-]+)', re.DOTALL
    ),
    "python": re.compile(
        rf"(?P<sign>\#.*)|(?P<name>\b(?:{'|'.join(keyword.kwlist)})\b)"
        r"""|(?P<text>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\w+|\s+|[^\w\s])""",
        re.DOTALL,
    ),
}
_ROLES: Final[dict[str, PieceRole]] = {"name": "model", "text": "text", "sign": "muted"}


def highlighted(code: str, language: Language) -> list[Piece]:
    """Colour one line of code; only give it as much as is shown.

    Args:
        code: A line, any text.
        language: What it is written in.
    """
    return [(clean(token.group()), _ROLES[token.lastgroup or "text"]) for token in _TOKENS[language].finditer(code)]
