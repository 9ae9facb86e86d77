"""Taking spans in: kept at once, imported in a thread of its own, and closed when nothing more is heard of a trace."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import beside
from agent_tt.errors import AgentTTError
from agent_tt.importing import import_file
from agent_tt.model.facts import RunFacts
from agent_tt.model.facts.runs import IncompleteFacts
from agent_tt.serving.otlp.spool import Full, Spool
from agent_tt.store import open_patiently

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.serving.otlp.bodies import Sent

__all__ = ["Full", "Receiver"]

_LOG: Final = logging.getLogger(__name__)

_LEAST_SECONDS: Final = 0.05
_SHARE: Final = 4
"""A trace is imported again after so many times what the last import took: a large one takes not all the time."""

_RETRY_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 1.0
_LOGS: Final = "only records of logs came, which make no run"
_LATE: Final = "it was closed long ago, and late spans of it are not taken any more"


@dataclass(slots=True)
class _Trace:
    """What is known of a trace that has a file.

    Attributes:
        due: when it is imported next, by the monotonic clock; None where nothing new has come.
        is_busy: whether it is imported just now.
        run: the id of its run; "" until it was imported.
        is_over: whether the span around all others has ended.
        is_closed: whether nothing was heard of it for long.
        is_logs: whether only records of logs came, which make no run.
        problem: why it could not be imported, or what of it is left out.
    """

    due: float | None = 0.0
    is_busy: bool = False
    run: str = ""
    is_over: bool = False
    is_closed: bool = False
    is_logs: bool = False
    problem: str = ""


class Receiver:
    """Takes spans in.

    Args:
        store: the store that they become runs of.
        idle: after how many seconds without a span a trace is closed.
        keep: after how many more its file goes; spans that come later are refused.
        room: bytes of the files of all traces.
    """

    def __init__(self, store: Path, *, idle: float = 600.0, keep: float = 86_400.0, room: int = 2 << 30) -> None:
        self.store, self._idle, self._keep = store, idle, keep
        place = beside(store)
        self.spool = Spool(place.with_name(f"{place.name}.otlp"), room)
        self._traces = {trace: _Trace() for trace in self.spool.traces()}
        self._lock = threading.Lock()
        self._wake, self._is_stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="agent-tt otlp", daemon=True)
        self._thread.start()

    def take(self, sent: Sent) -> None:
        """Keep what was sent; when this returns it is on the disk.

        Raises:
            Full: there is no room; nothing is lost if it is sent again.
        """
        for trace, lines in sent.lines.items():
            if self.spool.is_closed(trace):
                sent.reject(f"trace {trace}: {_LATE}", len(lines))
                continue
            if self.spool.add(trace, lines):
                with self._lock:
                    known = self._traces.setdefault(trace, _Trace())
                    known.is_closed = False
                    known.due = time.monotonic() if known.due is None else known.due
                self._wake.set()

    def told(self) -> list[dict[str, Wire]]:
        """`{trace, run, bytes, heard, waiting, over, closed, problem}` of each trace that has a file."""
        with self._lock:
            known = {trace: (each.run, each.is_busy or each.due is not None, each.is_over, each.is_closed, each.problem)
                     for trace, each in self._traces.items()}  # fmt: skip
        return [
            {
                "trace": trace,
                "run": run or None,
                "bytes": self.spool.size(trace),
                "heard_seconds_ago": max(0.0, round(time.time() - self.spool.heard(trace), 1)),
                "waiting": is_waiting,
                "over": is_over,
                "closed": is_closed,
                "problem": problem or None,
            }
            for trace, (run, is_waiting, is_over, is_closed, problem) in known.items()
        ]

    def is_open(self, run_id: str) -> bool:
        """Whether a run is that of a trace of which more is expected."""
        with self._lock:
            return any(each.run == run_id and not (each.is_over or each.is_closed) for each in self._traces.values())

    def stop(self) -> None:
        """Import what waits, and end."""
        self._is_stopping.set()
        self._wake.set()
        self._thread.join()

    # ---------------------------------------------------------------- the thread

    def _work(self) -> None:
        looked = 0.0
        while True:
            is_last = self._is_stopping.is_set()
            self._wake.clear()
            now = time.monotonic()
            with self._lock:
                due = [trace for trace, each in self._traces.items() if each.due is not None]
                ready = [trace for trace in due if is_last or (self._traces[trace].due or 0.0) <= now]
                following = min((self._traces[trace].due or 0.0 for trace in due if trace not in ready), default=None)
            for trace in ready:
                self._import(trace)
            if is_last:
                return
            if now - looked > min(_LOOK_SECONDS, self._idle / 2):
                looked = now
                self._close()
            wait = _LOOK_SECONDS if following is None else min(_LOOK_SECONDS, following - time.monotonic())
            self._wake.wait(max(0.0, min(wait, self._idle / 2)))

    def _import(self, trace: str) -> None:
        began = time.monotonic()
        known = self._traces[trace]
        with self._lock:
            known.due, known.is_busy = None, True
        try:
            known.is_logs = not known.run and not self.spool.has_spans(trace)
            if known.is_logs:
                known.problem = f"{_LOGS}, and no span of it so far"
                return
            if known.run:
                self._say_open(known)
            (done,) = import_file(self.spool.path(trace), self.store)
            problems = [*done.problems]
            if done.run is not None:
                known.run = done.run
                known.is_over = self._say_open(known)
            known.problem = "; ".join(problems)[:400]
        except AgentTTError as error:
            known.problem = error.message
            _LOG.warning("trace %s could not be imported: %s", trace, error)
            self._again(known, _RETRY_SECONDS)
        except Exception as error:  # noqa: BLE001  one trace that fails is not to keep the others out
            known.problem = f"{type(error).__name__}: {error}"
            _LOG.exception("trace %s could not be imported", trace)
        else:
            self._after(known, time.monotonic() - began)
        finally:
            known.is_busy = False

    def _after(self, known: _Trace, took: float) -> None:
        """Import a trace again later, if more of it came while it was imported."""
        if known.due is not None:
            self._again(known, max(_LEAST_SECONDS, _SHARE * took))

    def _again(self, known: _Trace, seconds: float) -> None:
        with self._lock:
            known.due = time.monotonic() + seconds

    def _close(self) -> None:
        """Close traces of which nothing was heard for long, and let files go that nobody needs any more."""
        now = time.time()
        with self._lock:
            quiet = [
                (trace, each, now - self.spool.heard(trace)) for trace, each in self._traces.items() if each.due is None
            ]
        for trace, each, silent in quiet:
            if silent > self._idle and not each.is_closed:
                each.is_closed = True
                if each.is_logs:
                    each.problem = f"{_LOGS}, and no span of it for {self._idle:g} s"
                    _LOG.warning("trace %s is no run: %s", trace, each.problem)
                elif not each.is_over and each.run:
                    with suppress(AgentTTError):
                        self._say_closed(each.run)
            if silent > self._idle + self._keep and each.is_closed and (each.run or each.is_logs):
                self.spool.remove(trace)
                with self._lock:
                    self._traces.pop(trace, None)

    def _say_open(self, known: _Trace) -> bool:
        """Take back that a trace was closed; give whether the span around all others has ended."""
        with closing(open_patiently(self.store)) as store:
            run = store.run(known.run)
            if run.facts.incomplete.step is not None and not known.is_closed:
                store.set_metadata(run.id, {}, remove=[RunFacts.incomplete.key])
            return run.status != "unknown"

    def _say_closed(self, run_id: str) -> None:
        reason = f"no span came for {self._idle:g} s, and the one around all others never did"
        with closing(open_patiently(self.store)) as store:
            run = store.run(run_id)
            store.set_metadata(run_id, IncompleteFacts.after(run.steps, reason))
