"""The tools that an agent's code declares, as it is on disk: found by reading it, without importing anything.

What is decorated with `@agent_tt.tool`, wrapped by a call of it, or registered by a dotted path, in the file that a
fork runs and in the modules of the project that it imports.
"""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.replaying.tape.source_trees import project_sources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.model import Effect

__all__ = ["DeclaredTool", "declared_tools"]

_PACKAGE: Final = "agent_tt"
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_EFFECTS: Final = ("read", "write")


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A tool that code declares.

    Attributes:
        name: under which its calls are recorded.
        effect: what it does; one that does not say writes.
        is_said: whether the code says the effect.
    """

    name: str
    effect: Effect
    is_said: bool = field(default=True, compare=False)


def declared_tools(file: Path | None, root: Path | None) -> tuple[DeclaredTool, ...]:
    """The tools that a file and what it imports of its project declare, each name once, in the order of reading.

    Args:
        file: the source file; None gives none.
        root: the project's folder; None looks into the file alone.
    """
    found: dict[str, DeclaredTool] = {}
    for _, tree in project_sources(file, [] if root is None else [root], within=root or file):
        for tool in _declared(tree):
            found.setdefault(tool.name, tool)
    return tuple(found.values())


def _declared(tree: ast.Module) -> Iterator[DeclaredTool]:
    names = _Names(tree)
    places = (node for node in ast.walk(tree) if isinstance(node, (*_FUNCTIONS, ast.Call)))
    for node in sorted(places, key=lambda node: node.lineno):
        if isinstance(node, _FUNCTIONS):
            for decorator in node.decorator_list:
                if names.is_tool(decorator):
                    yield _tool(node.name, decorator)
        elif names.is_tool(node.func) and node.args:
            inner = node.args[0]
            name = inner.id if isinstance(inner, ast.Name) else inner.attr if isinstance(inner, ast.Attribute) else ""
            if name:
                yield _tool(name, node.func)
        elif names.is_called(node.func, "register") and node.args:
            said, keywords = node.args[0], {each.arg: each.value for each in node.keywords}
            effect = _text(node.args[1]) if len(node.args) > 1 else _text(keywords.get("effect"))
            path = _text(said)
            if path and effect != "llm":
                parts = path.split(".")
                name = ".".join(parts[-2:]) if len(parts) > 2 and parts[-2][:1].isupper() else parts[-1]
                yield DeclaredTool(_text(keywords.get("name")) or name, _effect(effect), is_said=effect in _EFFECTS)


class _Names:
    """What a module calls `agent_tt` and `agent_tt.tool`."""

    def __init__(self, tree: ast.Module) -> None:
        self._packages: set[str] = set()
        self._functions: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._packages |= {each.asname or each.name for each in node.names if each.name == _PACKAGE}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == _PACKAGE:
                self._functions.update((each.asname or each.name, each.name) for each in node.names)

    def is_tool(self, node: ast.expr) -> bool:
        """Whether an expression is `agent_tt.tool`, or a call of it that takes the function later."""
        if isinstance(node, ast.Call):
            return not node.args and self.is_called(node.func, "tool")
        return self.is_called(node, "tool")

    def is_called(self, node: ast.expr, name: str) -> bool:
        """Whether an expression names a function of ours."""
        if isinstance(node, ast.Name):
            return self._functions.get(node.id) == name
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return False
        return node.attr == name and node.value.id in self._packages


def _tool(function: str, decorator: ast.expr) -> DeclaredTool:
    said = {each.arg: each.value for each in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    effect = _text(said.get("effect"))
    return DeclaredTool(_text(said.get("name")) or function, _effect(effect), is_said=effect in _EFFECTS)


def _effect(word: str) -> Effect:
    return cast("Effect", word) if word in _EFFECTS else "write"


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
