"""Processes that a program starts: what is asked of one, what comes back, and which starts are nobody's business.

A call of kind `subprocess` begins before the process does and ends when the program has seen its exit and the end of
what it captured. Its result is `{"returncode": 0, "stdout": "…", "stderr": "…", "pid": 4711}`, with only what was
captured; `sent` is what went into its standard input, `not_yet` how often the program looked and it still ran.

A replay starts no process. It gives the result where all of it was recorded, and halts where `lost` says what was not:
output beyond `MOST_BYTES`, output that went into a file of the program's own, and talks in which input followed on
output.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.codec.encode import encode
from agent_tt.recording.calls.exchange import Asked
from agent_tt.recording.calls.signature import signature_of_call
from agent_tt.recording.calls.site import is_agent_file
from agent_tt.redaction.values import asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Effect
    from agent_tt.recording.calls.answers import Served

__all__ = [
    "KIND",
    "MOST_BYTES",
    "Outcome",
    "asked_of",
    "asks_about_this_machine",
    "is_imported",
    "is_probe",
    "is_within",
    "recorded_outcome",
    "signature_of",
    "within",
]  # fmt: skip

KIND: Final = "subprocess"
MOST_BYTES: Final = 8 * 1024 * 1024
"""So much of each stream is kept; of a process that says more the recording knows how much that was."""

_FIRST_WORD: Final = lazy_re(r"[^\s;&|()<>]+")

_WITHIN: ContextVar[bool] = ContextVar("agent_tt_within_start", default=False)


@contextmanager
def within() -> Iterator[None]:
    """While it lasts, what this code starts belongs to a start that is recorded already."""
    token = _WITHIN.set(True)
    try:
        yield
    finally:
        _WITHIN.reset(token)


def is_within() -> bool:
    """Whether a start of this code belongs to one that is recorded already."""
    return _WITHIN.get()


def asks_about_this_machine(frame: FrameType | None) -> bool:
    """Whether a module of the standard library starts a helper that only tells what machine this is.

    SDKs send such facts along: `platform.processor()` runs `uname -p`. A replay has to tell them too, and they are
    asked once in a process, by whoever comes first.
    """
    while frame is not None and frame.f_globals.get("__name__") in _BETWEEN:
        frame = frame.f_back
    name = None if frame is None else frame.f_globals.get("__name__")
    module = sys.modules.get(name) if name in _ABOUT_THIS_MACHINE else None
    return frame is not None and module is not None and vars(module) is frame.f_globals


def is_imported(frame: FrameType | None) -> bool:
    """Whether a library is just being imported that does what is done in `frame`.

    A program that is run is none, nor is a text of the agent's that is executed.
    """
    while frame is not None and not is_agent_file(frame.f_code.co_filename):
        if frame.f_code.co_name == "<module>" and not frame.f_code.co_filename.startswith("<"):
            return _is_executed_by_import(frame.f_back)
        frame = frame.f_back
    return False


def _is_executed_by_import(frame: FrameType | None) -> bool:
    for _ in range(_LOADER_FRAMES):
        if frame is None or is_agent_file(frame.f_code.co_filename):
            return False
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def is_probe(command: object, *, shell: bool) -> bool:
    """Whether a program, as libraries start them while they are imported, only tells what is on this machine.

    Args:
        command: the program and its arguments, or the line that a shell reads.
        shell: whether a shell reads it.
    """
    words = _words(command)
    line = words[0] if words and (shell or len(words) == 1) else ""
    if _SHELL_SIGNS.search(line) is not None:
        return False
    words = line.split() if line else words
    name = PurePath(words[0]).name if words else ""
    if name in _TELLS_ONLY_WHEN_ASKED:
        return any(word in _TELLS_ONLY_WHEN_ASKED[name] for word in words[1:2])
    return name in _PROBES


_BETWEEN: Final = frozenset({"subprocess", "os", "agent_tt.seams.processes.popen_seam"})
_LOADER_FRAMES: Final = 6
"""So far above a module's own code lies the import system, where a loader of somebody else's stands between."""

_SHELL_SIGNS: Final = lazy_re(r"[;&|<>`$()\n]")
_PROBES: Final = frozenset(
    {"arch", "file", "fc-list", "fc-match", "getconf", "hostname", "id", "ldconfig", "locale", "lsb_release", "lscpu"}
    | {"nproc", "nvidia-smi", "sw_vers", "system_profiler", "true", "tty", "uname", "whoami", "which"}
)
_TELLS_ONLY_WHEN_ASKED: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(
        ("gcc", "cc", "clang", "nvcc", "ld", "ffmpeg", "java", "node"), frozenset({"--version", "-version"})
    ),
    "git": frozenset({"--version", "version", "rev-parse", "describe"}),
    "sysctl": frozenset({"-n", "-a"}),
}
_ABOUT_THIS_MACHINE: Final = frozenset({"platform", "ctypes.util", "uuid", "distro", "distro.distro"})


def asked_of(
    command: object, *, shell: bool, cwd: object, captured: Sequence[str], effect: Effect | None = None
) -> Asked:
    """The question that the start of a process is.

    Args:
        command: the program and its arguments, or the line that a shell reads.
        shell: whether a shell reads it.
        cwd: the folder that it starts in; None for the program's own.
        captured: which of `stdout` and `stderr` come back.
        effect: what it does to the world, where that is known.
    """
    words = _words(command)
    named: dict[str, Wire] = {"command": asked(list(words))}
    if shell:
        named["shell"] = True
    if cwd is not None:
        named["cwd"] = asked(_text(cwd))
    if captured:
        named["captured"] = list(captured)
    name = f"{KIND} {_program(words)}".rstrip()
    return Asked(KIND, name, named, signature_of(name, named), effect)


def signature_of(name: str, named: Mapping[str, Wire]) -> str:
    """The hex digest of the question that the start of a process is.

    Args:
        name: what the call is called.
        named: its arguments.
    """
    return signature_of_call(KIND, name, {key: _stable(value) for key, value in named.items()})


class Outcome:
    """What comes back of a process while it runs.

    Attributes:
        returncode: its exit code, once the program knows it.
        pid: its process id.
        sent: what went into its standard input.
        not_yet: how often the program looked and it had not ended, or waited in vain.
        lost: why a stream cannot be given again, by its name.
    """

    def __init__(self) -> None:
        self.returncode: int | None = None
        self.pid: int | None = None
        self.sent = bytearray()
        self.not_yet = 0
        self.lost: dict[str, str] = {}
        self._streams: dict[str, bytearray] = {}
        self._sizes: defaultdict[str, int] = defaultdict(int)

    def capture(self, stream: str) -> None:
        """Say that a stream comes back to the program."""
        self._streams.setdefault(stream, bytearray())

    def captures(self, stream: str) -> bool:
        """Whether a stream comes back to the program."""
        return stream in self._streams

    def got(self, stream: str, data: bytes) -> None:
        """The program has read `data`."""
        self._sizes[stream] += len(data)
        room = MOST_BYTES - len(self._streams[stream])
        self._streams[stream] += data[:room]

    def has_all(self, stream: str, data: bytes) -> None:
        """The program has `data`, which is everything so far."""
        self._streams[stream].clear()
        self._sizes[stream] = 0
        self.got(stream, data)

    def put(self, data: bytes) -> None:
        """The program sends `data` into standard input."""
        if any(self._sizes.values()):
            self.lost["output"] = "it was a talk, in which input followed on output"
        self.sent += data[: max(0, MOST_BYTES - len(self.sent))]

    def stream(self, name: str) -> bytes:
        """What the process said there, as far as it came back."""
        return bytes(self._streams.get(name, b""))

    def result(self) -> dict[str, object]:
        """As the call's result keeps it."""
        result: dict[str, object] = {"returncode": self.returncode}
        for stream, data in self._streams.items():
            result[stream] = _readable(bytes(data))
            if self._sizes[stream] > MOST_BYTES:
                self.lost[stream] = f"of its {self._sizes[stream]:,} bytes the first {MOST_BYTES:,} are kept"
        if self.pid is not None:
            result["pid"] = self.pid
        if self.not_yet:
            result["not_yet"] = self.not_yet
        if self.sent:
            result["sent"] = [[0, _readable(bytes(self.sent))]]
        if self.lost:
            result["lost"] = dict(self.lost)
        return result


