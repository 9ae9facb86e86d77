"""Dotted paths such as `my_app.api.charge`: which part is the module, and whether the rest can be there.

Nothing is imported: a module that is not loaded yet is found by asking the finders, and its source is read for the
names that it binds.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import NotFound, UsageError
from agent_tt.replaying.tape.source_trees import parse_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import ModuleType

__all__ = ["DottedPath", "check_names", "names_in_source", "split_path"]

_HINT: Final = "write it as package.module.function, package.module.Class.method or package.module.object.method"


@dataclass(frozen=True, slots=True)
class DottedPath:
    """A path taken apart.

    Attributes:
        text: as it was written.
        module: the module's name.
        names: what leads from the module to the function, at least one.
    """

    text: str
    module: str
    names: tuple[str, ...]

    @property
    def shown(self) -> str:
        """What calls of it are called: the function, with what it is taken from where that is not a module."""
        return ".".join(self.names[-2:])


def split_path(text: str, *, folder: Path | None = None) -> DottedPath:
    """Take a path apart: its longest beginning that is a module, and the rest.

    Args:
        text: the path.
        folder: a folder that Python will search first.

    Raises:
        UsageError: it is not a dotted path.
        NotFound: there is no such module; `nearest` offers names.
    """
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise UsageError(f"{text!r} is not a dotted path", hint=_HINT)
    if parts[0] == "__main__":
        return DottedPath(text, "__main__", tuple(parts[1:]))
    search = None if folder is None else [str(folder), *sys.path]
    found = 0
    for depth in range(1, len(parts)):
        module = ".".join(parts[:depth])
        if module not in sys.modules:
            spec = _spec(module, search)
            if spec is None:
                break
            search = list(spec.submodule_search_locations or ())
        else:
            search = list(getattr(sys.modules[module], "__path__", ()))
        found = depth
    if not found:
        near = difflib.get_close_matches(parts[0], _top_level(folder), n=3)
        raise NotFound(
            f"{text}: there is no module {parts[0]!r}",
            hint="" if near else "check the spelling, and that it lies beside the script or is installed",
            nearest=near,
        )
    return DottedPath(text, ".".join(parts[:found]), tuple(parts[found:]))


def check_names(path: DottedPath, *, folder: Path | None = None) -> None:
    """Refuse a path whose module is not loaded and, by its source, does not bind the name.

    Args:
        path: the path.
        folder: a folder that Python will search first.

    Raises:
        NotFound: the name is not there; `nearest` offers others.
    """
    source = _source_of(path.module, folder)
    known: dict[str, ast.ClassDef | None] | None = None if source is None else names_in_source(source)
    for depth, name in enumerate(path.names):
        if known is None:
            return
        if name not in known:
            raise missing(path, depth, known)
        inside = known[name]
        known = None if inside is None or inside.bases or inside.keywords else _bound(inside.body)


def missing(path: DottedPath, depth: int, known: Iterable[str]) -> NotFound:
    """The error of a path that leads nowhere.

    Args:
        path: the path.
        depth: position in its names of the one that is missing.
        known: names that are there.
    """
    name, owner = path.names[depth], ".".join((path.module, *path.names[:depth]))
    near = difflib.get_close_matches(name, list(known), n=3)
    return NotFound(
        f"{path.text}: {owner} has no {name!r}",
        hint="" if near else _HINT,
        nearest=[f"{owner}.{word}" for word in near],
    )


def names_in_source(source: str) -> dict[str, ast.ClassDef | None] | None:
    """The names that a module binds, classes with what they are; None where its source does not say them all."""
    try:
        tree = parse_source(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _bound(tree.body)


def _bound(body: Sequence[ast.stmt]) -> dict[str, ast.ClassDef | None] | None:
    found: dict[str, ast.ClassDef | None] = {}
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.ClassDef):
            found[node.name] = None if node.decorator_list else node
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = None
            if node.name in ("__getattr__", "__getattribute__"):
                return None
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    return None
                found[alias.asname or alias.name.partition(".")[0]] = None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("globals", "exec"):
            return None
        elif not isinstance(node, ast.Lambda):
            todo += ast.iter_child_nodes(node)
    return found


def _source_of(module: str, folder: Path | None) -> str | None:
    search = None if folder is None else [str(folder), *sys.path]
    spec: ModuleSpec | None = None
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:depth]), search)
        if spec is None:
            return None
        search = list(spec.submodule_search_locations or ())
    get_source = getattr(spec.loader if spec is not None else None, "get_source", None)
    try:
        found = get_source(module) if get_source is not None else None
    except (ImportError, OSError, ValueError):
        return None
    return found if isinstance(found, str) else None


def _spec(module: str, search: Sequence[str] | None) -> ModuleSpec | None:
    """Where a module would be loaded from, found without importing the packages around it."""
    loaded: ModuleType | None = sys.modules.get(module)
    spec = getattr(loaded, "__spec__", None)
    if isinstance(spec, ModuleSpec):
        return spec
    try:
        if search is not None:
            spec = PathFinder.find_spec(module, search)
        if spec is None and "." not in module:
            spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return spec if isinstance(spec, ModuleSpec) else None


def _top_level(folder: Path | None) -> list[str]:
    """Names of modules that a person may have meant."""
    names = {name for name in sys.modules if "." not in name and not name.startswith("_")}
    for place in (folder, Path.cwd()):
        if place is not None and place.is_dir():
            names |= {entry.stem for entry in place.iterdir() if entry.suffix == ".py" or entry.is_dir()}
    return sorted(names)
