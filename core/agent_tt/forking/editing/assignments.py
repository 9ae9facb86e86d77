"""Edits of a state as people write them: `PATH=VALUE`, a PATH to be removed, `PATH=PATH`."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from agent_tt.codec.parse import parse_value
from agent_tt.codec.paths import format_path, parse_path
from agent_tt.errors import InvalidEdit, InvalidPath, InvalidValue
from agent_tt.forking.editing.edits import WrittenEdit
from agent_tt.model import Edit

__all__ = ["parse_assignment", "parse_move", "parse_removal", "parse_retyping", "split_assignment"]


def parse_assignment(text: str, op: Literal["set", "insert"] = "set") -> WrittenEdit:
    """Read `PATH=VALUE`, where VALUE is JSON: `messages[3].content="refund approved"`.

    Where a value of another type than JSON's is there (a datetime, a Decimal), its type stays: `with_old_values` reads
    VALUE as one.

    Args:
        text: what was written.
        op: what it means: give that place this value, or insert it before that position of a list.

    Raises:
        InvalidEdit: there is no `=`.
        InvalidPath: what stands before the `=` is not a path.
        InvalidValue: what stands after it is not JSON; the hint shows how to quote a string.
    """
    if "=" not in text:
        raise InvalidEdit(
            f"{text!r} is not PATH=VALUE", hint="""for example --set 'messages[3].content="refund approved"'"""
        )
    path, value = split_assignment(text)
    try:
        return WrittenEdit(op, path, parse_value(value), written=value)
    except InvalidValue as error:
        raise InvalidValue(f"{op} {path}: {error}", line=error.line, column=error.column, hint=error.hint) from error


def parse_retyping(text: str) -> Edit:
    """Read `PATH=VALUE`, where VALUE is JSON that is meant as it is, whatever type of value is there.

    Raises:
        InvalidEdit, InvalidPath, InvalidValue: as `parse_assignment`.
    """
    return parse_assignment(text).plain()


def split_assignment(text: str) -> tuple[str, str]:
    """The path and the value of `PATH=VALUE`. A quoted key may hold `=` too: the path ends where it is one.

    Raises:
        InvalidPath: no path stands before any `=`.
    """
    written, _, value = text.partition("=")
    try:
        return format_path(parse_path(written.strip())), value
    except InvalidPath:
        position = text.find("=", len(written) + 1)
        while position >= 0:
            with suppress(InvalidPath):
                return format_path(parse_path(text[:position].strip())), text[position + 1 :]
            position = text.find("=", position + 1)
        raise


def parse_removal(text: str) -> Edit:
    """Read the PATH of what is to be removed.

    Raises:
        InvalidPath: it is none.
    """
    return Edit("delete", format_path(parse_path(text.strip())))


def parse_move(text: str) -> Edit:
    """Read `PATH=PATH`: where a value is, and where it is to be in a state without it.

    Raises:
        InvalidEdit: there is no `=`.
        InvalidPath: one of them is not a path.
    """
    written, equals, to = text.partition("=")
    if not equals:
        raise InvalidEdit(f"{text!r} is not PATH=PATH", hint="for example --move 'messages[5]=messages[2]'")
    return Edit("move", format_path(parse_path(written.strip())), to=format_path(parse_path(to.strip())))
