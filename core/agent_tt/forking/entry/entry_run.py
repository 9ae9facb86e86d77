"""Importing the agent that a person asked to run, and running it from a state. Used only in the process of a fork."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agent_tt.errors import InvalidEntryPoint
from agent_tt.forking.entry.entry_point import package_of, resolve_file
from agent_tt.forking.entry.entry_source import OVERRIDES, TAKES_NONE

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.forking.entry.entry_point import EntryPoint

__all__ = ["Entry", "bind_entry", "import_entry", "run_entry"]

Entry = Callable[[object], object]
"""Starts the agent from a state; gives what the agent's function gives."""


def import_entry(entry: EntryPoint, root: str | None) -> ModuleType:
    """Import the module of an entry point. Code under `if __name__ == "__main__"` does not run.

    Args:
        entry: what to import.
        root: the folder that relative file paths start from.

    Raises:
        InvalidEntryPoint: there is no such module or file.
        Exception: whatever the module raises when it is imported.
    """
    if entry.is_file:
        return _import_file(entry, root)
    try:
        return importlib.import_module(entry.location)
    except ModuleNotFoundError as error:
        parts = entry.location.split(".")
        if error.name not in {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)}:
            raise  # the module is there, one that it imports is not
        raise InvalidEntryPoint(
            f"there is no module {error.name}, which {entry} asks for",
            hint=f"looked in {root or 'the installed packages'} with {sys.executable}",
        ) from error


def _import_file(entry: EntryPoint, root: str | None) -> ModuleType:
    file = resolve_file(entry.location, [Path(root or ".")])
    if file is None:
        raise InvalidEntryPoint(
            f"there is no file {entry.location} in {root or Path.cwd()}",
            hint="put it back, or name another entry point",
        )
    file = file.resolve()
    folder, name = package_of(file)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # where Python would put a script's folder
    if "." in name:
        return importlib.import_module(name)
    if name in sys.modules:
        name = f"{name}_agent"  # a script may be called like a module that is loaded already, such as types.py
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InvalidEntryPoint(f"{file} is not a Python file", hint="name a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # under its name, so that siblings that import it and pickle find the same module
    spec.loader.exec_module(module)
    return module


def bind_entry(entry: EntryPoint, module: ModuleType, overrides: Mapping[str, object] | None = None) -> Entry:
    """Find the callable of an entry point and how it takes a state: `state=`, `load_state` or plain attributes.

    Overrides are given to its parameter `overrides` or `config`; those of an object without such a method become its
    attributes, where it has them.

    Raises:
        InvalidEntryPoint: the module has no such callable, or it takes no state, or no overrides.
    """
    owner: object = module
    target: object = module
    for part in entry.qualname.split("."):
        owner, target = target, getattr(target, part, None)
        if target is None:
            raise InvalidEntryPoint(f"{module.__name__} has no {entry.qualname}", hint=f"it lies in {module.__file__}")
    if not callable(target):
        raise InvalidEntryPoint(f"{entry} is a {type(target).__name__}, which cannot be called", hint="name a function")
    name = entry.qualname.rpartition(".")[2]
    told = overrides or {}
    if isinstance(owner, type) and not isinstance(inspect.getattr_static(owner, name), staticmethod | classmethod):
        return _method_entry(owner, name, entry, told)
    if not _takes_state(target):
        raise InvalidEntryPoint(
            f"{entry} takes no state=, so it cannot start from a checkpoint", hint="give it a parameter `state=None`"
        )
    beside = _told(target, told, entry)
    return lambda state: target(state=state, **beside)


def _method_entry(owner: type, name: str, entry: EntryPoint, told: Mapping[str, object]) -> Entry:
    method = getattr(owner, name)
    beside = _told(method, told, entry) if _parameter_for_overrides(method) else {}
    attributes = {} if beside else told
    if callable(getattr(owner, "load_state", None)):
        return lambda state: getattr(_changed(_loaded(owner, state), attributes, entry), name)(**beside)
    if _takes_state(method, explicitly=True):
        return lambda state: getattr(_changed(owner(), attributes, entry), name)(state=state, **beside)

    def start(state: object) -> object:
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise InvalidEntryPoint(
                f"{entry} gets its state as attributes, but the state is a {type(state).__name__}",
                hint=f"give {owner.__name__} a load_state method",
            )
        agent = owner()
        for key, value in state.items():
            setattr(agent, key, value)
        return getattr(_changed(agent, attributes, entry), name)(**beside)

    return start


def _loaded(owner: type, state: object) -> object:
    """An object that has loaded `state`: `load_state` may fill it, give another one, or be a class method."""
    if isinstance(inspect.getattr_static(owner, "load_state"), classmethod | staticmethod):
        return cast("Callable[[object], object]", getattr(owner, "load_state"))(state)  # noqa: B009  no static name
    agent = owner()
    given = agent.load_state(state)
    return given if isinstance(given, owner) else agent


def _parameter_for_overrides(target: Callable[..., object]) -> str | None:
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # a callable of C that does not say
        return None
    return next((name for name in OVERRIDES if name in parameters), None)


def _told(target: Callable[..., object], told: Mapping[str, object], entry: EntryPoint) -> dict[str, object]:
    """The arguments that hand the overrides to a function."""
    if not told:
        return {}
    parameter = _parameter_for_overrides(target)
    if parameter is None:
        raise InvalidEntryPoint(f"{entry} takes no overrides", hint=TAKES_NONE)
    return {parameter: dict(told)}


def _changed(agent: object, attributes: Mapping[str, object], entry: EntryPoint) -> object:
    for key, value in attributes.items():
        if not hasattr(agent, key):
            raise InvalidEntryPoint(
                f"{entry} cannot be told {key}: {type(agent).__name__} has no such attribute", hint=TAKES_NONE
            )
        setattr(agent, key, value)
    return agent


def _takes_state(target: Callable[..., object], *, explicitly: bool = False) -> bool:
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # a callable of C that does not say
        return False
    state = parameters.get("state")
    if state is not None and state.kind in {state.POSITIONAL_OR_KEYWORD, state.KEYWORD_ONLY}:
        return True
    return not explicitly and any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def run_entry(start: Entry, state: object) -> object:
    """Run the agent to its end: coroutines in a new event loop, generators until they are exhausted.

    Returns:
        What it gave back; None of a generator.
    """
    outcome = start(state)
    if isinstance(outcome, Generator):
        for _ in outcome:
            pass
        return None
    if isinstance(outcome, Awaitable):
        return _in_a_loop(_wait_for(outcome))
    if isinstance(outcome, AsyncGenerator):
        return _in_a_loop(_exhaust(outcome))
    return outcome


def _in_a_loop(coroutine: Coroutine[object, object, object]) -> object:
    import asyncio

    return asyncio.run(coroutine)


async def _wait_for(outcome: Awaitable[object]) -> object:
    return await outcome


async def _exhaust(outcome: AsyncGenerator[object, None]) -> None:
    async for _ in outcome:
        pass
