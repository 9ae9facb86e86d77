"""In a process that is recorded from outside: the recording of everything that its program does.

It begins before the program's first line and ends when the interpreter does. A process that a recorded one started
writes into the run of that one; see `recording.runs.child_process`. A program that calls `agent_tt.record` itself
is its own recorder: what it records there is the run, and there is no second one around it. Only what it does outside
of its own recordings, if that is anything to record, makes a run here as well.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from agent_tt.codec.encode import encode
from agent_tt.errors import AgentTTError, NotFound
from agent_tt.launching.interpreter import PythonCommand, python_command
from agent_tt.launching.late_writer import LateWriter
from agent_tt.launching.settings import SETTINGS_VARIABLE, Report, Settings, settings_here
from agent_tt.model import AgentCode, NewRun
from agent_tt.model.facts import RunFacts
from agent_tt.recording.calls.kept_headers import as_metadata
from agent_tt.recording.lanes.lanes import Lanes
from agent_tt.recording.links import Link, Place
from agent_tt.recording.runs.child_process import Join
from agent_tt.recording.runs.entry import fingerprint
from agent_tt.recording.runs.kept_patterns import own_rules
from agent_tt.recording.runs.process_runs import number_around_all, say_of_every_run
from agent_tt.recording.runs.recorder import Recording, open_for_recording, store_path_of
from agent_tt.recording.scope import nowhere
from agent_tt.recording.session import SESSION
from agent_tt.recording.steps.checkpointing import parse_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire
    from agent_tt.launching.tools.outside_tools import Held
    from agent_tt.protocols import RunWriter
    from agent_tt.recording.open_run import OpenRun

__all__ = ["LaunchedRecording", "begin"]

_NOT_AGENTS: Final = "multiprocessing.resource_tracker"
"""What Python starts for its own ends: code with this in it is not a program."""

_SEED: Final = RunFacts.hash_seed.key
"""A variable, and the key of a run's metadata that keeps what it was."""

_RUNPY: Final = "<frozen runpy>"
"""Where `python -m` begins."""


class LaunchedRecording(Recording):
    """The recording of a whole process. Its run is written once it has something to hold.

    Args:
        new: the run that the process makes.
        settings: how it is recorded.
        report: where the launcher is told.
        join: the run of another process, into which this one writes instead.
    """

    def __init__(self, new: NewRun, settings: Settings, report: Report | None, join: Join | None = None) -> None:
        rules = parse_rules(settings.checkpoints)
        super().__init__(
            new,
            None,
            store=None,
            durability=settings.durability,
            steps="model calls",
            rules=rules,
            on_store_error=settings.on_store_error,
            lanes=None if join is None else Lanes(join.lane),
            attach=settings.attach,
        )
        self._settings = settings
        self._report = report
        self._join = join
        self._late = LateWriter(self._begin_run)
        self.children_know = SETTINGS_VARIABLE
        if join is not None:
            self.inside, self.is_part = join.inside, True

    def begin(self, *, is_wanted: bool) -> None:
        """Watch from now on.

        Args:
            is_wanted: whether a program that did nothing to record leaves a run all the same.
        """
        self._late.is_wanted = is_wanted
        self._enter()
        SESSION.join(_HearsOfOthers(self._give_way))

    def can_be_joined(self) -> bool:
        """See `Recording`. The run begins with that, unless the process may turn out to do nothing worth one."""
        if self._join is not None or not super().can_be_joined():
            return super().can_be_joined()
        return (self._late.has_begun or self._late.is_wanted) and bool(self._late.run_id)

    def end(self, error: BaseException | None) -> None:
        """The program is over; `error` is what ended it, if an exception did."""
        self._exit(error)

    def _give_way(self, other: OpenRun) -> None:
        """The program records itself: without anything of its own to hold, this recording leaves no run."""
        self._late.is_wanted = False
        if self._report is not None:
            self._report.add("run", id=other.id, own=True)

    def _writer(self) -> RunWriter:
        return self._late

    def _begin_run(self) -> RunWriter:
        self._process = os.getpid()  # not that of the process that forked this one before its first call
        with nowhere():
            writer = self._handed_over(self._named(), None)
        if writer is not None:
            return self._reported(writer)
        if self.goes_on_without_store:
            return self._begin_falling_back()
        if self._join is not None:
            with nowhere(), contextlib.suppress(NotFound):
                self._store = open_for_recording(None, self._durability)
                return self._store.join_run(self._join.run)
        with nowhere():
            self._store = open_for_recording(None, self._durability)
            return self._reported(self._store.begin_run(self._named(), None))

    def _reported(self, writer: RunWriter) -> RunWriter:
        if self._report is not None:
            self._report.add("run", id=writer.run_id, own=False)
        return writer

    def _begin_falling_back(self) -> RunWriter:
        joins = None if self._join is None else self._join.run
        with nowhere():
            writer = self._falling_back(self._named(), None, joins)
        if self._report is not None and writer.run_id != joins:
            self._report.add("run", id=writer.run_id, own=False)
        return writer

    def _named(self) -> NewRun:
        new = replace(self._new, metadata={**self._new.metadata, **number_around_all()})
        return replace(new, name=self._settings.name) if self._settings.name and self._is_first() else new

    def _is_first(self) -> bool:
        """Whether no other process of the command has begun a run."""
        return self._report is None or not any(line["event"] == "run" for line in self._report.lines())


class _HearsOfOthers(Link):
    """Tells of every recording of this process that begins."""

    place = Place.WATCH

    def __init__(self, tell: Callable[[OpenRun], None]) -> None:
        self._tell = tell

    def run_begun(self, recording: OpenRun) -> None:
        """Tell of it."""
        self._tell(recording)


