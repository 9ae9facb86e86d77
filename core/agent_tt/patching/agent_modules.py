"""Which modules are the agent's own: only their names are replaced. SDKs keep theirs, being above recorded bytes."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from agent_tt.recording.calls.site import is_agent_file
from agent_tt.recording.modules.loaded_modules import changed_modules, namespace_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AgentModules"]


class _Known:
    """Which modules are an agent's.

    Attributes:
        names: what they are called.
        searched: the moment of the look at all modules since which the others are not asked yet.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.searched = 0


@lru_cache(maxsize=16)
def _known_modules(_root: str, _also: tuple[str, ...]) -> _Known:
    """What was found the last time, of thousands of modules: one replay asks several times."""
    return _Known()


class AgentModules:
    """The modules whose files lie in the agent's project, and are not installed there.

    Args:
        root: the project's folder.
        also: names of further modules, installed ones too; those below them as well.
    """

    def __init__(self, root: str | Path, also: tuple[str, ...] = ()) -> None:
        self._root = str(Path(root).resolve())
        self._also = also
        self._known = _known_modules(self._root, also)

    def loaded(self) -> list[tuple[str, ModuleType]]:
        """Those that are loaded now, by name."""
        known = self._known
        moment, changed = changed_modules(known.searched)
        asked = {name: self.owns(namespace_of(module)) for name, module in changed}
        main = sys.modules.get("__main__")
        if main is not None and issubclass(type(main), ModuleType):
            asked["__main__"] = self.owns(namespace_of(main))  # it gets its file late, in place of another
        ours = [name for name in known.names if name not in asked]
        ours += [name for name, is_ours in asked.items() if is_ours]
        known.searched, known.names = moment, tuple(ours)
        return [(name, module) for name in ours if (module := sys.modules.get(name)) is not None]

    def owns(self, namespace: Mapping[str, object]) -> bool:
        """Whether the module that has these globals is the agent's."""
        file = namespace.get("__file__")
        is_inside = isinstance(file, str) and _lies_in(file, self._root)
        if not is_inside and not self._also:
            return False  # nearly all modules of a large program, each time that they are gone through
        name = namespace.get("__name__")
        if not isinstance(name, str) or name.partition(".")[0] == "agent_tt":
            return False
        return is_inside or any(name == other or name.startswith(f"{other}.") for other in self._also)


@lru_cache(maxsize=1 << 16)  # more than a program has modules: a smaller one would forget each before it is asked again
def _lies_in(file: str, root: str) -> bool:
    if not is_agent_file(file):
        return False
    path = Path(file).resolve()
    return path.is_relative_to(root) and is_agent_file(str(path))
