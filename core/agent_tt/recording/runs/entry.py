"""Which code an agent runs: the entry point that called `record(...)`, its file, and how a fork can hand it a state.

Everything is read from the running frame and from what is loaded already; nothing is imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import sys
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import InvalidEntryPoint
from agent_tt.model import AgentCode
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec

    from agent_tt.codec.wire import Wire

_ENTERING = frozenset({"__enter__", "__aenter__"})
_NOT_AGENTS = (f"{Path(__file__).parents[1]}{os.sep}", contextlib.__file__)

Restore: TypeAlias = Literal["state", "load_state", "attributes"]


@dataclass(frozen=True, slots=True)
class _Target:
    """An entry point found.

    Attributes:
        module: name of its module, as it is loaded.
        qualname: the callable in there: `main` or `Agent.run`.
        file: its source file.
        restore: how it takes a state.
    """

    module: str
    qualname: str
    file: Path
    restore: Restore | None


def agent_code(frame: FrameType, *, state: object, agent: str | None, version: str | None) -> AgentCode:
    """The code that a recording belongs to.

    Args:
        frame: the frame that calls `record(...)`.
        state: the state object that it recorded.
        agent: the entry point, where the agent names it itself.
        version: the agent's own version name.

    Raises:
        InvalidEntryPoint: `agent` does not have the form `module:callable` or `path/file.py:callable`.
    """
    frame = _outside_context_managers(frame)
    target = _target_of(frame, state) if agent is None else _named_target(agent)
    entry, file, restore = agent, _file_of(frame), None
    if target is not None:
        file, restore = target.file, target.restore
    location, root = _location(frame.f_globals.get("__name__", "__main__") if target is None else target.module, file)
    if agent is None and target is not None and location is not None:
        entry = f"{location}:{target.qualname}"
    return AgentCode(
        entry=entry,
        version=version,
        fingerprint=None if agent is not None and target is None else fingerprint(file),
        root=None if root is None else str(root),
        cwd=_working_directory(),
        interpreter=sys.executable or None,
        restore=restore,
    )


def _working_directory() -> str | None:
    """Where the process is, None where that folder is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def script_facts(frame: FrameType, code: AgentCode) -> dict[str, Wire]:
    """How the program was started, where a replay cannot start the agent from its state.

    Args:
        frame: the frame that calls `record(...)`.
        code: what was found of its code.

    Returns:
        `script` and `arguments` of a recording that is made by a script's own code; nothing for any other.
    """
    frame = _outside_context_managers(frame)
    file = _file_of(frame)
    if code.restore is not None or frame.f_globals.get("__name__") != "__main__" or file is None:
        return {}
    return RunFacts.script.entry(str(file)) | RunFacts.arguments.entry(tuple(sys.argv[1:]))


def _outside_context_managers(frame: FrameType) -> FrameType:
    """The frame whose `with` statement runs `frame`, where that is the body of a `@contextmanager` or an `__enter__`.

    A helper that records for others is not an agent: who uses it is.
    """
    outside = frame.f_back
    is_body = frame.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR)
    if outside is None or not (
        frame.f_code.co_name in _ENTERING or (is_body and outside.f_code.co_filename == contextlib.__file__)
    ):
        return frame
    while outside is not None and outside.f_code.co_filename == contextlib.__file__:
        outside = outside.f_back
    return frame if outside is None else _outside_context_managers(outside)


@dataclass(frozen=True, slots=True)
class Maker:
    """The call of a function that called `record(...)`; the frame itself would keep alive all that is in it."""

    code: CodeType
    number: int

    @classmethod
    def of(cls, frame: FrameType) -> Maker:
        """The call that `frame` is."""
        return cls(frame.f_code, id(frame))

    def is_around(self, frame: FrameType) -> bool:
        """Whether the call has not returned yet where `frame` runs."""
        around: FrameType | None = frame
        while around is not None:
            if around.f_code is self.code and id(around) == self.number:
                return True
            around = around.f_back
        return False


