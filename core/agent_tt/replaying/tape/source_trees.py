"""Parsing the source of agents, from several threads at once."""

from __future__ import annotations

import ast
import threading
from typing import Final

__all__ = ["parse_source"]

_LOCK: Final = threading.Lock()
_ATTEMPTS: Final = 5


def parse_source(source: str | bytes, filename: str = "<unknown>") -> ast.Module:
    """The syntax tree of a module; see `ast.parse`.

    Where threads parse at once, Python 3.11 may fail with a SystemError ("AST constructor recursion depth mismatch",
    <https://github.com/python/cpython/issues/106905>): ours take turns, and what an agent's own threads disturb is
    done again.

    Raises:
        SyntaxError: it is not valid Python.
        ValueError: it holds NUL characters.
        RecursionError: it is nested too deeply.
    """
    is_ours = _LOCK.acquire(timeout=1)  # a process that was forked may have inherited it held
    try:
        for _ in range(_ATTEMPTS - 1):
            try:
                return ast.parse(source, filename=filename)
            except SystemError:
                continue
        return ast.parse(source, filename=filename)
    finally:
        if is_ours:
            _LOCK.release()
