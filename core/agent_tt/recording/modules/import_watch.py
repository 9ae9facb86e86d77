"""Being called when a module has been executed, before whoever imports it sees it."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["ImportWatch"]

_LOG = logging.getLogger(__name__)


class ImportWatch:
    """Lets the other finders find a module, and hands it over once it has been executed.

    A finder by its shape: the class of finders comes with a hundred modules more.

    Attributes:
        names: the modules that are watched for.
    """

    def __init__(self, executed: Callable[[str, ModuleType], None]) -> None:
        self.names: set[str] = set()
        self._executed = executed
        self._asking: set[tuple[int, str]] = set()

    def watch(self, name: str) -> None:
        """Watch for one more module."""
        self.names.add(name)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Watch for none."""
        self.names.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders give, with its execution watched."""
        asked = (threading.get_ident(), fullname)
        if fullname not in self.names or asked in self._asking:  # another finder that asks all others, us too
            return None
        self._asking.add(asked)
        try:
            for finder in sys.meta_path:
                find = None if finder is self else getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = None if find is None else find(fullname, path, target)
                if spec is not None:
                    self._watch(spec)
                    return spec
        finally:
            self._asking.discard(asked)
        return None

    def _watch(self, spec: ModuleSpec) -> None:
        """Watch on the loader itself: what asks a module for its loader must find the real one."""
        loader, name = spec.loader, spec.name
        execute: Callable[[ModuleType], None] | None = getattr(loader, "exec_module", None)
        if loader is None or execute is None:  # a namespace package, which executes nothing
            return

        before = vars(loader).get("exec_module")

        def exec_module(module: ModuleType) -> None:
            is_ours = module.__spec__ is spec  # some loaders serve several modules
            if is_ours and vars(loader).get("exec_module") is exec_module:
                if before is None:
                    del loader.exec_module
                else:
                    loader.exec_module = before  # type: ignore[method-assign]
            execute(module)
            if is_ours:
                self._executed(name, module)

        try:
            loader.exec_module = exec_module  # type: ignore[method-assign]
        except AttributeError:
            _LOG.warning("what %s does cannot be recorded: its loader %r cannot be watched", name, loader)
