"""Event loops of uvloop in a replay: they are made asyncio's own, because uvloop's clock cannot be moved."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.import_watch import ImportWatch

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["StandardLoops"]

_UVLOOP: Final = "uvloop"


class StandardLoops:
    """While it is applied, `uvloop.Loop()` makes a loop of asyncio, wherever it is asked for.

    Attributes:
        made: how many were made.
    """

    def __init__(self) -> None:
        self.made = 0
        self._imports = ImportWatch(self._replace)
        self._patch: Patch | None = None

    def apply(self) -> None:
        """Replace what is loaded; else as soon as it is."""
        module = sys.modules.get(_UVLOOP)
        if module is None:
            self._imports.watch(_UVLOOP)
        else:
            self._replace(_UVLOOP, module)

    def undo(self) -> None:
        """Give uvloop's own again."""
        self._imports.stop()
        if self._patch is not None:
            self._patch.undo()

    def _replace(self, _: str, module: ModuleType) -> None:
        kind = getattr(module, "Loop", None)
        if isinstance(kind, type):
            self._patch = Patch(kind, "__new__", self._maker(kind))
            self._patch.apply()

    def _maker(self, kind: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        import asyncio

        class StandardLoop(asyncio.SelectorEventLoop):
            """Passes for one of uvloop's, as `uvloop.run` demands."""

            @property
            def __class__(self) -> type:
                return kind

            @__class__.setter
            def __class__(self, _: type) -> None:
                """It stays what it is."""

        def make(_: Callable[..., Any]) -> Callable[..., Any]:
            def new(*_args: object, **_options: object) -> asyncio.SelectorEventLoop:
                self.made += 1
                return StandardLoop()

            return new

        return make
