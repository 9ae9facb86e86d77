"""Replaying one run of a process that recorded several: a script that asks its agent one question after the other.

The script starts again from its beginning, so the runs before the replayed one are made again too, and those after it.
Each is answered from its own recording. What differs there matters only where nothing can answer: then the replay
halts; else it is noted.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from agent_tt.recording.runs.process_runs import process_of
from agent_tt.recording.scope import here
from agent_tt.replaying.divergence import Divergence
from agent_tt.replaying.engine import Replay
from agent_tt.replaying.null_store import number_of
from agent_tt.replaying.tape.tape import read_tape
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.recording.calls.answers import Question, Served
    from agent_tt.replaying.clock.timeline import Timeline, Upcoming

__all__ = ["Siblings", "siblings_of"]


def siblings_of(source: RunSource, run: Run) -> dict[int, Run]:
    """The runs that the process of `run` recorded beside it, by their number among these."""
    process, _ = process_of(run.metadata)
    if process is None:
        return {}
    found = {}
    for other in source.runs():
        token, number = process_of(other.metadata)
        if token == process and other.id != run.id:
            found[number] = other
    return found


class Siblings:
    """Answers every recording of a process: the replayed run's from `replay`, the others from their own tapes."""

    def __init__(self, replay: Replay, store: Path, runs: dict[int, Run]) -> None:
        """Begin.

        Args:
            replay: answers the run that is replayed.
            store: the file that holds the others.
            runs: these, by their number in the process.
        """
        self._replay = replay
        self._store = store
        self._runs = runs
        self._replays: dict[int, Replay] = {}
        self._line: Timeline | None = None

    @property
    def kept_headers(self) -> frozenset[str]:
        """Names of request headers that counted when the run was recorded."""
        return self._replay.kept_headers

    def ask(self, question: Question) -> Served | None:
        """Serve a call; see `agent_tt.intercepting.recorded_responses.Answers`."""
        scope = here()
        return self.ask_of(None if scope is None else number_of(scope.recording.id), question)

    def answers(self, number: int | None) -> bool:
        """Whether the calls of the recording with that number are another run's than the one that is replayed."""
        return number in self._runs

    def ask_of(self, number: int | None, question: Question) -> Served | None:
        """Serve a call of the recording with that number in this process; None outside all of them."""
        if number is None or not self.answers(number):
            return self._replay.ask(question)
        self._replay.check()
        try:
            return self._replay_of(number).ask(question)
        except Divergence as error:
            raise self._replay.fail(error.finding) from None

    def _replay_of(self, number: int) -> Replay:
        found = self._replays.get(number)
        if found is None:
            with closing(open_source(self._store)) as source:
                tape = read_tape(source, self._runs[number])
            found = self._replays.setdefault(number, Replay(tape, observe=True))
            found.follow(self._line)
        return found

    def finish(self) -> None:
        """Look at what the other runs did not ask; what differs there is noted."""
        for number, replay in sorted(self._replays.items()):
            replay.finish()
            if replay.findings and replay.failure is None:
                name = self._runs[number].name
                self._replay.notes.add(
                    "another run", f"{name}, recorded by the same process: {replay.findings[0].kind}"
                )

    # ------------------------------------------------------------ for the clock

    def follow(self, line: Timeline | None) -> None:
        """Give answers out when `line` says so; None: as soon as it is their turn."""
        self._line = line
        for replay in self._all():
            replay.follow(line)

    def upcoming(self) -> Upcoming | None:
        """The earliest of the answers that may come next."""
        every = [upcoming for replay in self._all() if (upcoming := replay.upcoming()) is not None]
        return min(every, key=lambda upcoming: upcoming.due, default=None)

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for an answer."""
        return any(replay.is_waited_for for replay in self._all())

    @property
    def progress(self) -> int:
        """Another number whenever an answer was given out."""
        return sum(replay.progress for replay in self._all())

    def relax(self) -> bool:
        """Let something happen where nothing else can; see `Replay.relax`."""
        return any(replay.relax() for replay in self._all())

    def _all(self) -> Iterator[Replay]:
        yield self._replay
        yield from list(self._replays.values())
