"""Functions that are recorded without a change to their code: named by dotted path, or given.

A path is checked when it is registered and replaced when its module is loaded, before the importer sees it; in modules
that are loaded already every name for the same function is replaced at once. What still holds the original (a dict of
tools, a default argument, a partial) is warned of by name: calls through it are not recorded.
"""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError, NotFound, UsageError
from agent_tt.launching.dotted import DottedPath, check_names, split_path
from agent_tt.launching.main_watch import MainWatch
from agent_tt.launching.referrers import holders_of
from agent_tt.launching.wrapping import replace_at, replace_everywhere
from agent_tt.recording.import_watch import ImportWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from agent_tt.launching.interpreter import PythonCommand
    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.launching.wrapping import Replaced

__all__ = ["OUTSIDE", "OutsideTools", "UnrecordedCalls", "register"]

_EFFECTS: Final = ("read", "write", "llm")
_MAIN: Final = "__main__"


class UnrecordedCalls(UserWarning):
    """Something still holds a function in its original form: calls through it are not recorded."""


def _warn(message: str) -> None:
    warnings.warn(message, UnrecordedCalls, stacklevel=5)


def _raise(error: AgentTTError) -> None:
    raise error


class OutsideTools:
    """Everything that was registered in this process.

    Attributes:
        tell: what is done with the message that something still holds an original; a warning, unless set.
        fail: what is done when a path turns out to lead nowhere as its module loads; it is raised, unless set.
    """

    def __init__(self) -> None:
        self.tell: Callable[[str], None] = _warn
        self.fail: Callable[[AgentTTError], None] = _raise
        self._lock = threading.RLock()
        self._paths: dict[str, OutsideEffect] = {}
        self._waiting: dict[str, list[DottedPath]] = {}
        self._replaced: dict[str, Replaced] = {}
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
            if module is not None and not _is_loading(module):
                self._replace(module, path)
            else:
                self._wait(path)

    def register_function(self, function: Callable[..., object], effect: OutsideEffect, name: str | None) -> None:
        """Record the calls of a function under every name that a loaded module has for it."""
        _check_effect(effect)
        shown = name or str(getattr(function, "__name__", type(function).__name__))
        with self._lock:
            replaced = replace_everywhere(function, shown, effect)
            if replaced is not None:
                self._remember(f"{getattr(function, '__module__', '?')}.{shown}", shown, replaced)

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
        from agent_tt.launching.dotted import missing, names_in_source

        known = names_in_source(script.read_text(encoding="utf-8", errors="replace"))
        if known is not None and path.names[0] not in known:
            raise missing(path, 0, known)

    def unseen(self) -> list[str]:
        """Paths whose function was never loaded, in the order of registration."""
        with self._lock:
            return [text for text in self._paths if text not in self._replaced]

    def undo(self) -> None:
        """Put everything back and forget it."""
        with self._lock:
            self._watch.stop()
            self._main.stop()
            self.tell, self.fail = _warn, _raise
            for replaced in reversed(self._replaced.values()):
                replaced.undo()
            self._paths.clear()
            self._waiting.clear()
            self._replaced.clear()

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
        replaced = replace_at(module, path, self._paths[path.text])
        if replaced is not None:
            self._remember(path.text, path.text, replaced)

    def _remember(self, key: str, shown: str, replaced: Replaced) -> None:
        before = self._replaced.pop(key, None)
        if before is not None and before.original is replaced.original:
            before.undo()
        self._replaced[key] = replaced
        if replaced.original is None:
            return
        held = holders_of(replaced.original, is_method=replaced.is_method, without={id(vars(replaced))})
        if held:
            self.tell(
                f"{shown} is also held by {', '.join(held)}: calls through them are not recorded. Register it before "
                "the module that keeps it is imported, or mark the function with @agent_tt.tool."
            )


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
        UsageError: the effect is another word, or `target` is nothing that can be replaced.
        NotFound: the path leads nowhere; `nearest` offers names that look like it.
    """
    if isinstance(target, str):
        OUTSIDE.register(target, effect)
    else:
        OUTSIDE.register_function(target, effect, name)


def _check_effect(effect: str) -> None:
    if effect not in _EFFECTS:
        raise UsageError(f"{effect!r} is not what a call can be", hint=f"it is one of {', '.join(_EFFECTS)}")


def _is_loading(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))
