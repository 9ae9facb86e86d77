"""Taking an expression apart into words, each with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, Literal, NoReturn, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import InvalidExpression

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EXAMPLES", "MOST_CHARACTERS", "Token", "refuse", "tokens"]

MOST_CHARACTERS: Final = 2_000
"""Longest expression. A person's has 100; a longer one only makes every answer slower."""

EXAMPLES: Final = 'Questions look like this: state.budget < 0, or tool == "charge" and args.amount > 100.'
"""The hint where there is nothing better to say."""

_MOST_DIGITS: Final = 40
_SIGNS: Final = ("==", "!=", "<=", ">=", "=~", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ".", ",")
_WORDS: Final = frozenset({"and", "or", "not", "in", "true", "false", "null", "True", "False", "None"})
_INSTEAD: Final = {
    "===": "write `==`",
    "!==": "write `!=`",
    "<>": "write `!=`",
    "=>": "write `>=`",
    "=<": "write `<=`",
    "?.": "write a plain dot: what is not there is missing, never an error",
    "**": "there is no power",
    "//": "there is no division to whole numbers",
    "&&": "write `and`",
    "||": "write `or`",
    "=": "write `==`",
    "!": "write `not`",
    "&": "write `and`",
    "|": "write `or`",
    "~": "write `=~`",
    "?": "there is no choice between values",
    "“": "write straight quotes",
    "”": "write straight quotes",
    "„": "write straight quotes",
    "‘": "write straight quotes",
    "’": "write straight quotes",
    ":": "there are no slices and no functions of one's own",
    ";": "an expression is one question",
    "{": "there are no mappings",
    "@": "a step is asked about by `step == 3`",
    "$": 'a key with odd characters is written ["key"]',
}

Kind: TypeAlias = Literal["name", "word", "number", "text", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """One word of an expression.

    Attributes:
        kind: what it is; `word` for the words of the language.
        text: as it was written; of a `text` what it says.
        position: index of its first character.
        value: of a number.
    """

    kind: Kind
    text: str
    position: int
    value: int | float = 0


def tokens(text: str) -> Iterator[Token]:
    """The words of an expression, the last one being its `end`.

    Raises:
        InvalidExpression: something in it is not a word, or it is too long.
    """
    if len(text) > MOST_CHARACTERS:
        refuse(text, MOST_CHARACTERS, f"it has {len(text):,} characters, and {MOST_CHARACTERS:,} are the most")
    at = 0
    while at < len(text):
        character = text[at]
        if character.isspace():
            at += 1
            continue
        if character in "\"'":
            token, at = _quoted(text, at)
        elif character.isdecimal() and character.isascii():
            token, at = _number(text, at)
        elif character.isidentifier():
            token, at = _name(text, at)
        else:
            token, at = _sign(text, at)
        yield token
    yield Token("end", "", len(text))


def refuse(text: str, position: int, why: str, hint: str = "") -> NoReturn:
    """Say what is wrong with an expression, and where.

    Raises:
        InvalidExpression: always.
    """
    shown = text if len(text) <= 80 else f"{text[:79]}…"
    raise InvalidExpression(
        f"{json.dumps(shown, ensure_ascii=not shown.isprintable())} cannot be asked, character {position + 1}: {why}",
        text=text,
        why=why,
        position=position,
        hint=hint or EXAMPLES,
    )


def _quoted(text: str, at: int) -> tuple[Token, int]:
    quote, parts, here = text[at], list[str](), at + 1
    while here < len(text) and text[here] != quote:
        if text[here] == "\\" and here + 1 < len(text):
            # Only these two are taken away: a pattern keeps its own backslashes.
            parts.append(text[here + 1] if text[here + 1] in (quote, "\\") else text[here : here + 2])
            here += 2
        else:
            parts.append(text[here])
            here += 1
    if here >= len(text):
        refuse(text, at, "the text is not closed")
    return Token("text", "".join(parts), at), here + 1


def _number(text: str, at: int) -> tuple[Token, int]:
    end = _digits(text, at)
    whole = True
    if text[end : end + 1] == "." and text[end + 1 : end + 2].isdecimal():
        whole, end = False, _digits(text, end + 1)
    if text[end : end + 1] in ("e", "E"):
        sign = end + 1 + (text[end + 1 : end + 2] in ("+", "-"))
        after = _digits(text, sign)
        if after > sign:
            whole, end = False, after
    written = text[at:end]
    if len(written) > _MOST_DIGITS:
        refuse(text, at, f"the number has more than {_MOST_DIGITS} characters")
    if text[end : end + 1].isidentifier():
        refuse(text, end, "a number ends where a name begins", "Write numbers out: 2000, 0.5, 1e6.")
    value = int(written.replace("_", "")) if whole else float(written.replace("_", ""))
    if value in (float("inf"), float("-inf")):
        refuse(text, at, "the number is too large")
    return Token("number", written, at, value), end


def _digits(text: str, at: int) -> int:
    while at < len(text) and text[at].isascii() and (text[at].isdecimal() or text[at] == "_"):
        at += 1
    return at


def _name(text: str, at: int) -> tuple[Token, int]:
    end = at + 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    name = text[at:end]
    return Token("word" if name in _WORDS else "name", name, at), end


def _sign(text: str, at: int) -> tuple[Token, int]:
    for length in (3, 2):
        if text[at : at + length] in _INSTEAD and len(text[at : at + length]) == length:
            refuse(text, at, _INSTEAD[text[at : at + length]])
    for sign in _SIGNS:
        if text.startswith(sign, at):
            return Token("sign", sign, at), at + len(sign)
    refuse(text, at, _INSTEAD.get(text[at], f"{text[at]!r} means nothing here"))
