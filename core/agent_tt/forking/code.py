"""Which code a fork will run, where it lies, and how it gets the state."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEntryPoint
from agent_tt.forking.entry_point import find_source, parse_entry_point
from agent_tt.forking.entry_source import read_entry_source
from agent_tt.recording.entry import MODULE, SCRIPT, fingerprint

if TYPE_CHECKING:
    from agent_tt.forking.entry_point import EntryPoint
    from agent_tt.forking.entry_source import Restore
    from agent_tt.model import AgentCode, Run, WayBackIn

__all__ = ["CodePlan", "plan_code"]

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
    if way == "replay" and agent is None and recorded.restore is None:
        script = _plan_script(run)
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
            hint=f"looked in {', '.join(map(str, folders))}; name where it is now with --agent path/file.py:callable",
        )
    problems = []
    if file is None:
        problems.append(f"{entry.location} cannot be found from here; the recorded Python will look for it")
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


def _plan_script(run: Run) -> tuple[CodePlan, tuple[str, ...]] | None:
    """The script or module that a run was, as it was started; None where it was neither."""
    recorded, script, module = run.code, run.metadata.get(SCRIPT), run.metadata.get(MODULE)
    if not isinstance(script, str) and not isinstance(module, str):
        return None
    file = Path(script) if isinstance(script, str) else None
    if file is not None and not file.is_file():
        raise InvalidEntryPoint(f"the script {file} is gone", hint="put it back where it was")
    root = recorded.root if recorded.root and Path(recorded.root).is_dir() else None
    interpreter, odd_interpreter = _interpreter(recorded.interpreter)
    cwd, odd_cwd = _working_directory(recorded.cwd, root)
    name = recorded.entry or f"{file or module}:__main__"
    plan = CodePlan(
        entry=name,
        file=file,
        line=1 if file is not None else None,
        function=name.rpartition(":")[2],
        changed=_changed(file, recorded.fingerprint),
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
