"""Ways in for other packages: what they bring is found by their entry points and loaded when it is needed.

```toml
[project.entry-points."agent_tt.providers"]
hello = "agent_tt_hello:Hello"
```

The groups are `agent_tt.sources`, `agent_tt.formats`, `agent_tt.providers`, `agent_tt.frameworks`, `agent_tt.executors`
and `agent_tt.exports`. Ours come in
the same way: our own `pyproject.toml` declares them, and the code that uses a group has the same rows, so that ours are
used without a look at what is installed. A test compares the two.

A plug-in that cannot be used (it is gone, raises on import, or is something else than its group wants) is told once, in
the log at level WARNING, and left out: recording, opening and agents go on. Only what is installed decides what is
loaded, never a file that is read.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from agent_tt._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Plugin", "PluginFailed", "Plugins", "load_place", "told_elsewhere"]

_OURS: Final = "agent-tt"
_PREFIX: Final = "agent_tt."
_INFO: Final = (".dist-info", ".egg-info")
_OUR_INFO: Final = "agent_tt-"

T = TypeVar("T")


class Plugin(NamedTuple):
    """One entry point of an installed package.

    Attributes:
        group: one of those above, `agent_tt.sources`.
        name: its name in the group.
        value: where it is: `module:attribute`.
        package: the package that brings it.
        version: the package's version; empty where it does not say.
    """

    group: str
    name: str
    value: str
    package: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} of {self.package} {self.version}".rstrip()


class PluginFailed(Exception):
    """A plug-in cannot be used. The message says why, as what follows its name: `is a list, not a function`."""


class Plugins(Generic[T]):
    """The plug-ins of one group. Safe to use from several threads.

    Args:
        group: the entry point group.
        ours: the rows of our own package in it: `module:attribute` by name.
        accept: turns what an entry point names into what the group is used as; raises PluginFailed for anything else.
    """

    def __init__(self, group: str, ours: Mapping[str, str], accept: Callable[[object], T]) -> None:
        self.group = group
        self._accept = accept
        self._rows = tuple(Plugin(group, name, value, _OURS, __version__) for name, value in ours.items())
        self._added: dict[str, T] = {}
        self._loaded: dict[Plugin, T] = {}
        self._told: set[Plugin] = set()
        self._ours: tuple[tuple[str, T], ...] = ()
        self._others: tuple[tuple[str, T], ...] = ()
        self._looked_in: list[str] = []

    def add(self, name: str, found: T) -> None:
        """Add one that this process brings itself, without an entry point; it takes the place of one of that name."""
        self._added[name] = found
        self._looked_in = []

    @property
    def added(self) -> Mapping[str, T]:
        """Those of `add`, by name."""
        return self._added

    def ours(self) -> tuple[tuple[str, T], ...]:
        """List our own, with their names, in order. What is installed is not looked at."""
        if not self._ours:
            self._ours = tuple((plugin.name, self.load(plugin)) for plugin in self._rows)
        return self._ours

    def others(self) -> tuple[tuple[str, T], ...]:
        """List those of this process, then those of other packages, with their names; log those that cannot be used."""
        if self._looked_in != sys.path:
            looked_in = list(sys.path)
            self._others = (*self._added.items(), *self._usable())
            self._looked_in = looked_in
        return self._others

    def all(self) -> Iterator[tuple[str, T]]:
        """Yield ours, then the others; those are looked for only when ours are used up."""
        yield from self.ours()
        yield from self.others()

    def named(self, name: str) -> T:
        """Give one that was loaded before.

        Raises:
            LookupError: there is none of that name.
        """
        known = {plugin.name: found for plugin, found in self._loaded.items()} | self._added
        if name not in known:
            raise LookupError(name)
        return known[name]

    def declared(self) -> dict[str, Plugin]:
        """Find all plug-ins that packages declare, by name, ours first. None of them is loaded."""
        return {plugin.name: plugin for plugin in self._rows} | self.installed()

    def installed(self) -> dict[str, Plugin]:
        """Find the plug-ins that other packages declare, by name. None of them is loaded."""
        return {plugin.name: plugin for plugin, taken_by in self._declared() if taken_by is None}

    def load(self, plugin: Plugin) -> T:
        """Load one, once. Two threads may both load it: no lock is held while a module is imported.

        Raises:
            PluginFailed: it cannot be used.
        """
        if plugin not in self._loaded:
            try:
                self._loaded[plugin] = self._accept(load_place(plugin.value))
            except PluginFailed:
                raise
            except (Exception, SystemExit) as error:
                why = PluginFailed(f"cannot be imported: {_said_of(error)}")
                raise why from error
        return self._loaded[plugin]

    def look(self) -> Iterator[tuple[Plugin, str]]:
        """Yield every plug-in, ours first, and why it cannot be used; "" for one that can. All of them are loaded."""
        for plugin, taken_by in [*((row, None) for row in self._rows), *self._declared()]:
            yield plugin, self._problem(plugin, taken_by)

    def _usable(self) -> Iterator[tuple[str, T]]:
        for plugin, taken_by in self._declared():
            why = self._problem(plugin, taken_by)
            if not why:
                yield plugin.name, self.load(plugin)
            elif plugin not in self._told:
                self._told.add(plugin)
                _warn(
                    "the plug-in %s %s (%s, %s). It is left out. Update or uninstall %s; `agent-tt plugins` lists all.",
                    *(plugin, why, plugin.group, plugin.value, plugin.package),
                )

    def _problem(self, plugin: Plugin, taken_by: Plugin | None) -> str:
        """Why a plug-in cannot be used; "" where it can."""
        if taken_by is not None:
            return f"has the name of one of {taken_by.package}"
        try:
            self.load(plugin)
        except PluginFailed as why:
            return str(why)
        return ""

    def _declared(self) -> list[tuple[Plugin, Plugin | None]]:
        """The plug-ins of other packages, each with the one that has its name already, if there is one."""
        owners = {plugin.name: plugin for plugin in self._rows}
        found: list[tuple[Plugin, Plugin | None]] = []
        for plugin in _scan_here():
            if plugin.group == self.group:
                found.append((plugin, owners.get(plugin.name)))
                owners.setdefault(plugin.name, plugin)
        return found


def load_place(place: str) -> object:
    """Import what stands at `module:attribute`.

    Raises:
        AttributeError: the module has no such attribute.
        Exception: whatever the module raises.
    """
    module, _, attributes = place.partition("[")[0].strip().partition(":")
    found: object = importlib.import_module(module)
    for name in attributes.split(".") if attributes else ():
        found = getattr(found, name)
    return found


@contextmanager
def told_elsewhere() -> Iterator[None]:
    """Count what cannot be used as told while the block lasts: another process of the same command has told it."""
    token = _IS_TOLD.set(True)
    try:
        yield
    finally:
        _IS_TOLD.reset(token)


_IS_TOLD: Final = ContextVar("agent_tt_plugins_told", default=False)


def _warn(text: str, *args: object) -> None:
    if _IS_TOLD.get():
        return
    import logging  # which takes longer to import than all else here

    logging.getLogger(__name__).warning(text, *args)


def _said_of(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _scan_here() -> tuple[Plugin, ...]:
    return _scan(tuple(folder for folder in sys.path if isinstance(folder, str)))


@lru_cache(maxsize=4)
def _scan(folders: tuple[str, ...]) -> tuple[Plugin, ...]:
    """What the packages in some folders bring, in their order; a package found again further on is left out.

    Most often nobody brings anything. So the files are searched for a group of ours first, which takes 3 ms for a
    hundred packages; `importlib.metadata` takes five times as long, and its own import more than that.
    """
    infos = [info for folder in folders for info in _infos(folder or ".")]
    if not infos:
        return ()
    from importlib.metadata import PathDistribution

    found: list[Plugin] = []
    seen = {_OURS}
    for info in infos:
        stem = info.name.removesuffix(info.suffix).partition("-")
        try:
            package = PathDistribution(info)
            name, version = package.metadata["Name"] or stem[0], package.metadata["Version"] or stem[2]
            if name.lower().replace("_", "-") in seen:
                continue
            seen.add(name.lower().replace("_", "-"))
            found += [
                Plugin(entry.group, entry.name, entry.value, name, version)
                for entry in package.entry_points
                if entry.group.startswith(_PREFIX)
            ]
        except Exception as error:  # noqa: BLE001  files that others wrote
            _warn("the entry points in %s are left out: %s", info, _said_of(error))
    return tuple(found)


def _infos(folder: str) -> Iterator[Path]:
    """Yield where the packages in a folder are described that name a group of ours."""
    try:
        names = os.listdir(folder)  # noqa: PTH208  in half the time
    except OSError:
        return
    for name in sorted(name for name in names if name.endswith(_INFO) and not name.startswith(_OUR_INFO)):
        try:
            text = Path(folder, name, "entry_points.txt").read_bytes()
        except OSError:
            continue
        if _PREFIX.encode() in text:
            yield Path(folder, name)