def entering_frame() -> FrameType | None:
    """The agent's innermost frame: of the code that has just called into this package, directly or by `contextlib`."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_AGENTS):
        frame = frame.f_back
    return frame


def _target_of(frame: FrameType, state: object) -> _Target | None:
    """The innermost function around `frame`, in its own file, that can be named from outside."""
    for around in _frames_of_file(frame):
        code = around.f_code
        receiver = _receiver(around)
        if receiver is not None:
            owner = receiver if isinstance(receiver, type) else type(receiver)
            if not _is_nameable(owner.__qualname__):
                continue
            file = _module_file(owner.__module__) or _file_of(around)
            qualname = f"{owner.__qualname__}.{code.co_name}"
            restore = _restore(code, receiver, state)
        elif _is_nameable(code.co_qualname):
            file, qualname, restore = _file_of(around), code.co_qualname, _restore(code, None, state)
            owner = None
        else:
            continue
        module = around.f_globals.get("__name__", "__main__") if owner is None else owner.__module__
        return None if file is None else _Target(module, qualname, file, restore)
    return None


def _frames_of_file(frame: FrameType) -> Iterator[FrameType]:
    around: FrameType | None = frame
    while around is not None:
        if around.f_code.co_filename == frame.f_code.co_filename:
            yield around
        around = around.f_back


def _receiver(frame: FrameType) -> object | None:
    """The object or class whose method the frame runs, None for a function."""
    code = frame.f_code
    if not code.co_argcount or "." not in code.co_qualname:
        return None
    receiver: object = frame.f_locals.get(code.co_varnames[0])
    owner = receiver if isinstance(receiver, type) else type(receiver)
    found = inspect.getattr_static(owner, code.co_name, None)
    return receiver if _code_of(found) is code else None


def _code_of(function: object) -> CodeType | None:
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__func__
    if callable(function):
        function = inspect.unwrap(function)
    return function.__code__ if isinstance(function, FunctionType) else None


def _is_nameable(qualname: str) -> bool:
    """Whether a name leads there from its module: `<locals>`, `<lambda>` and `<module>` do not."""
    return "<" not in qualname


def _restore(code: CodeType, receiver: object | None, state: object) -> Restore | None:
    """How a call of `code` can start from a state; methods of an object first by what the object offers."""
    is_method = receiver is not None and not isinstance(receiver, type)
    if is_method and callable(getattr(type(receiver), "load_state", None)):
        return "load_state"
    by_keyword = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    if "state" in by_keyword:
        return "state"
    from agent_tt.recording.steps.snapshot import gives_state  # whoever only reads of entry points needs none of it

    return "attributes" if is_method and receiver is state and not gives_state(state) else None


# ---------------------------------------------------------------- an entry point that the agent names itself


def _named_target(agent: str) -> _Target | None:
    """What is loaded under the name that the agent gave; None where that is not loaded, or not a function."""
    location, colon, qualname = agent.rpartition(":")
    if not colon or not location or not qualname or not _is_nameable(qualname):
        raise InvalidEntryPoint(
            f"agent={agent!r} does not name an entry point",
            hint="write module:callable, module:Class.method or path/file.py:callable",
        )
    module = _loaded_module(location)
    if module is None:
        return None
    owner: object = None
    found: object = module
    for part in qualname.split("."):
        owner, found = found, inspect.getattr_static(found, part, None)
    code, file = _code_of(found), _module_file(module.__name__)
    if code is None or file is None:
        return None
    is_method = isinstance(owner, type) and isinstance(found, FunctionType)
    restore = _restore(code, None, None)
    if is_method and callable(getattr(owner, "load_state", None)):
        restore = "load_state"
    return _Target(module.__name__, qualname, file, restore)


def _loaded_module(location: str) -> ModuleType | None:
    if not location.endswith(".py"):
        return sys.modules.get(location)
    wanted = Path(location).expanduser()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).name == wanted.name and Path(file).resolve() == wanted.resolve():
            return module
    return None


# ---------------------------------------------------------------- where a fork finds it again


def _location(module: str, file: Path | None) -> tuple[str | None, Path | None]:
    """What an entry point says before its colon, and the folder on `sys.path` from which that leads to `file`.

    A module that can be imported by its name keeps it. What was `__main__`, or was loaded under a name that leads
    nowhere, is named by its file.
    """
    if file is None:
        return None, None
    spec = getattr(sys.modules.get(module), "__spec__", None)
    name = spec.name if module == "__main__" and spec is not None else module
    if name != "__main__" and _is_importable(name, file):
        levels = len(name.split(".")) - (file.name != "__init__.py")
        return name, file.parents[levels]
    folders = [Path(entry or ".").resolve() for entry in sys.path]
    # The outermost of the folders that Python searches: from there the file's siblings and its project both import.
    root = min((folder for folder in folders if file.is_relative_to(folder)), default=file.parent, key=_depth)
    return str(file.relative_to(root)), root


def _depth(folder: Path) -> int:
    return len(folder.parts)


def _is_importable(name: str, file: Path) -> bool:
    """Whether `import name` in a new process would load `file`: the finders are asked, not what is loaded."""
    path: list[str] | None = None
    for depth in range(1, len(parts := name.split(".")) + 1):
        spec = _find_spec(".".join(parts[:depth]), path)
        if spec is None:
            return False
        if depth == len(parts):
            return spec.origin is not None and Path(spec.origin).resolve() == file
        path = list(spec.submodule_search_locations or ())
    return False


def _find_spec(name: str, path: list[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None


def _file_of(frame: FrameType) -> Path | None:
    file = Path(frame.f_code.co_filename)
    return file.resolve() if file.is_file() else None


def _module_file(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file).resolve() if isinstance(file, str) and Path(file).is_file() else None


def fingerprint(file: Path | None) -> str | None:
    """What `AgentCode.fingerprint` says of a source file; None where there is none that can be read."""
    try:
        return None if file is None else hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return None
