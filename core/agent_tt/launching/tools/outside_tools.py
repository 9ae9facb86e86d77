"""Functions that are recorded without a change to their code: named by dotted path, or given.

A path is checked when it is registered, and its calls are recorded from the moment its module is loaded, through
whatever reference they are made; see `wrapping`. Of functions written in C, what cannot be given a replacement is told
by name: calls through it are not recorded.
"""

from __future__ import annotations

import sys
import threading
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, NotFound, UsageError
from agent_tt.launching.tools.dotted import DottedPath, check_names, split_path
from agent_tt.launching.tools.main_watch import MainWatch
from agent_tt.launching.tools.wrapping import How, replace_at, replace_function
from agent_tt.recording.modules.import_watch import ImportWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from agent_tt.launching.interpreter import PythonCommand
    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.launching.tools.wrapping import Replaced

__all__ = ["OUTSIDE", "Held", "OutsideTools", "UnrecordedCalls", "register"]

_EFFECTS: Final = ("read", "write", "llm")
_MAIN: Final = "__main__"


class UnrecordedCalls(UserWarning):
    """Something still holds a function in its original form: calls through it are not recorded."""


@dataclass(frozen=True, slots=True)
class Held:
    """A function written in C that something holds where it cannot be replaced.

    Attributes:
        path: by which it was named.
        effect: what its calls do.
        where: what holds it, in words.
    """

    path: str
    effect: OutsideEffect
    where: tuple[str, ...]

    @property
    def message(self) -> str:
        """What a person is told."""
        return (
            f"{self.path} is also held by {', '.join(self.where)}: calls through it are not recorded. Register it "
            "before the module that keeps it is imported, or call it through a function marked with @agent_tt.tool."
        )


def _warn(held: Held) -> None:
    warnings.warn(held.message, UnrecordedCalls, stacklevel=5)


def _raise(error: AgentTTError) -> None:
    raise error


