"""psycopg, the client of PostgreSQL, as everything here imports it; and whether the agent of a process uses it, too.

A recording says which libraries of its agent no guard sees. This one is loaded because of the store, so that has to be
told apart: the module notes whether anybody else asks it for something.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

from agent_tt.errors import UsageError

_WAS_THERE: Final = "psycopg" in sys.modules

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader
except ImportError as missing:  # also where psycopg finds no client library of PostgreSQL
    raise UsageError(
        "psycopg, which speaks with PostgreSQL, is not installed here", hint="pip install 'agent-tt[postgres]'"
    ) from missing

__all__ = ["Int8BinaryDumper", "NumericBinaryLoader", "conninfo_to_dict", "only_ours", "psycopg"]

_OURS: Final = ("agent_tt.", "psycopg", "importlib.")
"""How the names of modules begin that ask it for us."""

_ASKED: Final[list[str]] = []
"""The first thing that somebody else has asked it for."""


class _Watched(ModuleType):
    """A module that notes who asks it for something."""

    def __getattribute__(self, name: str) -> Any:
        if not _ASKED and not name.startswith("__"):
            asks = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001  there is no other way to tell
            if not str(asks).startswith(_OURS):
                _ASKED.append(name)
        return super().__getattribute__(name)


def only_ours() -> tuple[str, ...]:
    """The libraries that are loaded because of the store alone, by the names that people install them under."""
    return () if _WAS_THERE or _ASKED else ("psycopg", "psycopg_binary")


if not _WAS_THERE:
    psycopg.__class__ = _Watched
