"""What names an agent: `module:callable` or `path/file.py:callable`, and the source file it names.

Nothing here imports the agent: files are found as Python's path finder would, without running a package's `__init__`.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.errors import InvalidEntryPoint

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EntryPoint", "find_source", "package_of", "parse_entry_point", "resolve_file"]

_FORMS = "write module:callable, module:Class.method or path/file.py:callable"


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """An entry point taken apart.

    Attributes:
        location: a dotted module name, or the path of a file.
        qualname: the callable inside it: `main` or `Agent.run`.
        is_file: whether `location` is a path.
    """

    location: str
    qualname: str
    is_file: bool

    def __str__(self) -> str:
        return f"{self.location}:{self.qualname}"


def parse_entry_point(text: str) -> EntryPoint:
    """Take `module:callable` apart.

    Raises:
        InvalidEntryPoint: it has another form, or the callable lies inside a function.
    """
    location, colon, qualname = text.strip().rpartition(":")
    if not colon or not location or not qualname:
        raise InvalidEntryPoint(f"{text!r} does not name an agent", hint=_FORMS)
    if "<locals>" in qualname:
        raise InvalidEntryPoint(
            f"{text} lies inside another function, where a fork cannot reach it",
            hint="move it to the top of its module, or name another one with --agent",
        )
    if not all(part.isidentifier() for part in qualname.split(".")):
        raise InvalidEntryPoint(f"{qualname!r} in {text!r} is not the name of a callable", hint=_FORMS)
    is_file = location.endswith(".py") or "/" in location
    if not is_file and not all(part.isidentifier() for part in location.split(".")):
        raise InvalidEntryPoint(f"{location!r} in {text!r} is neither a module nor a .py file", hint=_FORMS)
    return EntryPoint(location, qualname, is_file)


def resolve_file(location: str, folders: Sequence[Path]) -> Path | None:
    """The file that a path entry point names: absolute, or relative to the first of `folders` that has it."""
    path = Path(location).expanduser()
    candidates = [path] if path.is_absolute() else [folder / path for folder in folders]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def find_source(entry: EntryPoint, folders: Sequence[Path]) -> Path | None:
    """The source file of an entry point, looked for in `folders` and then where this interpreter looks.

    Returns:
        The file, or None where it is not found from here (another interpreter may still know the module).
    """
    if entry.is_file:
        return resolve_file(entry.location, folders)
    search: Sequence[str] | None = [*map(str, folders), *sys.path]
    parts = entry.location.split(".")
    for depth in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:depth]), search)
        if spec is None:
            return None
        if depth == len(parts):
            return Path(spec.origin) if spec.has_location and spec.origin else None
        if spec.submodule_search_locations is None:
            return None
        search = list(spec.submodule_search_locations)
    return None


def package_of(file: Path) -> tuple[Path, str]:
    """The folder that belongs on `sys.path` for `file`, and the dotted name that the file has from there.

    A file in a package (folders with `__init__.py`) keeps its relative imports working; a script is its own top level.
    """
    folder, parts = file.parent, [file.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)
