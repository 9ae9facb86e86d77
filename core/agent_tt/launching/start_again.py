"""Starting a recorded program once more, as Python started it: a script, a folder or archive, a module, or code."""

from __future__ import annotations

import runpy
import sys
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import InvalidEntryPoint
from agent_tt.launching.interpreter import PythonCommand, python_command
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["command_of", "start_program"]

_MAIN: Final = "__main__"


def command_of(metadata: Mapping[str, Wire]) -> PythonCommand | None:
    """How the program of a run was started; None where an agent recorded itself in a function that can be called."""
    facts = RunFacts(metadata)
    words, script, module = facts.command, facts.script, facts.module
    if words is not None:
        return python_command(words)
    arguments = facts.arguments or ()
    if script is not None:
        return PythonCommand(frozenset(), "script", script, arguments)
    return None if module is None else PythonCommand(frozenset(), "module", module, arguments)


def start_program(command: PythonCommand, file: Path | None, arguments: Sequence[str]) -> None:
    """Run a program to its end, in a `__main__` of its own.

    Args:
        command: how it was started.
        file: of a script, where it lies: its path may have been relative to another folder.
        arguments: what it is given.

    Raises:
        InvalidEntryPoint: it is gone, or was never kept.
    """
    main = sys.modules[_MAIN] = ModuleType(_MAIN)
    match command.kind:
        case "module":
            sys.argv = [command.target, *arguments]
            _run_as_main(command.target, alter_argv=True)
        case "code":
            sys.argv = ["-c", *arguments]
            sys.path.insert(0, "")
            exec(compile(command.target, "<string>", "exec"), vars(main))  # noqa: S102  it is what ran
        case "script":
            sys.argv = [command.target, *arguments]
            _run_script(file or Path(command.target), main)
        case "stdin":
            raise InvalidEntryPoint(
                "the program was read from standard input, which is not recorded",
                hint="put it into a file, and record that",
            )


def _run_script(file: Path, main: ModuleType) -> None:
    if not file.exists():
        raise InvalidEntryPoint(
            f"the script {file} is gone", hint="put it back, or name where it is now with --agent FILE.py:__main__"
        )
    if file.is_dir() or zipfile.is_zipfile(file):
        sys.path.insert(0, str(file))
        _run_as_main(_MAIN, alter_argv=False)
        return
    sys.path.insert(0, str(file.parent))
    loader = SourceFileLoader(_MAIN, str(file))
    main.__file__, main.__loader__, main.__spec__ = str(file), loader, None
    code = loader.source_to_code(loader.get_data(str(file)), str(file))  # as for a script: nothing is cached
    exec(code, vars(main))  # noqa: S102  the script, as Python runs it


def _run_as_main(name: str, *, alter_argv: bool) -> None:
    """What Python itself calls for `-m`, folders and archives; `runpy.run_module` takes `__main__` away at the end."""
    run: Any = runpy._run_module_as_main  # type: ignore[attr-defined]  # noqa: SLF001
    run(name, alter_argv)
