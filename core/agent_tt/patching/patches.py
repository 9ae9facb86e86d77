"""Replacing the names of the standard library in the agent's own modules, and putting them back whatever happens.

Modules that are loaded already have their names bound anew; what holds an original elsewhere (a default argument, a
class attribute, a dict) cannot be reached and is listed. Modules that load while patches stand are born patched: what
they import is the stand-in from the start, so nothing in them is missed.
"""

from __future__ import annotations

import builtins
import datetime as dt
import functools
import logging
import random
import threading
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from agent_tt._pattern import lazy_re
from agent_tt.errors import UsageError
from agent_tt.patching.agent_modules import AgentModules
from agent_tt.patching.clock import CLOCK
from agent_tt.patching.kinds import KINDS, PatchKind
from agent_tt.patching.randomness import drawn_state
from agent_tt.patching.replacements import Replacements
from agent_tt.patching.unreached import unreached_places
from agent_tt.recording.scope import here

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = ["KINDS", "PatchKind", "Patching", "moving_clock", "patched", "patched_again"]

_LOG = logging.getLogger(__name__)
_PRESENT: Final = lazy_re(rb"\b(now|utcnow|today)\b")


class Patching:
    """Patches while they stand; made by `patched`.

    Attributes:
        kinds: what is patched.
        unreached: places in the agent's modules that hold an original which could not be replaced: `agent.C.clock`.
    """

    def __init__(self, kinds: Collection[PatchKind], modules: AgentModules, *, sparing: bool = False) -> None:
        """Patches that do not stand yet.

        Args:
            kinds: what is patched.
            modules: whose names.
            sparing: leave `datetime` and `date` alone in modules that do not ask them for the present. Stand-ins for
                classes are not the classes in every respect, and who did not ask for patches is to notice little.
        """
        self.kinds = tuple(kinds)
        self._sparing = sparing
        self.unreached: tuple[str, ...] = ()
        self._modules = modules
        self._replacements = Replacements(kinds)
        self._touched: dict[int, dict[str, object]] = {}
        self._generators: list[tuple[random.Random, Any]] = []
        self._import: Any = None
        self._original_import: Any = None

    def apply(self) -> None:
        """Put the replacements in place."""
        self.bind_names()
        if "random" in self.kinds:
            for name, module in self._modules.loaded():
                self._begin_generators(name, module)
        self._original_import = builtins.__import__
        self._import = builtins.__import__ = self._scoped_import(builtins.__import__)

    def bind_names(self) -> None:
        """Bind the names of the modules that are loaded now."""
        for _, module in self._modules.loaded():
            self._rebind(vars(module))

    def list_unreached(self) -> None:
        """Look for what could not be replaced."""
        self.unreached = unreached_places(self._modules, self._replacements)

    def undo(self) -> None:
        """Put the originals back, under every name; also in modules that were loaded meanwhile."""
        if builtins.__import__ is self._import:
            builtins.__import__ = self._original_import
        elif self._import is not None:
            _LOG.debug("builtins.__import__ was patched by others; ours stays beneath and passes through")
        self._import = None
        for _, module in self._modules.loaded():
            self._touched.setdefault(id(vars(module)), vars(module))
        for namespace in self._touched.values():
            self._unbind(namespace)
        for generator, state in self._generators:
            generator.setstate(state)
        self._touched, self._generators = {}, []

    def _rebind(self, namespace: dict[str, object]) -> None:
        if not self._replacements.has_original(tuple(namespace.values())):
            return
        for name, value in list(namespace.items()):
            replacement = None if name.startswith("__") else self._replacement(value, namespace)
            if replacement is not None:
                self._touched[id(namespace)] = namespace
                namespace[name] = replacement

    def _replacement(self, value: object, namespace: dict[str, object]) -> object | None:
        """What stands for `value` in the module that has these globals, None where nothing does."""
        replacement = self._replacements.replacement(value)
        is_date = value is dt or value is dt.datetime or value is dt.date
        if replacement is not None and is_date and self._sparing and not _asks_for_the_present(namespace):
            return None
        return replacement

    def _unbind(self, namespace: dict[str, object]) -> None:
        if not self._replacements.has_replacement(tuple(namespace.values())):
            return
        for name, value in list(namespace.items()):
            original = self._replacements.original(value)
            if original is not None:
                namespace[name] = original

    def _begin_generators(self, name: str, module: ModuleType) -> None:
        """Let generators of a module that have no seed of their own begin as they did when they were recorded."""
        for key, value in list(vars(module).items()):
            if type(value) is random.Random:
                before = value.getstate()
                state = drawn_state(f"{name}.{key}", value)
                if state != before:
                    value.setstate(state)
                    self._generators.append((value, before))

    def _scoped_import(self, original: Any) -> Any:
        """What gives the agent's modules the stand-ins, and everyone else what they ask for.

        Every import statement of the process comes here, and SDKs have some in functions that they call a thousand
        times for one request: what is not replaced is told by its hash alone, which no audit hook is told of.
        """
        replaced = self._replacements.originals

        @functools.wraps(original)
        def scoped_import(
            name: str,
            globals: Any = None,  # noqa: A002  as it is called
            locals: Any = None,  # noqa: A002
            fromlist: Any = (),
            level: int = 0,
        ) -> Any:
            module = original(name, globals, locals, fromlist, level)
            if type(module) is not ModuleType or module not in replaced:
                return module
            if level or globals is None or self._import is None:
                return module
            replacement = self._replacement(module, globals) if self._modules.owns(globals) else None
            return module if replacement is None else replacement

        return scoped_import


