"""Recording on where the store cannot be written: into a file beside it, else not at all. The agent never notices.

The store is tried first. What it refuses, and all that follows, goes into a spill file (`agent_tt.store.spill`); where
no such file can be written either, steps and calls are only counted, and the run is marked incomplete as soon as
anything can be written again. At its end the run is brought into the store, if that can be written by then.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

from agent_tt.errors import AgentTTError, NotFound
from agent_tt.model.facts import IncompleteFacts
from agent_tt.protocols import ForwardingWriter, NumberingWriter, Numbers
from agent_tt.store import open_store
from agent_tt.store.file.connecting import waiting_at_most
from agent_tt.store.rows.ids import new_run_id
from agent_tt.store.spill.files import places
from agent_tt.store.spill.taking_in import take_in
from agent_tt.store.spill.writer import SpillWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import (
        CallEnd,
        DeliveryKind,
        ErrorInfo,
        Hold,
        Judged,
        NewCall,
        NewRun,
        NewStep,
        Output,
        RunStatus,
    )
    from agent_tt.model.once import Holder
    from agent_tt.protocols import OpenQuestion, RunWriter, Store
    from agent_tt.questions import NewQuestion
    from agent_tt.store.file.connection import Durability

__all__ = ["FallbackWriter"]

_LOG = logging.getLogger(__name__)
T = TypeVar("T")

_PATIENCE_S: Final = 3.0
"""How long the agent waits for a store that another process has locked, before its run goes on elsewhere."""

_PATIENCE_AT_THE_END_S: Final = 1.0


class FallbackWriter(ForwardingWriter):
    """The open end of a run that is recorded wherever it can be; no method of it raises what the store does.

    Args:
        open_it: opens the store, and makes it where there is none.
        path: where the store is.
        durability: as of `agent_tt.record`.
        new: what is said of the run.
        state: what its agent begins with.
        joins: the run of another process that this one writes into, None for a run of its own.
    """

    def __init__(
        self,
        open_it: Callable[[], Store],
        path: Path,
        durability: Durability,
        new: NewRun,
        state: object,
        joins: str | None = None,
    ) -> None:
        self._path = path
        self._durability: Durability = durability
        self._new = new
        self._lock = threading.RLock()
        self._numbers = Numbers()
        self._store: Store | None = None
        self._joins = joins is not None
        self._run_id = joins or new_run_id()
        self._token, self._part = new_run_id(), 0
        self._places = places(path)
        self._spill: SpillWriter | None = None
        self._stopped: tuple[int, str] | None = None
        self._first: tuple[object] | None = None if self._joins else (state,)
        self._current: RunWriter
        try:
            self._current = self._begin_in_store(open_it, state)
        except Exception as error:  # noqa: BLE001  whatever is wrong with it, the agent is not to blame
            self._go_elsewhere(error)

    def _begin_in_store(self, open_it: Callable[[], Store], state: object) -> RunWriter:
        with waiting_at_most(_PATIENCE_S):
            self._store = store = open_it()
            with contextlib.suppress(Exception):  # said where somebody looks at the runs
                take_in(self._path)
        if self._joins:
            with contextlib.suppress(NotFound):
                return store.join_run(self._run_id)
            self._joins, self._run_id, self._first = False, new_run_id(), (state,)
        # An id drawn here tells whether a beginning that failed was written.
        writer = store.begin_run(self._new, state, run_id=self._run_id)
        self._first = None
        return writer

    # ---------------------------------------------------------------- the shape of a RunWriter

    @property
    def run_id(self) -> str:
        """The run that it writes."""
        return self._run_id

    def open_step(self, new: NewStep) -> int:
        """See `RunWriter`."""
        with self._lock:
            number = super().open_step(new)
            self._numbers.step = max(number, self._numbers.step)
        return number

    def begin_call(self, step: int, new: NewCall) -> int:
        """See `RunWriter`."""
        with self._lock:
            number = super().begin_call(step, new)
            self._numbers.calls[step] = number
        return number

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """See `RunWriter`."""
        with self._lock:
            number = super().deliver(step, call, kind, data)
            self._numbers.delivery = max(number, self._numbers.delivery)
        return number

    def ask(self, step: int, call: int, new: NewQuestion) -> OpenQuestion:
        """See `RunWriter`. Only the store can carry a question: nothing is tried elsewhere."""
        return self._current.ask(step, call, new)

    def holds(self) -> Sequence[Hold]:
        """See `RunWriter`. What cannot be asked is no reason to write elsewhere."""
        return self._current.holds()

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> Holder | None:
        """See `RunWriter`. Only the store can say it: nothing is tried elsewhere."""
        return self._current.claim_key(step, call, tool, key, is_decided=is_decided)

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """See `RunWriter`."""
        with self._lock:
            before = self._numbers.delivery
            super().end_call(step, number, end)
            self._numbers.delivery = max(before + 1, self._numbers.delivery)

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """See `RunWriter`."""
        with self._lock:
            super().finish(status, error)
            if self._stopped is not None:
                self._mark_incomplete(status, error, *self._stopped)

    # ---------------------------------------------------------------- what a recording does beside

    def add_note(self, step: int | None, kind: str, body: str) -> None:
        """Write a note on the run or a step of it."""
        self._forward(lambda writer: self._marks(writer, lambda store: store.add_note(self._run_id, step, kind, body),
                                            lambda spill: spill.add_note(step, kind, body)))  # fmt: skip

    def set_tags(self, tags: Sequence[str]) -> None:
        """Write down all tags of the run."""
        self._forward(lambda writer: self._marks(writer, lambda store: store.set_tags(self._run_id, tags),
                                            lambda spill: spill.set_tags(tags)))  # fmt: skip

    def set_metadata(self, facts: Mapping[str, Wire]) -> None:
        """Write down facts of the run; beside the store they are left out."""
        if self._store is not None and self._spill is None and self._stopped is None:
            self._store.set_metadata(self._run_id, facts)

    def _marks(
        self, writer: RunWriter, in_store: Callable[[Store], object], in_spill: Callable[[SpillWriter], object]
    ) -> None:
        if isinstance(writer, SpillWriter):
            in_spill(writer)
        elif self._store is not None and not isinstance(writer, NumberingWriter):
            in_store(self._store)

    def keep_output(self, output: Output) -> None:
        """Write down what was printed, after the run's end."""
        try:
            if self._spill is not None:
                self._spill.keep_output(output)
            elif self._store is not None and self._stopped is None:
                self._store.keep_output(self._run_id, output)
        except (AgentTTError, OSError, ValueError):
            _LOG.debug("what run %s printed could not be recorded", self._run_id, exc_info=True)

    def sample_out(self, slow_us: int | None) -> bool:
        """Let the run go, as `Store.sample_out` does; one that is not wholly in its store is kept."""
        is_whole = self._spill is None and self._stopped is None and not self._joins
        return is_whole and self._store is not None and self._store.sample_out(self._run_id, slow_us)

    def go_on_forked(self) -> None:
        """In a process that was forked: the run is the other's to end, and so are the files that it writes."""
        self._lock = threading.RLock()
        self._joins, self._token, self._part = True, new_run_id(), 0
        numbers, self._numbers = self._numbers, Numbers()
        self._numbers.step, self._numbers.delivery, self._numbers.calls = (
            numbers.step, numbers.delivery, dict(numbers.calls)
        )  # fmt: skip
        if isinstance(self._current, (SpillWriter, NumberingWriter)):
            self._spill, self._stopped, self._first, self._places = None, None, None, places(self._path)
            self._go_on_in_spill("the store could not be written when this process was forked")

    def close(self) -> None:
        """Let go of the store, after bringing what was written elsewhere into it where that can be."""
        if self._spill is not None:
            self._bring_in()
        if self._store is not None:
            with contextlib.suppress(AgentTTError):
                self._store.close()

    # ---------------------------------------------------------------- falling back

    def _forward(self, action: Callable[[RunWriter], T]) -> T:
        with self._lock:  # one at a time: where the store is locked, its lock is waited for only once
            while True:
                try:
                    return action(self._current)
                except Exception as error:
                    if isinstance(self._current, NumberingWriter):
                        raise
                    self._go_elsewhere(error)

    def _go_elsewhere(self, error: Exception) -> None:
        """Give up what the run was written into so far, for good."""
        reason = error.message if isinstance(error, AgentTTError) else f"{type(error).__name__}: {error}"
        _LOG.debug("run %s cannot be recorded as before", self._run_id, exc_info=error)
        is_first = self._spill is None
        if self._spill is not None:
            with contextlib.suppress(OSError, ValueError):
                self._spill.moved()
            del self._places[0]
        self._go_on_in_spill(reason)
        if self._stopped is not None:
            after = f"at step {self._stopped[0]}" if self._stopped[0] else "before its first step"
            _say(f"the recording of {self._new.name} ({self._run_id}) ends {after}: {reason}. The agent goes on.")
        elif is_first and self._spill is not None:
            _say(f"{self._new.name} ({self._run_id}) cannot be recorded into its store: {reason}. "
                 f"It goes on in {self._spill.path}, which the store takes in when it can.")  # fmt: skip

    def _go_on_in_spill(self, reason: str) -> None:
        while self._places:
            try:
                spill = SpillWriter(
                    self._path,
                    self._places[0],
                    self._run_id,
                    token=self._token,
                    part=self._part,
                    numbers=self._numbers,
                    why=reason,
                    is_durable=self._durability == "full",
                    joins=self._joins,
                )
                self._part += 1
                if self._first is not None:
                    spill.begin(self._new, self._first[0])
                    self._first = None
            except Exception as error:  # noqa: BLE001  no room, no right, or a value that cannot be written
                _LOG.debug("nothing can be recorded in %s either: %s", self._places[0], error)
                del self._places[0]
                continue
            self._spill = self._current = spill
            return
        self._stopped = self._numbers.step, reason
        self._current = NumberingWriter(self._run_id, self._numbers)

    # ---------------------------------------------------------------- the end

    def _mark_incomplete(self, status: RunStatus, error: ErrorInfo | None, step: int, reason: str) -> None:
        """Say that the run was not recorded to its end, in the last file that it was written into."""
        try:
            if self._spill is not None:
                self._spill.incomplete(step, reason)
                self._spill.finish(status, error)
            elif self._first is None and not self._joins:
                with waiting_at_most(_PATIENCE_AT_THE_END_S):
                    store = open_store(self._path)
                with contextlib.closing(store), store.as_one():
                    store.go_on(self._run_id).finish(status, error)
                    store.set_metadata(self._run_id, IncompleteFacts.after(step, reason))
        except Exception as failure:  # noqa: BLE001  it was said before that the recording ended
            _LOG.debug("run %s could not be marked as incomplete: %s", self._run_id, failure)

    def _bring_in(self) -> None:
        """Take in what was written beside the store, where the store can be written by now."""
        try:
            with waiting_at_most(_PATIENCE_AT_THE_END_S):
                self._restore_beginning()
                left = take_in(self._path, tokens=(self._token,))
        except Exception as error:  # noqa: BLE001  then it stays where it is
            _LOG.debug("run %s stays beside its store", self._run_id, exc_info=error)
            return
        if not left:
            _say(f"{self._new.name} ({self._run_id}) is in its store again.")

    def _restore_beginning(self) -> None:
        """Where the store was removed, and nothing was put in its place: put back what it held of the run."""
        if self._store is not None and self._first is None and not self._joins:
            self._store.restore_file(self._run_id)


def _say(words: str) -> None:
    """Tell the person who runs the agent, wherever its standard error goes, and its log if it keeps one."""
    if _LOG.hasHandlers():  # else logging itself would write it to standard error, too
        _LOG.error("%s", words)
    if sys.stderr is None or _leads_to(sys.stderr) not in (None, _STANDARD_ERROR):
        return  # a daemon has closed it, and by now it may be a file of the agent's
    with contextlib.suppress(Exception):  # there may be nobody who reads it any more
        print(f"agent-tt: {words}", file=sys.stderr, flush=True)  # noqa: T201  loud on purpose


def _leads_to(stream: TextIO | None) -> tuple[int, int] | None:
    """What tells the file that a stream writes to; None where it has none, as one that a test has put there."""
    try:
        found = os.fstat(stream.fileno()) if stream is not None else None
    except Exception:  # noqa: BLE001  any object may stand there
        return None
    return None if found is None else (found.st_dev, found.st_ino)


_STANDARD_ERROR: Final = _leads_to(sys.__stderr__)
