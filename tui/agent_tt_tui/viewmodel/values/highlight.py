"""Colours of code in the roles of the interface: names stand out a little, punctuation steps back."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pygments.token import Comment, Keyword, Name, Operator, Punctuation

from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.values.pieces import append

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

Language: TypeAlias = Literal["json", "python"]

_ROLES: Final[dict[_TokenType, PieceRole]] = {
    Keyword: "model",
    Keyword.Constant: "text",
    Name.Tag: "model",  # the keys of JSON
    Operator.Word: "model",
    Punctuation: "muted",
    Comment: "muted",
}
"""A kind of token has the role of the kind that it belongs to, unless it is here itself."""


def highlighted(code: str, language: Language) -> list[list[Piece]]:
    r"""Colour code; only give it as much as is shown, for the cost grows with it.

    Args:
        code: any text; what it means before its first line is not known.
        language: what it is written in.

    Returns:
        The pieces of each line; lines end at `\n`.
    """
    lines: list[list[Piece]] = [[]]
    for _, token, text in _lexer(language).get_tokens_unprocessed(code):
        role = _role(token)
        first, *others = text.split("\n")
        _add(lines[-1], first, role)
        for other in others:
            lines.append([])
            _add(lines[-1], other, role)
    return lines


def _role(token: _TokenType) -> PieceRole:
    kind: _TokenType | None = token
    while kind is not None and kind not in _ROLES:
        kind = kind.parent
    return "text" if kind is None else _ROLES[kind]


def _add(line: list[Piece], text: str, role: PieceRole) -> None:
    if text:
        append(line, clean(text), role)


@cache
def _lexer(language: Language) -> Lexer:
    # Loading a lexer takes longer than drawing a screen without any code.
    if language == "json":
        from pygments.lexers.data import JsonLexer

        return JsonLexer()
    from pygments.lexers.python import PythonLexer

    return PythonLexer()