class _Process:
    """What is patched in this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.kinds: set[PatchKind] = set()
        self.moving: Patching | None = None


_PROCESS: Final = _Process()


@contextmanager
def patched(*kinds: PatchKind, root: str | Path | None = None, also: tuple[str, ...] = ()) -> Iterator[Patching]:
    """Record the clock, random numbers, ids and the environment of the agent's own modules while the block lasts.

    ```python
    with agent_tt.record("refund-loop") as run, agent_tt.patched("clock", "ids"):
        ...
    ```

    To be entered inside the recording, and before the agent's modules load where that can be: then nothing is missed.

    Args:
        kinds: `clock`, `random`, `ids`, `env`; all of them where none is named.
        root: the project's folder, in which the agent's modules lie; else that of the recording around, or the working
            directory.
        also: further modules to patch, by name.

    Raises:
        UsageError: there is no such kind, or one is patched already.
    """
    wanted = tuple(kinds) or KINDS
    unknown = [kind for kind in wanted if kind not in KINDS]
    if unknown:
        raise UsageError(f"there is nothing called {unknown[0]!r} to patch", hint=f"choose from {', '.join(KINDS)}")
    with _PROCESS.lock:
        twice = [kind for kind in wanted if kind in _PROCESS.kinds and not (kind == "clock" and not CLOCK.is_drawn)]
        if twice:
            raise UsageError(f"{twice[0]} is patched already in this process", hint="patch in one recording at a time")
        moving, CLOCK.is_drawn = CLOCK.is_drawn, CLOCK.is_drawn or "clock" in wanted
        new = {kind for kind in wanted if kind not in _PROCESS.kinds}
        _PROCESS.kinds.update(new)
    patching = Patching(wanted, AgentModules(root or _root_here(), also))
    try:
        patching.apply()
        patching.list_unreached()
        yield patching
    finally:
        patching.undo()
        with _PROCESS.lock:
            _PROCESS.kinds.difference_update(new)
            CLOCK.is_drawn = moving
            if _PROCESS.moving is not None:  # its names went back to the originals as well
                _PROCESS.moving.bind_names()


@contextmanager
def moving_clock(root: str | Path | None = None, also: tuple[str, ...] = ()) -> Iterator[Patching]:
    """Let the clocks of the agent's modules show the time that a replay has moved on to. Nothing is drawn.

    So a loop that waits for a deadline ends, where the recording did not record its clock. `patched` may be entered
    inside; clocks are drawn while it lasts.
    """
    with _PROCESS.lock:
        if "clock" in _PROCESS.kinds:
            raise UsageError("clock is patched already in this process", hint="patch in one recording at a time")
        _PROCESS.kinds.add("clock")
        CLOCK.is_drawn = False
    kinds: tuple[PatchKind, ...] = ("clock",)
    patching = Patching(kinds, AgentModules(root or _root_here(), also), sparing=True)
    try:
        _PROCESS.moving = patching
        patching.apply()
        yield patching
    finally:
        _PROCESS.moving = None
        patching.undo()
        with _PROCESS.lock:
            _PROCESS.kinds.discard("clock")
            CLOCK.is_drawn = True


@contextmanager
def patched_again(recorded: object, root: str | Path | None = None) -> Iterator[None]:
    """What a replay patches: clocks that move on, and what was patched around the run when it was recorded.

    An agent that says `patched(...)` itself says so again.

    Args:
        recorded: `patched` of the run's metadata: kinds, as `agent-tt record` wrote them; anything else is none.
        root: the project's folder.
    """
    kinds = tuple(kind for kind in KINDS if isinstance(recorded, (list, tuple)) and kind in recorded)
    with moving_clock(root):
        if kinds:
            with patched(*kinds, root=root):
                yield
        else:
            yield


def _asks_for_the_present(namespace: Mapping[str, object]) -> bool:
    file = namespace.get("__file__")
    return isinstance(file, str) and _mentions_the_present(file)


@functools.lru_cache(maxsize=1024)
def _mentions_the_present(file: str) -> bool:
    try:
        text = Path(file).read_bytes()
    except OSError:
        return False
    return _PRESENT.search(text) is not None


def _root_here() -> str | Path:
    scope = here()
    root = None if scope is None else scope.recording.code.root
    return root or Path.cwd()
