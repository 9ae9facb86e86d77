"""Commands of the user's own: a command line in which names in braces stand for what is shown."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NAMES", "filled", "read_line"]

NAMES: Final = ("run", "name", "step", "path", "value", "store")
"""What can stand in braces."""

_BRACES: Final = re.compile(r"\{(\w*)\}")


def read_line(line: str, name: str) -> list[str]:
    """The words of a command line.

    Raises:
        UsageError: it cannot be read, or has a name in braces that there is not.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"commands.{name} cannot be read: {error}", hint=f"It is {line}") from error
    unknown = next((found for word in words for found in _BRACES.findall(word) if found not in NAMES), None)
    if unknown is not None:
        raise UsageError(f"commands.{name}: there is no {{{unknown}}}", hint=f"There are {', '.join(NAMES)}.")
    return words


def filled(line: str, name: str, values: Mapping[str, str | None]) -> list[str]:
    """The words of a command line with what is shown in them. A value stays one word, whatever it holds.

    Args:
        line: the command line.
        name: what the command is called.
        values: what the names in braces stand for; None for what is not there.

    Raises:
        UsageError: a value is not there, or no program can be given it.
    """

    def value(match: re.Match[str]) -> str:
        found = values[match[1]]
        if found is None:
            raise UsageError(f"{name} is about a {match[1]}, and none is selected")
        if "\0" in found:
            raise UsageError(f"the {match[1]} holds a character that no program can be given")
        return found

    return [_BRACES.sub(value, word) for word in read_line(line, name)]
