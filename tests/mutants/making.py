"""The mutants of a source file: one small change in the body of one function each.

mutmut's operators make them; which of its rules we change, and why:

- Properties and other decorated functions have mutants too: mutmut must leave them out, because it renames what it
  mutates, and here code objects are exchanged.
- Default values of parameters, decorators and annotations have none: they are no part of a function's code object. So
  has what runs only when a module is imported, constants for example.
- A string has one mutant (`"XX…XX"`), not three: whether two more letters are noticed says as much as capitals do.
- Wording in `raise …(…)` has none: a test that repeats a sentence proves nothing. What stands in it as an argument or
  a value is mutated like everything else, and an error may lose its message or its hint.
- The type in `cast(type, value)` has none: `cast` does not look at it.
- What compiles to the code as it is is not a mutant.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider, WhitespaceInclusivePositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_string

if TYPE_CHECKING:
    from pathlib import Path

_NEVER_CHANGED = {"len", "isinstance"}  # as in mutmut: without their arguments they only ever raise TypeError


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: `text` stands in place of the characters `start` to `end` of `file`."""

    file: str
    """Relative to the root of the project."""
    function: str
    """The outermost function or method, as `Class.method`."""
    first_line: int
    """First line of the function: its first decorator, from 1."""
    line: int
    """First line of what is changed, from 1."""
    last_line: int
    start: int
    end: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.function}"

    def applied_to(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


class _Maker(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider, WhitespaceInclusivePositionProvider)

    def __init__(self, file: str, source: str, module: cst.Module) -> None:
        super().__init__()
        self.file, self.module = file, module
        self.mutants: list[Mutant] = []
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._within: list[str] = []
        self._outermost: list[tuple[cst.CSTNode, str, int]] = []
        self._raising = 0

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_left_out(node):
            return False
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "cast":
            node.args[1].visit(self)
            return False
        if isinstance(node, cst.ClassDef):
            self._within.append(node.name.value)
        elif isinstance(node, cst.FunctionDef) and not self._outermost:
            first = min(self.get_metadata(PositionProvider, part).start.line for part in (node, *node.decorators))
            self._outermost.append((node, ".".join([*self._within, node.name.value]), first))
        elif isinstance(node, cst.Raise):
            self._raising += 1
        if self._outermost:
            self._mutate(node)
        return True

    def on_leave(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.ClassDef):
            self._within.pop()
        elif self._outermost and self._outermost[-1][0] is node:
            self._outermost.pop()
        elif isinstance(node, cst.Raise):
            self._raising -= 1

    def _mutate(self, node: cst.CSTNode) -> None:
        _, function, first_line = self._outermost[-1]
        for kind, operator in mutation_operators:
            if not isinstance(node, kind):
                continue
            made = list(operator(node))
            if operator is operator_string:
                made = [] if self._raising else made[:1]
            for changed in made:
                whole = self.get_metadata(WhitespaceInclusivePositionProvider, node)
                seen = self.get_metadata(PositionProvider, node, whole)
                start, end = (self._starts[at.line - 1] + at.column for at in (whole.start, whole.end))
                text = self.module.code_for_node(changed)
                where = (self.file, function, first_line, seen.start.line, seen.end.line)
                self.mutants.append(Mutant(*where, start, end, text))


def mutants_of(file: Path, root: Path) -> list[Mutant]:
    """Make each mutant of a file, also those that `is_another` would not let pass."""
    source = file.read_text(encoding="utf-8")
    module = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    maker = _Maker(file.relative_to(root).as_posix(), source, module.module)
    module.visit(maker)
    return list(dict.fromkeys(maker.mutants))


def is_another(mutant: Mutant, source: str) -> bool:
    """Whether a mutant compiles, and to other code than its function's."""
    try:
        code = function_code(mutant, mutant.applied_to(source))
    except SyntaxError:
        return False
    return _without_positions(code) != _without_positions(function_code(mutant, source))


def function_code(mutant: Mutant, source: str, filename: str = "") -> CodeType:
    """Compile a source and give the code of the function that a mutant is of."""
    waiting = [compile(source, filename, "exec", dont_inherit=True)]
    while waiting:
        for const in waiting.pop().co_consts:
            if isinstance(const, CodeType):
                if (const.co_qualname, const.co_firstlineno) == (mutant.function, mutant.first_line):
                    return const
                waiting.append(const)
    raise LookupError(f"{mutant.name} is not in the code that was compiled")


def _without_positions(code: CodeType) -> tuple[object, ...]:
    consts = tuple(
        _without_positions(const) if isinstance(const, CodeType) else (type(const), repr(const))
        for const in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, consts, *names, code.co_exceptiontable)


def _is_left_out(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Annotation | cst.Decorator | cst.Param):
        return True
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in _NEVER_CHANGED
