"""Who runs the agent of a fork: executors, registered by name.

An executor is a function `(input, state, config, overrides)`, plain or async, that runs an agent of some framework:

```python
@agent_tt.executor("crew")
async def run_crew(input, state, config, overrides):
    with agent_tt.record("crew", state=state) as run:
        await build_crew(**overrides).kickoff(run, state)
```

It runs in the fork's process. The first `record(...)` in it fills the fork's run; one that records nothing itself is
one step of it, whose state is what the executor gives back.

It is found by the name it was given by `@agent_tt.executor` in a module that the agent's own imports, or in the entry
point group `agent_tt.executors` of an installed package, or by where it is: `module:function`. Nothing is ever loaded
of an entry point whose executor was not asked for. What only the process that starts a fork has registered is refused.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tokenize
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from agent_tt.errors import InvalidExecutor, UsageError
from agent_tt.forking.terms import MOCK, PYTHON
from agent_tt.plugins import Plugin, PluginFailed, Plugins
from agent_tt.replaying.tape.source_trees import parse_source, project_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["EXECUTORS", "check_executor", "executor", "find_executor", "known_executors"]

_PARAMETERS: Final = 4

Executor: TypeAlias = "Callable[[object, object, dict[str, object], dict[str, object]], object]"
F = TypeVar("F", bound="Callable[..., object]")

_HOW: Final = "an executor is a function (input, state, config, overrides)"


def _accepted(found: object) -> Executor:
    if not callable(found):
        raise PluginFailed(f"is a {type(found).__name__}, not a function")
    try:
        inspect.signature(found).bind(*range(_PARAMETERS))
    except TypeError:
        raise PluginFailed(f"takes {inspect.signature(found)}, not (input, state, config, overrides)") from None
    except ValueError:  # a callable of C that does not say
        pass
    return cast("Executor", found)


EXECUTORS: Final = Plugins[Executor]("agent_tt.executors", {}, _accepted)
"""The entry point group of executors; what `@agent_tt.executor` declares is added to it."""


def executor(name: str) -> Callable[[F], F]:
    """Register a function `(input, state, config, overrides)`, plain or async, as the executor called `name`.

    What it is given: the input of the run that is forked; the edited state at the fork's step; the configuration, with
    `run`, `parent`, `fork_step`, `agent` and the `model`'s settings; and the overrides of this fork. `agent-tt fork
    --executor NAME` asks for it.

    ```python
    @agent_tt.executor("dry")
    def dry(input, state, config, overrides):
        with agent_tt.record(config["run"], state=state) as run, run.step("nothing", state):
            pass
    ```

    Args:
        name: how a fork asks for it; without a colon.

    Returns:
        A decorator that gives the function back as it is.

    Raises:
        UsageError: the name is empty, or one of those that come with agent-tt.
    """
    if not name.strip() or name in (PYTHON, MOCK) or ":" in name:
        raise UsageError(f"an executor cannot be called {name!r}", hint=f"{PYTHON} and {MOCK} come with agent-tt")

    def register(function: F) -> F:
        EXECUTORS.add(name, cast("Executor", function))
        return function

    return register


def check_executor(name: str, file: Path | None, folders: Iterable[Path]) -> None:
    """Refuse an executor that no package brings and no module of the agent's declares. Nothing is imported.

    Args:
        name: the executor.
        file: the source file of the agent, None where it cannot be found.
        folders: where its own modules are.

    Raises:
        InvalidExecutor: it is not known; the message lists those that are.
    """
    if name in (PYTHON, MOCK):
        return
    if ":" in name:
        _check_place(name, list(folders))
        return
    known = {PYTHON, MOCK, *EXECUTORS.installed()}
    if name not in known:  # what this process has registered itself the process of the fork need not import
        known.update(known_executors(file, folders))
    if name not in known:
        raise _unknown(name, known)


def known_executors(file: Path | None, folders: Iterable[Path]) -> tuple[str, ...]:
    """The names of all executors that a fork could ask for, those that come with agent-tt first. Nothing is imported.

    Args:
        file: the source file of the agent, None where it cannot be found.
        folders: where its own modules are.
    """
    others = {*EXECUTORS.installed(), *_declared(file, list(folders)), *_registered_by(file, list(folders))}
    return (PYTHON, MOCK, *sorted(others - {PYTHON, MOCK}))


def find_executor(name: str) -> Executor:
    """The executor called `name`, loaded now. The agent's module has been imported before.

    Raises:
        InvalidExecutor: there is none, it cannot be imported, or it takes other arguments.
    """
    shown = name
    try:
        if name in EXECUTORS.added:
            return _accepted(EXECUTORS.added[name])
        if ":" in name:
            return EXECUTORS.load(Plugin(EXECUTORS.group, name, name, "", ""))
        brought = EXECUTORS.installed()
        if name not in brought:
            raise _unknown(name, {PYTHON, MOCK, *EXECUTORS.added, *brought})
        shown = f"{name} ({brought[name].value})"
        return EXECUTORS.load(brought[name])
    except PluginFailed as why:
        raise InvalidExecutor(f"the executor {shown} {why}", hint=_HOW) from why


def _unknown(name: str, known: Iterable[str]) -> InvalidExecutor:
    listed = sorted(known)
    import difflib

    close = difflib.get_close_matches(name, listed, n=1)
    near = f"did you mean {close[0]}? " if close else ""
    return InvalidExecutor(
        f"there is no executor {name}: known are {', '.join(listed)}",
        hint=f"{near}register it with @agent_tt.executor({name!r}), or name it module:function",
    )


# ---------------------------------------------------------------- what the agent's source declares


def _check_place(name: str, folders: list[Path]) -> None:
    """Refuse `module:function` where no such module can be found, or its source has no such name. Nothing is imported.

    Raises:
        InvalidExecutor: it is not there.
    """
    location, _, qualname = name.partition(":")
    first, *rest = location.split(".")
    found = PathFinder.find_spec(first, [*map(str, folders), *sys.path])
    for part in rest:
        inside = None if found is None else found.submodule_search_locations
        found = None if inside is None else PathFinder.find_spec(part, list(inside))
    if found is None and location not in sys.builtin_module_names:
        raise InvalidExecutor(f"there is no module {location} for the executor {name}", hint=_HOW)
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return
    names = _names_in(Path(found.origin))
    if names is not None and qualname.split(".")[0] not in names:
        raise InvalidExecutor(f"{location} has no {qualname}", hint=_HOW)


def _names_in(file: Path) -> set[str] | None:
    """The names that a module's source binds at its top; None where that cannot be told by reading it."""
    try:
        with tokenize.open(file) as stream:
            tree = parse_source(stream.read())
    except (OSError, SyntaxError, ValueError):
        return None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            if node.name == "__getattr__":
                return None
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            if node.name == "*":
                return None
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("globals", "exec"):
            return None
    return names


def _registered_by(file: Path | None, folders: list[Path]) -> Iterator[str]:
    """The names that this process has registered from files which the agent imports too: they may be computed."""
    if not EXECUTORS.added:
        return
    files = {path.resolve() for path, _ in project_sources(file, folders)}
    for name, function in EXECUTORS.added.items():
        with suppress(TypeError):
            if Path(inspect.getfile(inspect.unwrap(function))).resolve() in files:
                yield name


def _declared(file: Path | None, folders: list[Path]) -> Iterator[str]:
    """The names in `@executor("name")`, in a file and in the modules of `folders` that it imports. Only parsed."""
    for _, tree in project_sources(file, folders):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from filter(None, map(_name_in, node.decorator_list))


def _name_in(decorator: ast.expr) -> str | None:
    if not isinstance(decorator, ast.Call) or len(decorator.args) != 1:
        return None
    called, given = decorator.func, decorator.args[0]
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    if name == "executor" and isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    return None
