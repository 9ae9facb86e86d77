"""The guard of a fork: what reaches for the world outside of every call is decided by the fork's policy.

Requests and processes that a seam knows are calls of their own, and their rules are asked where they begin. Everything
else that opens a connection or starts a program meets the guard: `urllib`, `smtplib`, a raw socket, a database's
driver, `os.system`. What a running tool or model call does is that call's own doing and passes. The rest is a call of
kind `socket` or `subprocess`, by the name `socket HOST:PORT` or `subprocess PROGRAM`; unless its rule lets it be made,
it is recorded as denied and the agent sees `ToolDenied`, which it may catch.

Passing without being asked about: what changes nothing (facts about this machine and its own names, also where a
library asks a program for them while it is imported; a socket that only listens; the system's log; a debugger's wire),
what `multiprocessing` says to its own processes, a bare `fork` (it stays under the guard), and signals. Files are not
guarded at all. What libraries in C reach by themselves is not seen; a note on the run names them.
"""

from __future__ import annotations

import re
import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import ToolDenied
from agent_tt.forking.outside.left_open import LeftOpen
from agent_tt.forking.outside.outside import Outside
from agent_tt.intercepting.policy import effect_of
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.recording.calls.exchange import begin_exchange
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.calls.site import is_agent_file
from agent_tt.recording.lanes.guard_bypass import is_passing, passing_for
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.recording.session import SESSION
from agent_tt.replaying.guard.attempts import LOOK_UPS, OWN_NAMES, SOCKET, call_of, is_address, is_own_name
from agent_tt.replaying.guard.guard import Attempt, Rules, guarded
from agent_tt.replaying.guard.own_pipes import is_own_pipe
from agent_tt.seams.processes.process_question import is_imported, is_probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from agent_tt.intercepting.policy import ToolPolicy

__all__ = ["guarding"]

_IGNORED: Final = frozenset({"os.fork", "os.kill", "os.killpg", "socket.bind"})
"""A forked process is under the guard itself, and what it executes is seen; a socket that listens reaches nobody."""

_PROGRAMS: Final = {"os.system": 0, "subprocess.Popen": 1, "os.posix_spawn": 1}
"""Events of programs that are started: where among their arguments the command stands."""

_SENDS: Final = frozenset({"socket.sendto", "socket.sendmsg", "socket.send", "subprocess.write"})

_LOGS: Final = frozenset({"/dev/log", "/var/run/syslog", "/run/systemd/journal/socket"})
_DEBUGGERS: Final = frozenset({"debugpy", "pydevd", "_pydevd_bundle", "_pydev_bundle"})
_PORT: Final = re.compile(r":(\d{1,5})$")
_MOST_NAMES: Final = 4096


@contextmanager
def guarding(root: str | None, write: Callable[[str, str], object]) -> Iterator[Callable[[], None]]:
    """Guard this process, which runs a fork, while the block lasts: in every thread, and whatever is imported.

    Args:
        root: the project root, relative to which files are named.
        write: adds a note to the fork's run, of a kind and with a body: what no call of the run can say.

    Yields:
        Writes down which libraries no guard sees, as it does itself where the block is left.

    Raises:
        AgentTTError: the interpreter does not take audit hooks, so nothing could be guarded.
    """
    outside = Outside(write, root)
    gate = _Gate()
    with ExitStack() as stack:
        HOOKS.acquire()  # before the agent records too: they carry the pass into its threads
        stack.callback(HOOKS.release)
        stack.enter_context(outside.listening())
        stack.enter_context(gate.names.remembering())
        left_open = LeftOpen()
        rules = Rules(is_passing, _IGNORED, _is_harmless, gate.forbids, left_open.far_end, left_open.opened)
        guard = stack.enter_context(guarded(gate.decide, root=root, rules=rules))
        stack.enter_context(left_open.ruled(guard.refuse))
        told: list[str] = []

        def tell() -> None:
            unseen = [name for name in guard.not_held() if name not in told]
            told.extend(unseen)
            if unseen:
                outside.note(f"not covered by the fork's guard: {', '.join(unseen)} may reach the world unseen")

        try:
            yield tell
        finally:
            tell()


