"""Command lines of Python: which flags they have, what they run, and where that finds its modules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PythonCommand", "is_python", "python_command"]

_PYTHON: Final = re.compile(r"(?:python|pypy)[0-9.]*t?(?:\.exe)?")
_TAKES_ARGUMENT: Final = frozenset("WXQ")
_LONG_WITH_ARGUMENT: Final = frozenset({"--check-hash-based-pycs"})


@dataclass(frozen=True, slots=True)
class PythonCommand:
    """What a command line tells Python.

    Attributes:
        flags: its single-letter flags.
        kind: whether it runs a script, a module (`-m`), code (`-c`), or reads standard input.
        target: the script's path, the module's name, or the code.
        arguments: what the program gets.
    """

    flags: frozenset[str]
    kind: Literal["script", "module", "code", "stdin"]
    target: str
    arguments: tuple[str, ...]

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
        """What Python puts first on `sys.path` for it; None where it is told not to (`-P`)."""
        if "P" in self.flags or "I" in self.flags:
            return None
        if self.kind != "script":
            return Path.cwd()
        path = Path(self.target).resolve()
        return path if path.is_dir() or path.suffix in (".zip", ".pyz") else path.parent


def is_python(program: str) -> bool:
    """Whether a program's name is that of a Python interpreter."""
    return _PYTHON.fullmatch(Path(program).name.lower()) is not None


def python_command(arguments: Sequence[str]) -> PythonCommand:
    """Read what follows the interpreter's name on a command line.

    Source of the rules: the documentation of Python, "Command line and environment".
    """
    flags: set[str] = set()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "-":
            return PythonCommand(frozenset(flags), "stdin", "", tuple(rest))
        if not argument.startswith("-"):
            return PythonCommand(frozenset(flags), "script", argument, tuple(rest))
        if argument.startswith("--"):
            if argument in _LONG_WITH_ARGUMENT and rest:
                rest.pop(0)
            continue
        for position, letter in enumerate(argument[1:], 2):
            given = argument[position:]
            if letter in "cm":
                target = given or (rest.pop(0) if rest else "")
                return PythonCommand(frozenset(flags), "code" if letter == "c" else "module", target, tuple(rest))
            if letter in _TAKES_ARGUMENT:
                if not given and rest:
                    rest.pop(0)
                break
            flags.add(letter)
    return PythonCommand(frozenset(flags), "stdin", "", ())
