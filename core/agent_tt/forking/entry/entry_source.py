"""What the source of an entry point says about how it can be given a state. It is parsed, never imported."""

from __future__ import annotations

import ast
import tokenize
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import InvalidEntryPoint
from agent_tt.replaying.tape.source_trees import parse_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.forking.entry.entry_point import EntryPoint

__all__ = ["OVERRIDES", "TAKES_NONE", "EntrySource", "Restore", "read_entry_source", "refuse_overrides"]

Restore = Literal["state", "load_state", "attributes"]

OVERRIDES: Final = ("overrides", "config")
"""Parameters by which an agent is told more than its state."""

TAKES_NONE: Final = "give it a parameter `overrides=None` (or `config=None`), or an object attributes of these names"

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class EntrySource:
    """Where an entry point is written and how it takes a state.

    Attributes:
        file: its source file.
        line: line of its `def` (from 1); None where the file only binds the name (an import, an assignment).
        restore: how it takes a state; None where the text does not tell (inherited, imported or assigned).
    """

    file: Path
    line: int | None
    restore: Restore | None


def read_entry_source(entry: EntryPoint, file: Path, *, with_state: bool = True) -> EntrySource:
    """Find an entry point in its file and see how a state can be handed to it.

    Args:
        entry: the entry point.
        file: its source file.
        with_state: whether it must take a state; else only nothing that a fork does not have.

    Raises:
        InvalidEntryPoint: the file cannot be parsed, does not define the callable, or the callable takes no state.
    """
    tree = _parse(file)
    *owners, name = entry.qualname.split(".")
    body: Sequence[ast.stmt] = tree.body
    owner: ast.ClassDef | None = None
    for part in owners:
        node = _definition(body, part)
        if node is None:
            _require_binding(body, part, entry, file)
            return EntrySource(file, None, None)
        if not isinstance(node, ast.ClassDef):
            raise InvalidEntryPoint(f"{part} in {file}:{node.lineno} is a function, not a class with a method {name}")
        owner, body = node, node.body
    target = _definition(body, name)
    if target is None:
        if owner is None or not owner.bases:
            _require_binding(body, name, entry, file)
        return EntrySource(file, None, None)
    if isinstance(target, ast.ClassDef):
        return EntrySource(file, target.lineno, None)
    where = f"{file}:{target.lineno} {entry.qualname}"
    if owner is None:
        return EntrySource(file, target.lineno, _function_restore(target, where, bound=False, with_state=with_state))
    return EntrySource(file, target.lineno, _method_restore(owner, target, where, with_state=with_state))


def refuse_overrides(entry: EntryPoint, file: Path) -> None:
    """Refuse overrides for a function that has no parameter for them; of an object only its process can tell.

    Raises:
        InvalidEntryPoint: it has none, or the file cannot be parsed.
    """
    target = None if "." in entry.qualname else _definition(_parse(file).body, entry.qualname)
    if isinstance(target, ast.FunctionDef | ast.AsyncFunctionDef):
        by_keyword, _, _ = _parameters(target, bound=False)
        if not by_keyword & set(OVERRIDES):
            raise InvalidEntryPoint(f"{file}:{target.lineno} {entry.qualname} takes no overrides", hint=TAKES_NONE)


def _parse(file: Path) -> ast.Module:
    try:
        with tokenize.open(file) as stream:  # honours a coding line, as Python does
            return parse_source(stream.read(), str(file))
    except OSError as error:
        raise InvalidEntryPoint(f"{file} cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f"{file}:{line}" if line else str(file)
        raise InvalidEntryPoint(
            f"{where} is not valid Python: {error}", hint="fix the file, then fork again"
        ) from error


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that bind names at this level, those under `if`, `try` and `with` included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)


def _definition(body: Sequence[ast.stmt], name: str) -> Function | ast.ClassDef | None:
    found: Function | ast.ClassDef | None = None
    for statement in _statements(body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and statement.name == name:
            found = statement  # the last definition is the one that stands
    return found


def _bound_names(body: Sequence[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for statement in _statements(body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names.update(node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
    return names


def _require_binding(body: Sequence[ast.stmt], name: str, entry: EntryPoint, file: Path) -> None:
    names = _bound_names(body)
    if name in names or "*" in names or "__getattr__" in names:
        return
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    import difflib

    near = difflib.get_close_matches(name, functions, n=3) or functions[:3]
    raise InvalidEntryPoint(
        f"{file} has no {name}, which {entry} asks for",
        hint=f"it has {', '.join(near)}" if near else "it defines no function or class",
    )


def _parameters(function: Function, *, bound: bool) -> tuple[set[str], list[str], bool]:
    """The parameters that can be given by keyword, those without a default, and whether `**` takes the rest."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = {parameter.arg for parameter in positional[len(positional) - len(arguments.defaults) :]}
    optional |= {
        parameter.arg
        for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    }
    every = positional[1 if bound else 0 :] + arguments.kwonlyargs
    by_keyword = {parameter.arg for parameter in every if parameter not in arguments.posonlyargs}
    required = [parameter.arg for parameter in every if parameter.arg not in optional]
    return by_keyword, required, arguments.kwarg is not None


def _function_restore(function: Function, where: str, *, bound: bool, with_state: bool) -> Restore | None:
    by_keyword, required, takes_rest = _parameters(function, bound=bound)
    if "state" not in by_keyword and not takes_rest:
        if not with_state:
            _refuse_required(required, where)
            return None
        raise InvalidEntryPoint(
            f"{where} takes no state=, so it cannot start from a checkpoint",
            hint="give it a parameter `state=None` and start from it, or name another entry point with --agent",
        )
    _refuse_required([name for name in required if name != "state"], where)
    return "state"


def _refuse_required(names: Sequence[str], where: str) -> None:
    if names:
        raise InvalidEntryPoint(
            f"{where} also needs {', '.join(names)}, which a fork does not have",
            hint="give these parameters defaults, or name another entry point with --agent",
        )


def _method_restore(owner: ast.ClassDef, method: Function, where: str, *, with_state: bool) -> Restore | None:
    decorators = _decorators(method)
    if "staticmethod" in decorators:
        return _function_restore(method, where, bound=False, with_state=with_state)
    if "classmethod" in decorators:
        return _function_restore(method, where, bound=True, with_state=with_state)
    init = _definition(owner.body, "__init__")
    load = _definition(owner.body, "load_state")
    if isinstance(init, ast.FunctionDef) and (load is None or "classmethod" not in _decorators(load)):
        _refuse_required(_parameters(init, bound=True)[1], f"{where}: {owner.name}()")
    by_keyword, required, _ = _parameters(method, bound=True)
    if load is not None:
        _refuse_required(required, where)
        return "load_state"
    if owner.bases:
        return None
    _refuse_required([name for name in required if name != "state"], where)
    return "state" if "state" in by_keyword else "attributes"


def _decorators(node: Function | ast.ClassDef) -> set[str]:
    return {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
