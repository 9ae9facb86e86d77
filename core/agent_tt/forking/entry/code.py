"""Which code a fork will run, where it lies, and how it gets the state."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import InvalidEntryPoint, UsageError
from agent_tt.forking.entry.entry_point import find_source, parse_entry_point
from agent_tt.model.facts import RunFacts
from agent_tt.recording.runs.entry import fingerprint
from agent_tt.recording.runs.process_runs import process_of

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.forking.entry.entry_point import EntryPoint
    from agent_tt.forking.entry.entry_source import Restore
    from agent_tt.model import AgentCode, Run, WayBackIn

__all__ = ["MAIN", "CodePlan", "plan_code", "program_facts", "run_with_code"]

_SCRIPT: Final = RunFacts.script.key
_MODULE: Final = RunFacts.module.key
_COMMAND: Final = RunFacts.command.key

MAIN = "__main__"
"""In place of a function's name: the whole file runs, as a script."""

_NO_WAY_BACK = (
    "call agent_tt.record from a function at the top of its module that takes `state=None` and starts from it,"
    " name one with --agent module:callable, or re-enter it by replay (--by replay)"
)
_NOTHING_TO_RUN = "record it with `agent-tt record -- python …`, or call agent_tt.record inside a function"


@dataclass(frozen=True, slots=True)
class CodePlan:
    """The code that a fork runs.

    Attributes:
        entry: `module:callable`, or `path/file.py:callable` with a path relative to `root` or absolute.
        file: its source file; None where it cannot be found from here.
        line: line of the callable in `file`, from 1.
        function: the callable's name in its module.
        changed: whether `file` is another than when the run was recorded; None where that is not known.
        restore: how it gets the state; None where only the process that runs it can tell.
        interpreter: the Python that runs it.
        cwd: the working directory that it runs in.
        root: the project root that is put on `sys.path`, or None.
        way: how the agent gets to the fork's step: it is handed the state, or re-entered by replay.
        is_script: whether a whole script (or module) runs, and not a function of it.
        executor: name of the registered executor that runs it; None for a plain start.
    """

    entry: str
    file: Path | None
    line: int | None
    function: str
    changed: bool | None
    restore: Restore | None
    interpreter: str
    cwd: str
    root: str | None
    way: WayBackIn = "restore"
    is_script: bool = False
    executor: str | None = None

    @property
    def way_back_in(self) -> str:
        """How the agent gets there, in words: `main(state=…) gets the edited state`."""
        from agent_tt.forking.terms import GRAPH

        if self.executor == GRAPH:
            return "the graph goes on from the checkpoint, edited by update_state"
        if self.executor is not None:
            return f"the executor {self.executor} gets the input and the edited state"
        if self.way == "replay":
            what = Path(self.entry.rpartition(":")[0] or self.entry).name if self.is_script else f"{self.function}()"
            return f"{what} runs from its beginning, its calls so far are answered again"
        owner = self.function.rpartition(".")[0]
        match self.restore:
            case "state":
                return f"{self.function}(state=…) gets the edited state"
            case "load_state":
                return f"{owner}.load_state(…) gets the edited state, then {self.function}() runs"
            case "attributes":
                return f"the edited state becomes the attributes of {owner}(), then {self.function}() runs"
            case None:
                return f"{self.function} gets the edited state"


