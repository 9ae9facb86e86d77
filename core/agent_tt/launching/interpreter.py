"""Command lines of Python: which flags they have, what they run, and where that finds its modules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt._pattern import lazy_re

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Kind", "PythonCommand", "is_python", "python_command"]

Kind: TypeAlias = Literal["script", "module", "code", "stdin"]

_PYTHON: Final = lazy_re(r"(?:python|pypy)[0-9.]*t?(?:\.exe)?")
_TAKES_ARGUMENT: Final = frozenset("WXQ")
_DECIDING: Final = frozenset("bBdOsv")
"""Flags without an argument that a program can tell; `-i` is for people, and `-u` is given in any case."""

_LONG_WITH_ARGUMENT: Final = frozenset({"--check-hash-based-pycs"})


@dataclass(frozen=True, slots=True)
class PythonCommand:
    """What a command line tells Python.

    Attributes:
        flags: its single-letter flags.
        kind: whether it runs a script, a module (`-m`), code (`-c`), or reads standard input.
        target: the script's path, the module's name, or the code.
        arguments: what the program gets.
        options: the options that decide what a program does, one word or two each: `-O`, `-W error`.
    """

    flags: frozenset[str]
    kind: Kind
    target: str
    arguments: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What people call it: a script by its file, a module by the last part of its name."""
        match self.kind:
            case "script":
                path = Path(self.target)
                return (path.parent.name if path.stem == "__main__" else path.stem) or "python"
            case "module":
                return self.target.removesuffix(".__main__").rpartition(".")[2] or "python"
            case "code":
                return "python -c"
            case "stdin":
                return "python"

    def folder(self) -> Path | None:
        """What Python puts first on `sys.path` for it, as far as that is its project; None where `-P` forbids it.

        Scripts that installers write for packages lie beside the interpreter, and their project does not.
        """
        if "P" in self.flags or "I" in self.flags:
            return None
        if self.kind != "script":
            return Path.cwd()
        import zipfile  # which needs a dozen other modules

        path = Path(self.target).resolve()
        if path.is_dir() or zipfile.is_zipfile(path):
            return path
        is_installed = not path.suffix and Path(sys.executable).parent in (path.parent, Path(self.target).parent)
        return Path.cwd() if is_installed else path.parent


def is_python(program: str) -> bool:
    """Whether a program's name is that of a Python interpreter."""
    return _PYTHON.fullmatch(Path(program).name.lower()) is not None


def python_command(arguments: Sequence[str]) -> PythonCommand:
    """Read what follows the interpreter's name on a command line.

    Source of the rules: the documentation of Python, "Command line and environment".
    """
    flags: set[str] = set()
    options: list[str] = []
    rest = list(arguments)

    def found(kind: Kind, target: str) -> PythonCommand:
        return PythonCommand(frozenset(flags), kind, target, tuple(rest), tuple(options))

    while rest:
        argument = rest.pop(0)
        if argument == "-":
            return found("stdin", "")
        if not argument.startswith("-"):
            return found("script", argument)
        if argument.startswith("--"):
            if argument in _LONG_WITH_ARGUMENT and rest:
                options += [argument, rest.pop(0)]
            continue
        for position, letter in enumerate(argument[1:], 2):
            given = argument[position:]
            if letter in "cm":
                target = given or (rest.pop(0) if rest else "")
                return found("code" if letter == "c" else "module", target)
            if letter in _TAKES_ARGUMENT:
                options += [f"-{letter}", given or (rest.pop(0) if rest else "")]
                break
            flags.add(letter)
            if letter in _DECIDING:
                options.append(f"-{letter}")
    return found("stdin", "")
