"""What the debugger asks a run, in threads: who wrote a value, what is odd, where a question holds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeAlias

from textual.message import Message
from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, InvalidExpression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual.screen import Screen

    from agent_tt.comparing.steps.asked_tools import AskedTool
    from agent_tt.querying.oddities import Oddity
    from agent_tt.querying.provenance.blaming import Blame
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.viewmodel.past.filtering import Asked

_WRITES: Final = 20
"""Writes of a value that are listed; each costs the reading of two values."""

_MOST_ODD: Final = 20_000
"""Steps from which on a run is not searched for oddities unasked: that would take seconds."""

_NEWS_SECONDS: Final = 0.1
"""Least time between two messages that a search sends about further hits."""

Among: TypeAlias = "Callable[[Callable[[], bool]], tuple[frozenset[int], bool]]"
"""Finds steps unless it is cancelled: which, and whether these are all."""


@dataclass
class Blamed(Message):
    """Who wrote a value is known, or why that cannot be said."""

    blame: Blame | None
    why: str = ""


@dataclass
class OddFound(Message):
    """What is odd about the run is known; None where it has too many steps to be searched unasked.

    And with it the tools that only its conversations show, by step.
    """

    oddities: Sequence[Oddity] | None
    asked: Mapping[int, Sequence[AskedTool]]


@dataclass
class StepsFound(Message):
    """Further steps were found, or the search came to its end.

    Attributes:
        text: What was typed.
        first: How many were found before.
        steps: The further steps, in order.
        ended: Whether that is all.
        is_complete: Whether the words that were looked for beside the question are known wherever they stand.
    """

    text: str
    first: int
    steps: Sequence[int]
    ended: bool
    is_complete: bool = True


class PastReading:
    """Asks a run for a screen, which gets the messages of this module; a newer question ends the one before."""

    def __init__(self, screen: Screen[None], model: RunModel) -> None:
        """Ask nothing yet."""
        self._screen = screen
        self._model = model

    def blame(self, path: str, step: int, words: str | None = None) -> None:
        """Ask who wrote the value at a path of the checkpoint after a step, or some words of it."""
        self._start(lambda: self._blame(path, step, words), "blame")

    def stop_blaming(self) -> None:
        """End a search for who wrote a value."""
        self._screen.workers.cancel_group(self._screen, "blame")

    def find_odd(self) -> None:
        """Ask what is odd about the run."""
        self._start(self._find_odd, "odd")

    def find_where(self, text: str, asked: Asked, among: Among | None) -> None:
        """Ask at which steps a question holds; a question before ends.

        Args:
            text: What was typed, which the answers carry.
            asked: What of it is the question.
            among: Finds the steps that also hold the words that were typed; None where there are none.
        """
        self._start(lambda: self._find_where(text, asked, among), "find where")

    def stop_finding(self) -> None:
        """End a search for steps."""
        self._screen.workers.cancel_group(self._screen, "find where")

    # In threads.

    def _start(self, work: Callable[[], None], group: str) -> None:
        self._screen.run_worker(work, group=group, thread=True, exclusive=True)

    def _blame(self, path: str, step: int, words: str | None) -> None:
        from agent_tt.querying.provenance.blaming import blame_value

        worker, model = get_current_worker(), self._model
        answer = Blamed(None)
        try:
            answer.blame = blame_value(
                model.source,
                model.run.id,
                path,
                step,
                words=words,
                limit=_WRITES,
                cancelled=lambda: worker.is_cancelled,
            )
        except AgentTTError as error:
            answer.why = error.message
        if not worker.is_cancelled:
            self._screen.post_message(answer)

    def _find_odd(self) -> None:
        from agent_tt.comparing.steps.asked_tools import read_asked_tools
        from agent_tt.querying.oddities import find_oddities

        worker, model = get_current_worker(), self._model
        found: Sequence[Oddity] | None = None
        asked: Mapping[int, Sequence[AskedTool]] = {}
        if model.last <= _MOST_ODD:
            try:
                found = find_oddities(model.source, model.run, cancelled=lambda: worker.is_cancelled)
                asked = read_asked_tools(model.source, model.run).by_step()
            except AgentTTError:  # what cannot be read is said where it is shown
                found = ()
        if not worker.is_cancelled:
            self._screen.post_message(OddFound(found, asked))

    def _find_where(self, text: str, asked: Asked, among: Among | None) -> None:
        from agent_tt.querying.expressions import EXAMPLES
        from agent_tt_tui.screens.searching import NotUnderstood

        worker = get_current_worker()
        answer: Message
        try:
            answer = self._search(text, asked.question, among, lambda: worker.is_cancelled)
        except InvalidExpression as error:
            why = error.why if error.hint == EXAMPLES else f"{error.why}. {error.hint}"
            position = None if asked.begins is None else asked.begins + error.position
            answer = NotUnderstood(text, why, position)
        except AgentTTError as error:
            answer = NotUnderstood(text, error.message, None)
        if not worker.is_cancelled:
            self._screen.post_message(answer)

    def _search(self, text: str, question: str, among: Among | None, cancelled: Callable[[], bool]) -> StepsFound:
        from agent_tt.querying.watches.step_search import Watch

        watch = Watch(self._model.source, self._model.run.id, question, cancelled=cancelled)
        wanted, is_complete = (None, True) if among is None else among(cancelled)
        first, last = (0, None) if not wanted else (min(wanted), max(wanted))
        found: list[int] = []
        told, due = 0, 0.0
        for number in watch.steps(first, last) if wanted is None or wanted else ():
            if wanted is None or number in wanted:
                found.append(number)
                if time.monotonic() >= due and not cancelled():
                    self._screen.post_message(
                        StepsFound(text, told, found[told:], ended=False, is_complete=is_complete)
                    )
                    told, due = len(found), time.monotonic() + _NEWS_SECONDS
        return StepsFound(text, told, found[told:], ended=True, is_complete=is_complete)