def plan_code(run: Run, agent: str | None, way: WayBackIn = "restore") -> tuple[CodePlan, tuple[str, ...]]:
    """Find the code that a fork of `run` will run: `agent`, else what was recorded.

    Args:
        run: the run.
        agent: another entry point, `module:callable` or `path/file.py:callable`.
        way: how it gets to the fork's step. For a restore it must take a state.

    Returns:
        The code, and what is odd about it, one line each.

    Raises:
        InvalidEntryPoint: there is none, it is not there any more, or it cannot take a state.
    """
    recorded = run.code
    other = None if agent == recorded.entry else agent
    if way == "replay" and (recorded.restore is None or other is not None):
        script = _plan_script(run) if other is None else _plan_other_script(run, parse_entry_point(other))
        if script is not None:
            return script
    text = agent or recorded.entry
    if text is None and way == "replay":
        raise InvalidEntryPoint(
            f"{run.name} did not record which function or script ran it, so it cannot be run again",
            hint=_NOTHING_TO_RUN,
        )
    if text is None:
        raise InvalidEntryPoint(
            f"{run.name} did not record which function ran it, so there is no way back in", hint=_NO_WAY_BACK
        )
    entry = parse_entry_point(text)
    root = recorded.root if recorded.root and Path(recorded.root).is_dir() else None
    folders = _folders(root, recorded.cwd, typed=agent is not None and entry.is_file)
    file = find_source(entry, folders)
    if file is None and entry.is_file:
        raise InvalidEntryPoint(
            f"there is no file {entry.location} any more" if agent is None else f"there is no file {entry.location}",
            hint=_where_it_was_sought(folders),
        )
    problems = []
    if file is None:
        problems.append(f"{entry.location} cannot be found from here; the recorded Python will look for it")
    from agent_tt.forking.entry.entry_source import read_entry_source

    source = None if file is None else read_entry_source(entry, file, with_state=way == "restore")
    restore = source.restore if source is not None else None
    if way == "replay":
        restore = _replayed_way(recorded, restore, same=text == recorded.entry)
    elif text == recorded.entry:
        restore = _recorded_way(recorded, restore)
    interpreter, odd_interpreter = _interpreter(recorded.interpreter)
    cwd, odd_cwd = _working_directory(recorded.cwd, root)
    problems += [odd for odd in (odd_interpreter, odd_cwd) if odd]
    plan = CodePlan(
        entry=str(_portable(entry, file, root)),
        file=file,
        line=None if source is None else source.line,
        function=entry.qualname,
        changed=_changed(file, recorded.fingerprint) if _same_location(text, recorded.entry) else None,
        restore=restore,
        interpreter=interpreter,
        cwd=cwd,
        root=root,
        way=way,
    )
    return plan, tuple(problems)


def program_facts(run: Run, code: CodePlan) -> dict[str, Wire]:
    """Give the metadata that a run of `code` would have: they say which program starts."""
    facts = dict(run.metadata)
    if not code.is_script:  # a function is called, and not the script that it was
        for key in (_SCRIPT, _MODULE):
            facts.pop(key, None)
    elif code.file is not None and str(code.file) != facts.get(_SCRIPT):
        facts.pop(_MODULE, None)
        facts[_SCRIPT] = str(code.file)
        if _COMMAND in facts:
            facts[_COMMAND] = [str(code.file), *(RunFacts.arguments.of(facts) or ())]
    return facts


def run_with_code(run: Run, agent: str) -> Run:
    """A run as if another entry point had been recorded.

    Raises:
        InvalidEntryPoint: it is not there.
    """
    code, _ = plan_code(run, agent, "replay")
    recorded = replace(run.code, entry=code.entry, root=code.root, restore=code.restore)
    return replace(run, code=recorded, metadata=program_facts(run, code))


def _plan_script(run: Run) -> tuple[CodePlan, tuple[str, ...]] | None:
    """The script or module that a run was, as it was started; None where it was neither.

    Raises:
        InvalidEntryPoint: it is gone.
        UsageError: it recorded another run before this one, whose calls would be made again for real.
    """
    recorded, script, module = run.code, run.facts.script, run.facts.module
    if not isinstance(script, str) and not isinstance(module, str):
        return None
    file = Path(script) if isinstance(script, str) else None
    if file is not None and not file.is_file():
        raise InvalidEntryPoint(f"the script {file} is gone", hint="put it back where it was")
    _, number = process_of(run.metadata)
    if number > 1:
        raise UsageError(
            f"{run.name} is run {number} of those that {file or module} recorded one after another,"
            " and only the first can be re-entered by replay",
            hint="give its function a parameter `state=None` and start from it, or record it in a process of its own",
        )
    name = recorded.entry or f"{file or module}:__main__"
    return _script(run, name, file, _changed(file, recorded.fingerprint))