class _Gate:
    """Decides about attempts, and records them. Safe to use from several threads."""

    def __init__(self) -> None:
        self.names = _Names()
        self._sent_to: set[str] = set()

    def forbids(self, event: str, target: str) -> bool:
        """Whether a person denies what something that runs is about to do.

        What a request or a process does that may be made was decided where it began; of its own connections only those
        are refused that a rule names.
        """
        policy = _policy()
        if policy is None or not policy.denials:
            return False
        question = call_of(Attempt(event, target), self.names.meant(target))
        if passing_for() == "request":
            if question.kind != SOCKET:
                return False
            policy = policy.of_connections()
        return policy.forbids(question.kind, question.name, effect_of(question.kind, question.name, None)) is not None

    def decide(self, attempt: Attempt) -> BaseException | None:
        """What to raise instead of an attempt; None lets it be made."""
        policy, question = _policy(), call_of(attempt, self.names.meant(attempt.target))
        if policy is None:
            return None
        word = policy.decide(question.kind, question.name, "write").word
        if attempt.event in LOOK_UPS and word in ("live", "ask"):
            return None  # what is looked up is asked about where it is connected to
        if word == "live" and self._is_known(attempt):
            return None
        try:
            call = begin_exchange(question)
        except BaseException as error:  # noqa: BLE001  denied, a limit of the fork, a halt: raised where it was tried
            return error.with_traceback(None)
        if not isinstance(call, RecordedCall):  # nothing records here, and the policy lets it be made
            return None
        if call.served is not None:
            denial = ToolDenied(
                f"{question.name} was not made: no answer can be given in its place", tool=question.name
            )
            call.failed(denial)
            return denial
        call.succeeded(None)
        return None

    def _is_known(self, attempt: Attempt) -> bool:
        """Whether datagrams to this address are recorded already: one row tells of all of them."""
        if attempt.event not in _SENDS:
            return False
        if attempt.target in self._sent_to:
            return True
        self._sent_to.add(attempt.target)
        return False


def _policy() -> ToolPolicy | None:
    """What the calls of this process may do; None where no policy holds."""
    enforces = SESSION.link(PolicyEnforcement)
    return None if enforces is None else enforces.policy


class _Names:
    """By which names addresses were looked up, so that a connection is shown, and ruled, by the name that was meant."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Remember what `socket.getaddrinfo` finds while the block lasts; asyncio's look-ups go through it too."""
        original = socket.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **named: Any) -> Any:
            found = original(host, *args, **named)
            if isinstance(host, str) and host.lower() not in OWN_NAMES and not is_address(host):
                if len(self._names) > _MOST_NAMES:
                    self._names.clear()
                for *_, address in found:
                    self._names[str(address[0])] = host
            return found

        socket.getaddrinfo = getaddrinfo
        try:
            yield
        finally:
            if socket.getaddrinfo is getaddrinfo:
                socket.getaddrinfo = original

    def meant(self, target: str) -> str:
        """What people know `host:port` by; "" where that is not known."""
        port = _PORT.search(target)
        name = None if port is None else self._names.get(target[: port.start()])
        return "" if name is None or port is None else f"{name}{port[0]}"


# ---------------------------------------------------------------- what changes nothing


def _is_harmless(event: str, args: tuple[Any, ...], frame: FrameType | None) -> bool:
    """Whether something passes unasked; see the module."""
    if event in LOOK_UPS and is_own_name(event, _host(event, args)):
        return True
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg") and _stays_inside(args[0], args[1]):
        return True
    if event in _PROGRAMS and is_imported(frame) and is_probe(args[_PROGRAMS[event]], shell=event == "os.system"):
        return True
    return _is_debugger(frame)


def _host(event: str, args: tuple[Any, ...]) -> str:
    asked = args[0][0] if event == "socket.getnameinfo" else args[0]
    return asked.decode("utf-8", "replace") if isinstance(asked, bytes) else str(asked or "")


def _stays_inside(sock: Any, address: object) -> bool:
    """Whether a connection leads to this program's own processes, to the system's log or to its kernel."""
    kind = getattr(getattr(sock, "family", None), "name", "")
    if kind == "AF_NETLINK":
        return True
    if kind != "AF_UNIX":
        return False
    return address in _LOGS or is_own_pipe(address)


def _is_debugger(frame: FrameType | None) -> bool:
    while frame is not None and not is_agent_file(frame.f_code.co_filename):
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _DEBUGGERS:
            return True
        frame = frame.f_back
    return False
