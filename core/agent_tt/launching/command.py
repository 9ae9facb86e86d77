"""Starting a command so that every Python process of it is recorded, and saying how its runs ended.

The command runs as it would without us: the same interpreter, arguments, working directory, standard streams and exit
code. Only the environment differs, by a folder in front of PYTHONPATH, a fixed PYTHONHASHSEED where there was none (so
that a replay can iterate sets in the same order) and variables that begin with `AGENT_TT_`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import told
from agent_tt.errors import AgentTTError, NotFound, UsageError
from agent_tt.launching.interpreter import is_python, python_command
from agent_tt.launching.settings import BOOT_FOLDER, REPORT_VARIABLE, SETTINGS_VARIABLE, Report, Settings
from agent_tt.launching.tools.named_after import held_paths, remember, unmatched_paths, unrecorded_tools
from agent_tt.model import ErrorInfo
from agent_tt.model.facts import RunFacts
from agent_tt.plugins import told_elsewhere
from agent_tt.recording.errors.outcome import said_of_exit
from agent_tt.recording.steps.checkpointing import parse_rules
from agent_tt.store import open_store
from agent_tt.store.file.locate import ENVIRONMENT as STORE_VARIABLE
from agent_tt.store.spill.taking_in import take_in
from agent_tt.supervising.terminals import is_in_front

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from agent_tt.launching.interpreter import PythonCommand
    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.model import Run, RunStatus
    from agent_tt.patching.kinds import PatchKind
    from agent_tt.protocols import Store
    from agent_tt.recording.runs.recorder import OnStoreError

__all__ = ["Recorded", "has_hash_seed", "new_hash_seed", "record_command"]

_MOST_SEED: Final = 2**32 - 1
_SEED: Final = RunFacts.hash_seed.key
_PATH: Final = "PYTHONPATH"
_BLIND: Final = {
    "S": "it keeps Python from starting the recording",
    "I": "it keeps Python from reading PYTHONPATH, by which the recording starts",
    "E": "it keeps Python from reading PYTHONPATH, by which the recording starts",
}
_PASSED_ON: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_STOPPING: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
_NO_REPORT: Final = "what was recorded cannot be told: no temporary file could be made; TMPDIR names another folder"
_SIGNALLED: Final = 128
"""What a shell adds to the number of the signal that ended a program."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a command.

    Attributes:
        exit_code: the command's own; 128 and the number of the signal that ended it.
        runs: the runs that it recorded, in order of beginning.
        problem: why nothing was recorded; None where something was.
        unseen: functions named from outside of which no process of it made a call.
        warnings: what else was not recorded of them.
    """

    exit_code: int
    runs: tuple[Run, ...] = ()
    problem: AgentTTError | None = None
    unseen: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def record_command(
    command: Sequence[str],
    *,
    store: Path,
    name: str = "",
    calls: Mapping[str, OutsideEffect] | None = None,
    patch: Sequence[PatchKind] = (),
    checkpoints: str = "all",
    on_store_error: OnStoreError = "continue",
    hash_seed: str | None = None,
    attach: bool = False,
) -> Recorded:
    """Run a command to its end and record what its Python processes do.

    Signals that reach this process are passed on. Call it from the main thread.

    Args:
        command: the program and its arguments.
        store: the file to record into; it is made where there is none.
        name: name of the run, else that of the script or module.
        calls: functions to record, by dotted path.
        patch: what to record of the clock, random numbers, ids and the environment; see `agent_tt.patched`.
        checkpoints: which steps get a checkpoint; see `agent_tt.recording.steps.checkpointing`.
        on_store_error: whether the command runs, and goes on, where the store cannot be written; see `agent_tt.record`.
        hash_seed: PYTHONHASHSEED, where there is none; None for any.
        attach: whether its agent waits before its next call when somebody holds it; see `agent_tt.record`.

    Raises:
        UsageError: the command cannot be recorded, `checkpoints` is not a rule, or a path in `calls` leads to
            nothing that can be recorded.
        NotFound: there is no such program, or a path in `calls` leads nowhere.
        StoreUnreadable: with `stop`, the store cannot be written.
    """
    parse_rules(checkpoints)
    program, python = _checked(command)
    if on_store_error == "stop":
        open_store(store, create=True).close()
    with _report_file() as report:
        is_direct = python is not None
        environment = _environment(
            report,
            store,
            name=name,
            calls=calls or {},
            patch=patch,
            is_direct=is_direct,
            checkpoints=checkpoints,
            on_store_error=on_store_error,
            hash_seed=hash_seed,
            attach=attach,
        )
        code, process = _run([program, *command[1:]], command[0], environment)
        return _recorded(code, process, report, store, command, calls or {})


@contextmanager
def _report_file() -> Iterator[Report]:
    """The report of a command; one that is lost where no temporary file can be made: the command runs all the same."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix="agent-tt-", suffix=".jsonl"))
            name = file.name
        except OSError:
            name = os.devnull
        yield Report(name)