def _plan_other_script(run: Run, entry: EntryPoint) -> tuple[CodePlan, tuple[str, ...]] | None:
    """A script that runs in place of the one that a run was, named as `path/file.py:__main__`; None for a function.

    Raises:
        InvalidEntryPoint: there is no such file.
        UsageError: a function was named, of a program that was recorded from outside, as a whole.
    """
    if not entry.is_file or entry.qualname != MAIN:
        if _COMMAND in run.metadata:
            raise UsageError(
                f"{run.name} was recorded as a whole program, so a program has to run in its place, not {entry}",
                hint=f"name it as path/file.py:{MAIN}",
            )
        return None
    folders = _folders(run.code.root, run.code.cwd, typed=True)
    file = find_source(entry, folders)
    if file is None:
        raise InvalidEntryPoint(f"there is no file {entry.location}", hint=_where_it_was_sought(folders))
    return _script(run, str(_portable(entry, file, run.code.root)), file.resolve(), changed=None)


def _script(run: Run, name: str, file: Path | None, changed: bool | None) -> tuple[CodePlan, tuple[str, ...]]:  # noqa: FBT001
    """A script or module that runs from its beginning, and what is odd about it."""
    recorded = run.code
    root = recorded.root if recorded.root and Path(recorded.root).is_dir() else None
    interpreter, odd_interpreter = _interpreter(recorded.interpreter)
    cwd, odd_cwd = _working_directory(recorded.cwd, root)
    plan = CodePlan(
        entry=name,
        file=file,
        line=1 if file is not None else None,
        function=name.rpartition(":")[2],
        changed=changed,
        restore=None,
        interpreter=interpreter,
        cwd=cwd,
        root=root,
        way="replay",
        is_script=True,
    )
    return plan, tuple(odd for odd in (odd_interpreter, odd_cwd) if odd)


def _recorded_way(recorded: AgentCode, now: Restore | None) -> Restore | None:
    """How the recorded entry point takes a state: as its source says now, else as it was recorded.

    An object whose attributes were not the state when it was recorded cannot get the state as its attributes.
    """
    if now in {"state", "load_state"}:
        return now
    if recorded.restore is None:
        raise InvalidEntryPoint(f"{recorded.entry} takes no state, so there is no way back in", hint=_NO_WAY_BACK)
    return now or recorded.restore


def _replayed_way(recorded: AgentCode, now: Restore | None, *, same: bool) -> Restore | None:
    """How an agent that runs from its beginning gets its input; None where it makes that itself."""
    if now in {"state", "load_state"}:
        return now
    return recorded.restore if same and recorded.restore == "attributes" else None


def _folders(root: str | None, cwd: str | None, *, typed: bool) -> list[Path]:
    """Where an entry point is looked for; a path that a person typed first of all where they typed it."""
    here = str(Path.cwd()) if typed else None
    return [Path(folder) for folder in dict.fromkeys((here, root, cwd)) if folder]


def _where_it_was_sought(folders: list[Path]) -> str:
    """What to do where a file was found in none of the folders; a run may have recorded none that is still there."""
    there = [str(folder) for folder in folders if folder.is_dir()]
    sought = f"looked in {', '.join(there)}" if there else "no folder that was recorded is on this machine"
    return f"{sought}; name where it is now with --agent path/file.py:callable"


def _portable(entry: EntryPoint, file: Path | None, root: str | None) -> EntryPoint:
    """A path entry point as the child will find it: relative to the root where it lies below it, else absolute."""
    if not entry.is_file or file is None:
        return entry
    absolute = file.resolve()
    below_root = root is not None and absolute.is_relative_to(Path(root).resolve())
    location = absolute.relative_to(Path(root or "").resolve()).as_posix() if below_root else str(absolute)
    return type(entry)(location, entry.qualname, is_file=True)


def _same_location(text: str, recorded: str | None) -> bool:
    return recorded is not None and text.rpartition(":")[0] == recorded.rpartition(":")[0]


def _changed(file: Path | None, recorded: str | None) -> bool | None:
    now = fingerprint(file)
    return None if now is None or recorded is None else now != recorded


def _interpreter(recorded: str | None) -> tuple[str, str | None]:
    if recorded is None or recorded == sys.executable:
        return sys.executable, None
    if Path(recorded).is_file() and os.access(recorded, os.X_OK):
        return recorded, None
    return sys.executable, f"the Python that recorded it is gone ({recorded}); {sys.executable} runs the fork"


def _working_directory(recorded: str | None, root: str | None) -> tuple[str, str | None]:
    if recorded is not None and Path(recorded).is_dir():
        return recorded, None
    instead = root or str(Path.cwd())
    return (
        instead,
        None if recorded is None else f"the folder it ran in is gone ({recorded}); the fork runs in {instead}",
    )
