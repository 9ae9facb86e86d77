"""Parsing the source of agents, and of what they import of their project. Nothing is imported."""

from __future__ import annotations

import ast
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["parse_source", "project_sources"]

_LOCK: Final = threading.Lock()
_ATTEMPTS: Final = 5
_MOST_FILES: Final = 200
_MOST_BYTES: Final = 2_000_000


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


def project_sources(
    first: Path | None, folders: Sequence[Path], *, within: Path | None = None
) -> Iterator[tuple[Path, ast.Module]]:
    """A file and the modules that it imports, and those import, parsed; in the order in which they are found.

    What cannot be read or parsed is left out.

    Args:
        first: the file; None gives nothing.
        folders: where modules are looked for, beside the folder of who imports them.
        within: a folder; what lies outside it is left out. None for no such bound.
    """
    waiting, seen = [] if first is None else [first], set[Path]()
    while waiting and len(seen) < _MOST_FILES:
        file = waiting.pop(0)
        if file.resolve() in seen:
            continue
        seen.add(file.resolve())
        try:
            if file.stat().st_size > _MOST_BYTES:
                continue
            tree = parse_source(file.read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        yield file, tree
        waiting += [found for found in _imported(tree, file, folders) if within is None or found.is_relative_to(within)]


def _imported(tree: ast.AST, file: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """The files of the modules that a file imports, where they lie beside it or in `folders`."""
    for node in ast.walk(tree):
        bases = [file.parent, *folders]
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{each.name}".lstrip(".") for each in node.names)]
            if node.level:
                bases = [*file.parents[node.level - 1 : node.level]]
        else:
            continue
        for place in (base.joinpath(*name.split(".")) for name in names if name for base in bases):
            yield from (each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file())
