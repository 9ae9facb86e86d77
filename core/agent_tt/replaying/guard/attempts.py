"""What somebody tried past all that is recorded, as a call: of kind `socket`, or `subprocess`.

A fork keeps what its guard has denied (`agent_tt.forking.outside.guarding`). Where such a run is replayed, or resumed,
the same attempt is refused once more with the same exception, and the agent goes on as it did.
"""

from __future__ import annotations

import ipaddress
import shlex
import socket
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt._pattern import lazy_re
from agent_tt.recording.calls.exchange import Asked, begin_exchange
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.calls.served import served_answer
from agent_tt.recording.calls.signature import signature_of_call
from agent_tt.recording.scope import here
from agent_tt.redaction.values import asked as asked_value
from agent_tt.seams.processes.process_question import asked_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, CallKind
    from agent_tt.replaying.guard.guard import Attempt

__all__ = ["LOOK_UPS", "OWN_NAMES", "SOCKET", "Halts", "answered_again", "call_of", "is_address", "is_own_name"]

SOCKET: Final = "socket"
_STARTS: Final = lazy_re(
    r"_*(?:libc_)?(?:system|popen|v?fork|Fork|clone\d?|forkpty|daemon|posix_spawnp?|f?exec\w+|wordexp)"
)
"""Functions of the C library that start a program."""

LOOK_UPS: Final = frozenset(
    {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
)
OWN_NAMES: Final = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost"})


class Halts(Protocol):
    """What answers a process: `agent_tt.replaying.engine.Replay`, or of a worker what asks that."""

    def next_denied(self, lane: str, signature: str) -> Call | None:
        """What stands next for a lane that asks this, if it was denied."""

    def unrecorded_effect(self, what: str, target: str, site: Mapping[str, Wire]) -> BaseException:
        """Fail because the agent reaches for the world; what to raise into it."""


def call_of(attempt: Attempt, meant: str = "") -> Asked:
    """The question that an attempt is: `socket HOST:PORT`, or `subprocess PROGRAM` with its command line.

    Args:
        attempt: what was tried.
        meant: the host and port that people know the address by. They are no part of what is asked.
    """
    if attempt.event == "os.system":
        return asked_of(attempt.target, shell=True, cwd=None, captured=())  # noqa: S604  it only asks
    if attempt.event.startswith(("ctypes.", "cffi.")):
        kind: CallKind = "subprocess" if _STARTS.fullmatch(attempt.target) else SOCKET
        called: dict[str, Wire] = {"function": attempt.target}
        name = f"{kind} {attempt.event.partition('.')[0]}:{attempt.target}"
        return Asked(kind, name, called, signature_of_call(kind, SOCKET, called), facts={"event": attempt.event})
    if not attempt.event.startswith(f"{SOCKET}."):
        return asked_of(_words(attempt.target) or attempt.event, shell=False, cwd=None, captured=())
    args = {"address": asked_value(attempt.target)}
    name = f"{SOCKET} {meant or attempt.target}".rstrip()
    # An address may be refused where it is looked up or where it is connected to: it is the same question.
    return Asked(SOCKET, name, args, signature_of_call(SOCKET, SOCKET, args), facts={"event": attempt.event})


def _words(line: str) -> list[str]:
    """The words of a command line, which may have been cut."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def answered_again(replay: Halts, attempt: Attempt) -> BaseException | None:
    """What to raise in place of an attempt: what the recorded run was told when it tried this.

    Args:
        replay: what answers.
        attempt: what is tried. Where nothing of that kind was recorded here, the replay is halted.

    Returns:
        None where the recorded run was let through up to what it was denied: it looked up a name of this machine.

    Raises:
        Divergence: the replay has failed.
    """
    scope, question = here(), call_of(attempt)
    denied = None if scope is None else replay.next_denied(scope.recording.lanes.current().id, question.signature)
    if denied is None or denied.kind != question.kind:
        return _halted(replay, attempt)
    if denied.signature != question.signature:
        return None if attempt.event in LOOK_UPS and _is_own_look_up(attempt) else _halted(replay, attempt)
    begun = begin_exchange(question)
    served = begun.served if isinstance(begun, RecordedCall) else begun
    if served is None:
        return _halted(replay, attempt)
    try:
        served_answer(served)
    except BaseException as error:  # noqa: BLE001  it is given to who raises it
        if isinstance(begun, RecordedCall):
            begun.failed(error)
        return error
    return _halted(replay, attempt)


def _halted(replay: Halts, attempt: Attempt) -> BaseException:
    """What halts an agent that tries something that was not recorded."""
    facts = {"file": attempt.file, "line": attempt.line, "function": attempt.function}
    site: dict[str, Wire] = {key: fact for key, fact in facts.items() if fact is not None}
    return replay.unrecorded_effect(attempt.event, attempt.target, site)


# ---------------------------------------------------------------- names of this machine


def is_own_name(event: str, host: str) -> bool:
    """Whether a look-up asks for a name of this machine, or for what is an address already."""
    if host.lower() in OWN_NAMES or host == socket.gethostname():
        return True
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        return is_address(host)
    return is_address(host) and ipaddress.ip_address(host.partition("%")[0]).is_loopback


def is_address(host: str) -> bool:
    """Whether it is an IP address, and no name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_own_look_up(attempt: Attempt) -> bool:
    host, colon, port = attempt.target.rpartition(":")
    return is_own_name(attempt.event, attempt.target) or bool(
        colon and port.isdigit() and is_own_name(attempt.event, host)
    )