def begin() -> None:
    """Begin to record this process as its environment says; nothing happens where it says nothing."""
    settings, report, join = settings_here(), Report.here(), Join.take()
    if settings is None:
        return
    if report is not None:
        report.add("boot", ppid=os.getppid(), executable=sys.executable)
    command = python_command(sys.orig_argv[1:])
    if command.kind == "code" and _NOT_AGENTS in command.target:
        return
    is_direct = settings.is_direct and os.getppid() == settings.launcher
    try:
        _register(settings, command, report, is_strict=is_direct)
    except AgentTTError as error:
        _refuse(report, error)
    import_module("agent_tt.seams.install")  # from here on the seams come and go with the recorder's hooks
    if settings.attach:
        import_module("agent_tt.holding.offered")
    recording = LaunchedRecording(_new_run(settings, command), settings, report, join)
    recording.begin(is_wanted=is_direct)
    patches = contextlib.ExitStack()
    said: dict[str, Wire] = {_SEED: os.environ.get(_SEED)}
    if settings.patch:
        from agent_tt.patching import patched

        patches.enter_context(patched(*settings.patch, root=recording.code.root))
        said |= RunFacts.patched.entry(tuple(settings.patch))
    say_of_every_run(said)
    atexit.register(_end, recording, patches)


def _end(recording: LaunchedRecording, patches: contextlib.ExitStack) -> None:
    """The interpreter ends; registered first, this runs after everything that the program itself registered."""
    error = _uncaught()
    patches.close()
    recording.end(error)
    if isinstance(error, KeyboardInterrupt):
        _die_by_interrupt()


def _die_by_interrupt() -> None:
    """Let the process die by SIGINT, as Python does after an uncaught KeyboardInterrupt.

    It remembers that in a flag which the execution of any other source text clears (`run_eval_code_obj` of CPython);
    modules that are imported at the very end do that. The same function sets it.
    """
    with contextlib.suppress(KeyboardInterrupt):
        exec("raise KeyboardInterrupt")  # noqa: S102  text of ours


def _uncaught() -> BaseException | None:
    """The exception that ended the program, as Python remembers it; others that a tool put there did not leave it."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if not isinstance(error, BaseException) or hasattr(sys, "ps1"):
        return None  # at an interactive prompt an exception ends nothing
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == _RUNPY:
        trace = trace.tb_next
    is_programs = trace is None or trace.tb_frame.f_globals.get("__name__") == "__main__"
    return error if is_programs else None


def _register(settings: Settings, command: PythonCommand, report: Report | None, *, is_strict: bool) -> None:
    """Register the functions that are named from outside. What is to be said of them is the launcher's to say."""
    if not settings.calls:
        return
    from agent_tt.launching.tools.outside_tools import OUTSIDE

    def tell(held: Held) -> None:
        if report is not None:
            report.add("held", path=held.path, message=held.message)

    def fail(error: AgentTTError) -> None:
        if is_strict:
            _refuse(report, error)

    OUTSIDE.tell, OUTSIDE.fail = tell, fail
    OUTSIDE.told = None if report is None else lambda path: report.add("called", path=path)
    OUTSIDE.register_for_start(settings.calls, command, is_strict=is_strict)


def _refuse(report: Report | None, error: AgentTTError) -> NoReturn:
    """End the process before an unrecorded call can be made. The launcher says why."""
    if report is not None:
        nearest = list(getattr(error, "nearest", ()))
        report.add("refused", kind=error.kind, message=error.message, hint=error.hint, nearest=nearest)
    os._exit(error.exit_code)


def _new_run(settings: Settings, command: PythonCommand) -> NewRun:
    place = _place_of(command)
    file = place / "__main__.py" if place is not None and place.is_dir() else place
    root = command.folder() or Path.cwd()
    location = command.target
    if file is not None:
        location = str(file.relative_to(root)) if file.is_relative_to(root) else str(file)
    return NewRun(
        name=command.name,
        code=AgentCode(
            entry=f"{location}:__main__" if command.kind in ("script", "module") else None,
            fingerprint=fingerprint(file),
            root=str(root),
            cwd=str(Path.cwd()),
            interpreter=sys.executable or None,
        ),
        metadata={name: encode(value) for name, value in _facts(settings, command, place).items()},
    )


def _facts(settings: Settings, command: PythonCommand, place: Path | None) -> dict[str, object]:
    """What a replay needs to start the program again, and a person to know what was typed."""
    facts: dict[str, object] = {
        RunFacts.command.key: sys.orig_argv[1:],
        RunFacts.session.key: settings.session,
        RunFacts.arguments.key: list(command.arguments),
        _SEED: os.environ.get(_SEED),
    }
    if place is not None:
        facts[RunFacts.script.key] = str(place)
    elif command.kind == "module":
        facts[RunFacts.module.key] = command.target
    if command.options:
        facts[RunFacts.python_options.key] = list(command.options)
    if settings.patch:
        facts[RunFacts.patched.key] = list(settings.patch)
    if settings.calls:
        from agent_tt.launching.tools.outside_tools import OUTSIDE

        facts[RunFacts.calls.key] = dict(settings.calls)
        facts[RunFacts.calls_named.key] = OUTSIDE.names()
    return facts | as_metadata(None) | own_rules(store=store_path_of(None))


def _place_of(command: PythonCommand) -> Path | None:
    """Where the script lies, or the folder or archive that runs as one."""
    if command.kind != "script":
        return None
    path = Path(command.target).resolve()
    return path if path.exists() else None