def recorded_outcome(served: Served) -> Outcome:
    """What a replay gives back of a process that is not started.

    Raises:
        Divergence: not all of it was recorded.
    """
    result = served.call.result
    facts: Mapping[str, Wire] = result if isinstance(result, dict) else {}
    outcome = Outcome()
    code, pid, not_yet = facts.get("returncode"), facts.get("pid"), facts.get("not_yet")
    outcome.returncode = code if isinstance(code, int) else None
    outcome.pid = pid if isinstance(pid, int) else None
    outcome.not_yet = not_yet if isinstance(not_yet, int) else 0
    lost = facts.get("lost")
    if isinstance(lost, dict) and lost:
        what, why = next(iter(lost.items()))
        raise served.read_past(f"its {what} cannot be given again: {why}")
    for stream in ("stdout", "stderr"):
        if stream in facts:
            data = served.value(facts[stream])
            outcome.capture(stream)
            outcome.got(stream, data.encode() if isinstance(data, str) else bytes(data))  # type: ignore[call-overload]
    return outcome


def check_sent(served: Served, sent: bytes) -> None:
    """Compare what the program sent into standard input with what it sent when it was recorded.

    Raises:
        Divergence: it is something else.
    """
    result = served.call.result
    recorded = isinstance(result, dict) and bool(result.get("sent"))
    if sent or recorded:
        served.got(0, asked(encode(_readable(sent))))


def _words(command: object) -> list[str]:
    if isinstance(command, (str, bytes, os.PathLike)):
        return [_text(command)]
    return [_text(word) for word in command]  # type: ignore[attr-defined]


def _text(value: object) -> str:
    text = os.fsdecode(value) if isinstance(value, (str, bytes, os.PathLike)) else str(value)
    return text.encode("utf-8", "backslashreplace").decode()


@functools.cache
def _temporary(folder: str) -> re.Pattern[str]:
    """A name that `tempfile` made up, which is another one each time."""
    return re.compile(re.escape(folder) + r"(/[^\s/]*?)[a-z0-9_]{8}(?=[./\s'\"]|$)")


def _stable(value: Wire) -> Wire:
    """A part of the question as it is compared: temporary names are others each time."""
    if isinstance(value, list):
        return [_stable(item) for item in value]
    return _temporary(tempfile.gettempdir()).sub(r"\1", value) if isinstance(value, str) else value


def _program(words: list[str]) -> str:
    """What people call it: the first word of a shell's line, or the file's name."""
    first = _FIRST_WORD.match(words[0]) if words else None
    return "" if first is None else PurePath(first[0]).name


def _readable(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
