"""In the process that replays: each worker is given what it asks for, by a thread that waits in its place.

So all answers are given out in the one recorded order, whichever worker asks, and one process knows what differs.
"""

from __future__ import annotations

import itertools
import secrets
import select
import shutil
import signal
import threading
import time
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Listener
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.recording.concurrency.process_pools import jobs_that_came
from agent_tt.recording.scope import nowhere
from agent_tt.replaying.null_store import number_of
from agent_tt.replaying.workers.asking import Given
from agent_tt.replaying.workers.connection import Address
from agent_tt.replaying.workers.resting import BusyProcesses
from agent_tt.temporary import kept_folder

if TYPE_CHECKING:
    from collections.abc import Collection
    from multiprocessing.connection import Connection

    from agent_tt.codec.wire import Wire
    from agent_tt.errors import NotRebuildable
    from agent_tt.model import Call, NewStep
    from agent_tt.recording.calls.answers import Question
    from agent_tt.replaying.answers.answer import Answer
    from agent_tt.replaying.engine import Replay
    from agent_tt.replaying.null_store import NumberingStore
    from agent_tt.replaying.tape.siblings import Siblings

__all__ = ["Serving"]

_PATIENCE: Final = 1.0
"""Real seconds after which a program is interrupted that waits on although a worker's call has halted the replay."""

_OUT_OF_TURN: Final = 5.0
"""Real seconds for which nothing happens before a job returns ahead of one that came back before it."""

_HOLDS: Final = "agent-tt holds a job"
"""The name of a thread that holds a job back; see `agent_tt.replaying.clock.busy_threads`."""

_LOOK: Final = 0.1
_GLANCE: Final = 0.001
_monotonic: Final = time.monotonic
_sleep: Final = time.sleep