def _checked(command: Sequence[str]) -> tuple[str, PythonCommand | None]:
    """The program's path, and what it tells Python where it is one."""
    if not command:
        raise UsageError("there is nothing to record", hint="write agent-tt record -- python my_agent.py")
    program = shutil.which(command[0])
    if program is None:
        is_script = command[0].endswith(".py") and Path(command[0]).is_file()
        hint = f"write agent-tt record -- python {command[0]}" if is_script else "check its name and PATH"
        raise NotFound(f"there is no program {command[0]!r}", hint=hint)
    if not is_python(command[0]):
        return program, None
    python = python_command(command[1:])
    for letter in sorted(python.flags & _BLIND.keys()):
        raise UsageError(
            f"a program started with -{letter} cannot be recorded: {_BLIND[letter]}",
            hint=f"leave -{letter} out, or write `with agent_tt.record(...)` in the program",
        )
    return program, python


def _environment(
    report: Report,
    store: Path,
    *,
    name: str,
    calls: Mapping[str, OutsideEffect],
    patch: Sequence[PatchKind],
    is_direct: bool,
    checkpoints: str,
    on_store_error: OnStoreError,
    hash_seed: str | None,
    attach: bool,
) -> dict[str, str]:
    environment = dict(os.environ)
    seed = None
    if not has_hash_seed():
        seed = environment[_SEED] = hash_seed or new_hash_seed()
    before = environment.get(_PATH)
    environment[_PATH] = os.pathsep.join([str(BOOT_FOLDER), *([before] if before else [])])
    environment[STORE_VARIABLE] = told(store.resolve())
    environment[REPORT_VARIABLE] = str(report.path)
    settings = Settings(
        session=secrets.token_hex(8),
        launcher=os.getpid(),
        name=name,
        calls=dict(calls),
        patch=list(patch),
        is_direct=is_direct,
        fixed_seed=seed,
        checkpoints=checkpoints,
        on_store_error=on_store_error,
        attach=attach,
    )
    environment[SETTINGS_VARIABLE] = settings.to_text()
    return environment


def has_hash_seed() -> bool:
    """Whether the order of sets is settled for the programs that this process starts."""
    return os.environ.get(_SEED, "random") not in ("", "random")


def new_hash_seed() -> str:
    """A PYTHONHASHSEED: any number but 0, which would switch the randomness off (`sys.flags` would say so)."""
    return str(1 + secrets.randbelow(_MOST_SEED))


def _run(command: Sequence[str], shown: str, environment: Mapping[str, str]) -> tuple[int, int]:
    """Run the command; its exit code as `subprocess` gives it, and its process id."""
    with _passing_signals_on() as target:
        try:
            # `argv[0]` is what the person wrote: a virtual environment's Python finds itself by it.
            process = subprocess.Popen([shown, *command[1:]], executable=command[0], env=environment)  # noqa: S603  it is what was asked for
        except OSError as error:
            raise UsageError(f"{shown} could not be started: {error.strerror}") from error
        target(process)
        while True:
            try:
                return process.wait(), process.pid
            except KeyboardInterrupt:  # raised by a handler that was not ours
                continue


