"""Keeping in short, with a run, what came of replaying it."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from agent_tt.errors import AgentFailed, AgentTTError, InvalidEntryPoint
from agent_tt.forking.entry.code import plan_code
from agent_tt.model import Replay
from agent_tt.protocols import Store
from agent_tt.recording.runs.entry import fingerprint

if TYPE_CHECKING:
    from agent_tt.model import ReplayMode, Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport

__all__ = ["KeptReplay", "ReplayStopped"]

_LOG: Final = logging.getLogger(__name__)


class ReplayStopped(AgentFailed):
    """A replay was cancelled, so how it would have ended is not known."""


class KeptReplay:
    """A `with` block that replays a run, and keeps what came of it where the source can be written.

    A replay never fails because it could not be kept. One that was stopped is not kept: it has no verdict. Neither is
    one under a debugger: a person may have changed what the agent did.

    Attributes:
        report: what the replay found; the block sets it.
    """

    def __init__(self, source: RunSource, run: Run, *, observe: bool, agent: str | None, debugged: bool) -> None:
        self.report: ReplayReport | None = None
        self._store = source if isinstance(source, Store) and not source.read_only and not debugged else None
        self._run, self._agent = run, agent
        self._mode: ReplayMode = "observe" if observe else "halt"

    def __enter__(self) -> Self:
        if self._store is not None:
            self._fingerprint, self._began = _fingerprint(self._run, self._agent), time.monotonic()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if self._store is None or isinstance(error, ReplayStopped):
            return
        if self.report is not None:
            self._keep(self._store, _in_short(self.report))
        elif isinstance(error, AgentFailed | InvalidEntryPoint):
            self._keep(self._store, Replay(self._run.id, "failed", message=error.message))

    def _keep(self, store: Store, replay: Replay) -> None:
        took_us = round((time.monotonic() - self._began) * 1_000_000)
        whole = replace(replay, mode=self._mode, duration_us=took_us, agent=self._agent, fingerprint=self._fingerprint)
        try:
            store.keep_replay(whole)
        except AgentTTError as failure:
            _LOG.warning("the replay of %s was not kept: %s", self._run.id, failure)


def _in_short(report: ReplayReport) -> Replay:
    first = next(iter(report.divergences), None)
    ending = report.agent.error if report.agent.is_otherwise else ""
    return Replay(
        report.run_id,
        "failed" if report.failed_before_asking else report.verdict,
        recorded=report.recorded,
        served=report.served,
        reservations={note.kind: note.count for note in report.reservations},
        divergences=len(report.divergences),
        divergence=None if first is None else first.kind,
        step=None if first is None else first.step,
        call=None if first is None else first.call,
        message=ending if first is None else first.message,
    )


def _fingerprint(run: Run, agent: str | None) -> str | None:
    """The fingerprint of the source file that is about to run; None where it cannot be told which one that is."""
    with suppress(AgentTTError):
        return fingerprint(plan_code(run, agent, "replay")[0].file)
    return None