class Serving:
    """Gives worker processes what they ask for, from their first question to the end of the replay.

    Attributes:
        address: where they ask.
        busy: which of them work.
        has_interrupted: whether the program was interrupted because it waited in vain.
    """

    def __init__(self, replay: Replay, siblings: Siblings | None, store: NumberingStore) -> None:
        self._replay = replay
        self._siblings = siblings
        self._store = store
        self._folder = kept_folder("agent-tt-")
        self.address = Address(str(Path(self._folder) / "workers"), secrets.token_bytes(16))
        self.busy = BusyProcesses()
        self.has_interrupted = False
        self._answers: dict[int, Answer] = {}
        self._order = replay.tape.run.facts.jobs_came
        self._places = {lane: place for place, lane in enumerate(self._order)}
        self._first_left = 0
        self._socket = -1
        self._heard: set[Connection[Any, Any]] = set()
        self._greets = False
        self._held: dict[str, tuple[int, Collection[str]]] = {}
        self._lock = threading.Lock()
        self._keys = itertools.count()
        self._meetings = {self.address.path}
        self._is_over = False
        self._listener: Listener | None = None

    def begin(self) -> None:
        """Hear workers from now on."""
        self._listener = Listener(self.address.path, "AF_UNIX", backlog=64, authkey=self.address.key)
        self._socket = self._listener._listener._socket.fileno()  # type: ignore[attr-defined]  # noqa: SLF001
        for serve in (self._accept, self._interrupt):
            self._start(serve, "agent-tt workers")

    def end(self) -> None:
        """Hear nobody any more."""
        self._is_over = True
        if self._listener is not None:
            with suppress(OSError):
                self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, target: Any, name: str, *args: object) -> None:
        with nowhere():
            threading.Thread(target=target, args=args, name=name, daemon=True).start()

    def _accept(self) -> None:
        listener = self._listener
        while listener is not None and not self._is_over:
            with suppress(OSError, EOFError, ValueError, AuthenticationError):  # who broke off, or has not the key
                select.select([self._socket], [], [])
                self._greets = True  # one that waits to be heard looks as if it rested
                connection = listener.accept()
                self._heard.add(connection)
                self._start(self._serve, "worker", connection)
            self._greets = False

    def _serve(self, connection: Connection[Any, Any]) -> None:
        process = 0
        with connection:
            while True:
                try:
                    what, args = connection.recv()
                except (EOFError, OSError):
                    self._heard.discard(connection)
                    return
                if what == "begin":
                    (process,) = args
                    what, args = "next_denied", ("", "")
                self.busy.add(process)
                self._heard.discard(connection)
                try:
                    given = True, getattr(self, f"_{what}")(*args)
                except BaseException as error:  # noqa: BLE001  raised in the worker
                    given = False, error
                self.busy.add(process)
                self._heard.add(connection)
                with suppress(OSError):
                    connection.send(given)

    def _interrupt(self) -> None:
        """Interrupt a program that waits for a worker whose call has halted the replay: some pools never tell it."""
        since = 0.0
        while not self._is_over:
            _sleep(_LOOK)
            since = since + _LOOK if self._replay.is_halted else 0.0
            if since > _PATIENCE and not self._is_over:
                since, self.has_interrupted = 0.0, True
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def meets(self, event: str, path: str) -> bool:
        """Whether an address is one where processes of this replay listen; from `socket.bind` on it is."""
        if event == "socket.bind":
            self._meetings.add(path)
        return path in self._meetings

    # ------------------------------------------------------------ what workers ask for

    def _ask(self, question: Question, run_id: str | None) -> Given | None:
        self._replay.asked_elsewhere.add(question.name)
        if self._siblings is None:
            answer = self._replay.ask(question)
        else:
            answer = self._siblings.ask_of(None if run_id is None else number_of(run_id), question)
        if answer is None:
            return None
        key = next(self._keys)
        served = self._answers[key] = cast("Answer", answer)
        return Given(key, served.call, served.pieces, served.lasted())

    def _job_returns(self, run_id: str, lane: str) -> None:
        """Let a job return behind those that did when it was recorded; where nothing else goes on, before its turn."""
        place = self._places.get(lane, 0)
        if self._siblings is not None and self._siblings.answers(number_of(run_id)):
            return
        came, since, progress = jobs_that_came(run_id), _monotonic(), self._replay.progress
        looks, self._held[lane] = since, (place, came)
        me = threading.current_thread()
        name, me.name = me.name, _HOLDS  # it looks again and again: no work that an answer has to wait for
        while not self._is_turn(place, came) and not self._is_over and not self._replay.is_halted:
            now = _monotonic()
            if progress != self._replay.progress or (now > looks and self.busy.works()):
                since, progress = now, self._replay.progress
            elif now - since > _OUT_OF_TURN:
                self._replay.relaxed()
                break
            looks = now + _LOOK if now > looks else looks
            _sleep(_GLANCE)
        me.name = name
        self._held.pop(lane, None)

    def works(self) -> bool | None:
        """Whether any worker works, has asked what was not heard yet, or has a job that may return; None: no worker."""
        with suppress(OSError, ValueError):  # one was closed just now
            asking: list[Any] = [self._socket, *self._heard.copy()]
            if self._greets or select.select(asking, [], [], 0)[0]:
                return True
        return any(self._is_turn(*held) for held in list(self._held.values())) or self.busy.works()

    def _is_turn(self, place: int, came: Collection[str]) -> bool:
        with self._lock:
            while self._first_left < place and self._order[self._first_left] in came:
                self._first_left += 1
            return self._first_left >= place

    def _wait(self, key: int, index: int) -> None:
        self._answers[key].wait(index)

    def _turn(self, key: int, index: int) -> None:
        self._answers[key].wait_for_coroutine(index)

    def _leave(self, key: int, index: int) -> None:
        self._answers[key].leave(index)

    def _cancelled(self, key: int) -> None:
        self._answers[key].cancelled()

    def _read_past(self, key: int, why: str) -> BaseException:
        return self._answers[key].read_past(why)

    def _cannot_rebuild(self, key: int, why: NotRebuildable) -> BaseException:
        return self._answers[key].cannot_rebuild(why)

    def _check_sent(self, key: int, index: int, recorded: Wire, value: Wire) -> None:
        self._answers[key].check_sent(index, recorded, value)

    def _next_denied(self, lane: str, signature: str) -> Call | None:
        return self._replay.next_denied(lane, signature) if lane else None

    def _unrecorded_effect(self, what: str, target: str, site: dict[str, Wire]) -> BaseException:
        return self._replay.unrecorded_effect(what, target, site)

    def _has_begun(self, process: int) -> None:
        """A worker has started another one, which asks for nothing before the agent's code runs in it."""
        self.busy.add(process)

    def _meets(self, event: str, path: str) -> bool:
        return self.meets(event, path)

    def _open_step(self, run_id: str, new: NewStep) -> int:
        return self._store.runs[run_id].open_step(new)

    def _close_step(self, run_id: str, number: int, state: Wire) -> None:
        check = self._store.runs[run_id].check
        if check is not None:
            check.compare(number, state)
