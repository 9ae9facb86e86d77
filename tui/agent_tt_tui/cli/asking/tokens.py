"""The token of a server that a command starts: given by the environment or a file, else a new one."""

from __future__ import annotations

import os
import secrets
import stat
from typing import TYPE_CHECKING, Final

from agent_tt.errors import UsageError
from agent_tt.serving.listening import SHORTEST_TOKEN

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["chosen_token", "token_in"]

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_NEW_BYTES: Final = 32


def chosen_token(variable: str, file: Path | None = None) -> tuple[str, bool]:
    """The token that every request has to bring, and whether it is a new one, which has to be shown once.

    Args:
        variable: the name of the variable of the environment.
        file: the file that was named; it counts before the variable.

    Raises:
        UsageError: the token is too short, or the file cannot be read, or others can read it.
    """
    given = token_in(file) if file is not None else os.environ.get(variable)
    if given is None:
        return secrets.token_urlsafe(_NEW_BYTES), True
    if len(given) < SHORTEST_TOKEN:
        where = variable if file is None else str(file)
        raise UsageError(f"{where} has {len(given)} characters", hint=f"Take {SHORTEST_TOKEN} at least.")
    if not given.isascii() or not given.isprintable():
        raise UsageError(
            f"{variable if file is None else file} holds what no header can carry", hint="Take letters and digits."
        )
    return given, False


def token_in(file: Path) -> str:
    """The token in a file that nobody else can read, without the end of its line.

    Raises:
        UsageError: it cannot be read, or others can read it.
    """
    try:
        with file.open(encoding="utf-8") as opened:
            if os.name == "posix" and os.fstat(opened.fileno()).st_mode & _OTHERS:
                raise UsageError(f"others can read {file}", hint=f"chmod 600 {file}")
            return opened.read(4096).strip()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not text", hint="Write the token into it, alone.") from error
