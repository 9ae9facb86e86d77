"""Which modules are the agent's own: only their names are replaced. SDKs keep theirs, being above recorded bytes."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from agent_tt.recording.call_site import is_agent_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["AgentModules"]


class AgentModules:
    """The modules whose files lie in the agent's project, and are not installed there.

    Args:
        root: the project's folder.
        also: names of further modules, installed ones too; those below them as well.
    """

    def __init__(self, root: str | Path, also: tuple[str, ...] = ()) -> None:
        self._root = str(Path(root).resolve())
        self._also = also
        self._others: dict[str, object] = {}

    def loaded(self) -> Iterator[tuple[str, ModuleType]]:
        """Those that are loaded now, by name."""
        for name in list(sys.modules):  # not their items: so many new tuples set the garbage collector going
            module = sys.modules.get(name)
            if module is None or self._others.get(name) is module:
                continue
            if issubclass(type(module), ModuleType) and self.owns(object.__getattribute__(module, "__dict__")):
                yield name, module
            else:
                self._others[name] = module  # nearly all of a large program: the next time they cost a look

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
