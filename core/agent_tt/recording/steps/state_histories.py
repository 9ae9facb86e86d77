"""Which object each state history of a run follows, and which steps are open on it.

State belongs to an object, not to a lane: agents that share one object commit to one track, in the order in which their
steps end.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN_TRACK: Final = "main"


class TrackedStep(Protocol):
    """A step as its state history knows it.

    Attributes:
        own_state: the object that it brought, None where it works on its history's.
        shares_track: whether steps beside it were open on its state history: changes may be theirs too.
    """

    own_state: object
    shares_track: bool

    @property
    def number(self) -> int:
        """Its number in the run, from 1."""

    @property
    def parent(self) -> TrackedStep | None:
        """The step that it is nested in."""

    @property
    def track(self) -> str | None:
        """The name of its state history, once it has begun."""


class Track:
    """One state history.

    Attributes:
        name: `main`, or the agent whose own state it is.
        state: the object that it follows, None before there is one.
        commit: held while a state is read and written, so that checkpoints come in the order of what they saw.
    """

    def __init__(self, name: str, state: object = None) -> None:
        self.name = name
        self.state = state
        self.commit = threading.RLock()
        self._lock = threading.RLock()
        self._open: list[TrackedStep] = []

    def enter(self, step: TrackedStep) -> None:
        """Count `step` as open. It and the open steps beside it, but not those around it, share the track."""
        around = set(lineage(step))
        with self._lock:
            for other in self._open:
                if other not in around:
                    other.shares_track = step.shares_track = True
            self._open.append(step)

    def leave(self, step: TrackedStep) -> None:
        """Count `step` as ended."""
        with self._lock:
            self._open.remove(step)


class Tracks:
    """All state histories of one run.

    Attributes:
        main: the one of the run's own state.
    """

    def __init__(self, state: object) -> None:
        self.main = Track(MAIN_TRACK, state)
        self._lock = threading.RLock()
        self._by_name = {MAIN_TRACK: self.main}

    def choose(self, name: str | None, agent: str | None, state: object) -> Track:
        """The track of a step that says these things of itself.

        Without a name it is the run's, unless the step names an agent and brings an object of its own.
        """
        if name is None:
            is_runs = state is None or self.main.state is None or self.main.state is state
            name = MAIN_TRACK if agent is None or is_runs else agent
        with self._lock:
            track = self._by_name.get(name)
            if track is None:
                track = self._by_name[name] = Track(name)
            return track


def lineage(step: TrackedStep) -> Iterator[TrackedStep]:
    """The steps around `step`, innermost first."""
    around = step.parent
    while around is not None:
        yield around
        around = around.parent