@contextmanager
def _passing_signals_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Pass signals on to the process that is named with what this gives; those that come before wait for it."""
    early: list[int] = []
    started: list[subprocess.Popen[bytes]] = []

    def hear(number: int, _frame: FrameType | None) -> None:
        if not started:
            early.append(number)
        elif not (number in (signal.SIGINT, signal.SIGQUIT) and is_in_front()):  # a terminal tells the program, too
            started[0].send_signal(number)

    def target(process: subprocess.Popen[bytes]) -> None:
        started.append(process)
        for number in early:
            process.send_signal(number)

    numbers = [getattr(signal, name) for name in _PASSED_ON if hasattr(signal, name)]
    # One that is ignored (by nohup, or in a background job) is ignored by the program too.
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, hear) for number in heard}
    try:
        yield target
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---------------------------------------------------------------- afterwards


def _recorded(
    code: int, process: int, report: Report, store: Path, command: Sequence[str], calls: Mapping[str, OutsideEffect]
) -> Recorded:
    lines = report.lines()
    for line in lines:
        if line["event"] == "refused":
            raise _refusal(line)
    exit_code = code if code >= 0 else _SIGNALLED - code
    ids = list(dict.fromkeys(str(line["id"]) for line in lines if line["event"] == "run"))
    held = tuple(held_paths(lines).values())
    if not ids:
        if os.fspath(report.path) == os.devnull:
            return Recorded(exit_code, warnings=(_NO_REPORT,))
        unmatched = unmatched_paths(lines, calls)
        return Recorded(exit_code, problem=_nothing(lines, code, command[0]), unseen=tuple(unmatched), warnings=held)
    # A program that failed to say so itself is the one that was started, or the only one that recorded.
    own = [str(line["id"]) for line in lines if line["event"] == "run" and line["pid"] == process]
    runs, beside = _settled(store, ids, own or (ids if len(ids) == 1 else ()), code)
    unmatched, unrecorded = _remembered(store, lines, [run.id for run in runs], calls)
    return Recorded(exit_code, runs, unseen=tuple(unmatched), warnings=(*held, *beside, *unrecorded))


def _remembered(
    store: Path, lines: Sequence[Mapping[str, object]], runs: Sequence[str], calls: Mapping[str, OutsideEffect]
) -> tuple[list[str], list[str]]:
    """Keep with the runs what is not recorded; gives the paths without a call, and what is to be said of tools."""
    try:
        with closing(open_store(store)) as opened:
            return remember(opened, lines, runs, calls), _unrecorded(opened, runs)
    except AgentTTError:  # what is wrong with the store was said already
        return unmatched_paths(lines, calls), []


def _unrecorded(store: Store, runs: Sequence[str]) -> list[str]:
    """What is to be said of tools; nothing where a run cannot be read, which is said where it is shown."""
    try:
        with told_elsewhere():
            return unrecorded_tools(store, runs)
    except AgentTTError:
        return []


def _settled(store: Path, ids: Sequence[str], own: Sequence[str], code: int) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """The runs of a command as they are in the store; and what is to be said of those that are not.

    Args:
        store: the store.
        ids: the runs that the command's processes began.
        own: those of the process that was started, which ended with `code`.
        code: its exit code.
    """
    runs: list[Run] = []
    missing: list[str] = []
    try:
        opened = open_store(store)
        with closing(opened):
            take_in(store)
            for run_id in ids:
                try:
                    if run_id in own:
                        _settle(opened, opened.run(run_id), code)
                    runs.append(opened.run(run_id))
                except NotFound:
                    missing.append(run_id)
    except AgentTTError as error:
        missing = [run_id for run_id in ids if run_id not in {run.id for run in runs}]
        return tuple(runs), tuple(f"run {run_id} cannot be shown: {error.message}" for run_id in missing)
    return tuple(runs), tuple(f"run {run_id} is not in {store}" for run_id in missing)


def _refusal(line: Mapping[str, object]) -> AgentTTError:
    message, hint, nearest = str(line.get("message", "")), str(line.get("hint", "")), line.get("nearest")
    if line.get("kind") == NotFound.kind:
        return NotFound(
            message, hint=hint, nearest=[str(name) for name in nearest] if isinstance(nearest, list) else ()
        )
    return UsageError(message, hint=hint)


def _nothing(lines: Sequence[Mapping[str, object]], code: int, program: str) -> AgentTTError:
    """Why nothing was recorded."""
    events = {line["event"] for line in lines}
    if "boot" in events:
        ended = f"it ended with {_how_it_died(code)}" if code else "it ended"
        return AgentTTError(
            f"nothing was recorded: {ended} before it called anything",
            hint="what is called must go through a known HTTP client, a tool, or be named with --call",
        )
    if "foreign" in events:
        return UsageError(
            "nothing was recorded: agent-tt is not installed for the Python that ran",
            hint="install agent-tt there, or name another interpreter",
        )
    return UsageError(
        f"nothing was recorded: boot not loaded, {program} started no Python that reads PYTHONPATH",
        hint="name the interpreter: agent-tt record -- python my_agent.py",
    )


def _settle(store: Store, run: Run, code: int) -> None:
    """Write down how a run ended where its process could not: killed, left without clean-up, or by `sys.exit`."""
    if run.status in ("failed", "interrupted"):
        return
    if run.status == "succeeded":
        if code > 0:  # an exit with a failure; Python does not tell that to anyone inside
            store.set_run_status(run.id, "failed", ErrorInfo("builtins:SystemExit", str(code)))
        return
    if code == 0:  # it left by `os._exit`
        store.set_run_status(run.id, "succeeded")
        return
    status: RunStatus = "interrupted" if -code in _STOPPING else "crashed"
    said = said_of_exit(code) if code > 0 else f"it ended with {_how_it_died(code)}"
    store.set_run_status(run.id, status, ErrorInfo("agent_tt.errors:AgentFailed", said))


def _how_it_died(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal
        return f"signal {-code}"