class OutsideTools:
    """Everything that was registered in this process.

    Attributes:
        tell: what is done about a function that something holds where it cannot be replaced; a warning, unless set.
        fail: what is done when a path turns out to lead nowhere as its module loads; it is raised, unless set.
        told: what hears of the first call of a path in this process; nothing, unless set.
    """

    def __init__(self) -> None:
        self.tell: Callable[[Held], None] = _warn
        self.fail: Callable[[AgentTTError], None] = _raise
        self.told: Callable[[str], None] | None = None
        self._lock = threading.RLock()
        self._paths: dict[str, OutsideEffect] = {}
        self._waiting: dict[str, list[DottedPath]] = {}
        self._replaced: list[Replaced] = []
        self._called: set[str] = set()
        self._names: dict[str, str] = {}
        self._watch = ImportWatch(self._loaded)
        self._main = MainWatch()

    def register(self, text: str, effect: OutsideEffect) -> None:
        """Record the calls of what a dotted path leads to.

        Raises:
            UsageError: the effect is another word, or the path leads to something that cannot be replaced.
            NotFound: it leads nowhere; `nearest` offers names.
        """
        _check_effect(effect)
        path = split_path(text)
        module = sys.modules.get(path.module)
        if module is None:
            check_names(path)
        with self._lock:
            self._paths[text] = effect
            self._names[text] = path.shown
            if module is not None and not _is_loading(module):
                self._replace(module, path)
            else:
                self._wait(path)

    def register_function(self, function: Callable[..., object], effect: OutsideEffect, name: str | None) -> None:
        """Record the calls of a function, through whatever reference they are made."""
        _check_effect(effect)
        shown = name or str(getattr(function, "__name__", type(function).__name__))
        path = f"{getattr(function, '__module__', '?')}.{shown}"
        with self._lock:
            self._remember(path, effect, replace_function(function, self._how(path, shown, effect)))

    def register_in(self, module: ModuleType, text: str, effect: OutsideEffect) -> None:
        """Record what was named of `__main__`, in a module that stands for it.

        Raises:
            UsageError, NotFound: as for `register`.
        """
        _check_effect(effect)
        path = DottedPath(text, module.__name__, tuple(text.split(".")[1:]))
        with self._lock:
            self._paths[text] = effect
            self._names[text] = path.shown
            self._replace(module, path)

    def register_for_start(
        self, calls: Mapping[str, OutsideEffect], command: PythonCommand, *, is_strict: bool
    ) -> None:
        """Register what a program that is about to start will load.

        Args:
            calls: effects by dotted path.
            command: the program.
            is_strict: whether a path that leads nowhere is an error; else it is left out: other programs that the
                command starts do not have it.

        Raises:
            UsageError, NotFound: as for `register`.
        """
        folder = command.folder()
        script = Path(command.target) if command.kind == "script" else None
        for text, effect in calls.items():
            try:
                self._register_for_start(text, effect, folder, script)
            except (UsageError, NotFound):
                if is_strict:
                    raise

    def _register_for_start(self, text: str, effect: OutsideEffect, folder: Path | None, script: Path | None) -> None:
        _check_effect(effect)
        path = split_path(text, folder=folder)
        is_script = script is not None and path.module == script.stem and script.parent.resolve() == folder
        if path.module == _MAIN or is_script:
            self._check_script(path, script)
        else:
            check_names(path, folder=folder)
        with self._lock:
            self._paths[text] = effect
            self._names[text] = path.shown
            loaded = None if is_script or path.module == _MAIN else sys.modules.get(path.module)
            if loaded is not None:  # of the standard library: we needed it before the program did
                self._replace(loaded, path)
                return
            self._wait(path)
            if path.module == _MAIN or is_script:
                in_main = DottedPath(text, _MAIN, path.names)
                self._main.wait_for(path.names[0], lambda: self._replace_or_fail(sys.modules[_MAIN], in_main))

    def _check_script(self, path: DottedPath, script: Path | None) -> None:
        """A script is checked by its source, as a module is."""
        if script is None or script.suffix != ".py" or not script.is_file():
            return
        from agent_tt.launching.tools.dotted import missing, names_in_source

        known = names_in_source(script.read_text(encoding="utf-8", errors="replace"))
        if known is not None and path.names[0] not in known:
            raise missing(path, 0, known)

    def names(self) -> dict[str, str]:
        """The names under which calls are recorded, by dotted path."""
        with self._lock:
            return dict(self._names)

    def unmatched(self) -> list[str]:
        """Paths of which no call was made so far, in the order of registration."""
        with self._lock:
            return [text for text in self._paths if text not in self._called]

    def undo(self) -> None:
        """Put everything back and forget it."""
        with self._lock:
            self._watch.stop()
            self._main.stop()
            self.tell, self.fail, self.told = _warn, _raise, None
            for replaced in reversed(self._replaced):
                replaced.undo()
            self._paths.clear()
            self._waiting.clear()
            self._replaced.clear()
            self._called.clear()
            self._names.clear()

    def _wait(self, path: DottedPath) -> None:
        if path.module != _MAIN:
            self._waiting.setdefault(path.module, []).append(path)
            self._watch.watch(path.module)

    def _loaded(self, name: str, module: ModuleType) -> None:
        with self._lock:
            for path in self._waiting.pop(name, []):
                self._replace_or_fail(module, path)

    def _replace_or_fail(self, module: ModuleType, path: DottedPath) -> None:
        try:
            self._replace(module, path)
        except AgentTTError as error:
            self.fail(error)

    def _replace(self, module: ModuleType, path: DottedPath) -> None:
        effect = self._paths[path.text]
        self._remember(path.text, effect, replace_at(module, path, self._how(path.text, path.shown, effect)))

    def _how(self, path: str, shown: str, effect: OutsideEffect) -> How:
        return How(shown, effect, partial(self._was_called, path))

    def _was_called(self, path: str) -> None:
        if path not in self._called:
            self._called.add(path)
            if self.told is not None:
                self.told(path)

    def _remember(self, path: str, effect: OutsideEffect, replaced: Replaced | None) -> None:
        if replaced is None:
            return
        self._replaced.append(replaced)
        if replaced.held:
            self.tell(Held(path, effect, replaced.held))


OUTSIDE: Final = OutsideTools()


def register(target: str | Callable[..., object], effect: OutsideEffect = "write", *, name: str | None = None) -> None:
    """Record the calls of a function without a change to its code.

    `agent_tt.register("my_app.api.charge", effect="write")` takes a dotted path to a function, to a method of a class
    or of an object (`my_app.llm.invoke`), loaded or not; `agent_tt.register(charge, effect="write")` the function. Do
    it before the modules that use it are imported: what they keep in dicts, default arguments or partials can no longer
    be replaced then, which is warned of.

    ```python
    agent_tt.register("json.dumps", effect="read")
    import json  # and whatever else of the program's own
    ```

    Args:
        target: what is called.
        effect: `read` when a call changes nothing in the world, `write` when it may, `llm` when it asks a model.
        name: what the calls of a given function are called, in place of its own name.

    Raises:
        UsageError: the effect is another word, or `target` is nothing whose calls can be recorded.
        NotFound: the path leads nowhere; `nearest` offers names that look like it.
    """
    if isinstance(target, str):
        OUTSIDE.register(target, effect)
    else:
        OUTSIDE.register_function(target, effect, name)


def _check_effect(effect: str) -> None:
    if effect not in _EFFECTS:
        raise UsageError(f"{effect!r} is not an effect", hint=f"it is one of {', '.join(_EFFECTS)}")


def _is_loading(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
