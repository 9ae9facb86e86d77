"""Approvals: calls that wait for a person are said at once on the screens that show their runs; a dialog decides."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from textual import events
from textual.widgets import Input
from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt.protocols import Store
from agent_tt_tui.feature import Feature, hears
from agent_tt_tui.keymaps.shared import ANSWER
from agent_tt_tui.look import look_of
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from textual.timer import Timer

    from agent_tt.protocols import RunSource
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.running.ask import AskDialog

_LOOK_SECONDS: Final = 0.25
_SAID_SECONDS: Final = 6.0


class Waiting(NamedTuple):
    """A call that waits.

    Attributes:
        source: Where its run is.
        question: What is asked.
        run_name: The name of its run.
    """

    source: RunSource
    question: CallQuestion
    run_name: str

    @property
    def key(self) -> tuple[Path, int]:
        """By what it is remembered."""
        return self.source.path, self.question.id


class Approvals(Feature):
    """Looks for calls of shown runs that wait for a decision, and lets a person decide."""

    COMMANDS = frozenset({"live.answer"})

    def __init__(
        self,
        screen: CommandScreen[None],
        watched: Callable[[], Sequence[tuple[RunSource, str | None]]],
        show: Callable[[Sequence[Waiting]], None],
        *,
        opens_by_itself: bool = False,
    ) -> None:
        """Initialise the feature.

        Args:
            screen: The screen.
            watched: Where runs are that may ask now, each with the id of the run, or None for all; empty for none.
            show: Shows on the screen which calls wait, after that has changed.
            opens_by_itself: Whether the dialog opens unasked: where a person watches the run that asks.
        """
        self._screen, self._watched, self._show = screen, watched, show
        self._opens_by_itself = opens_by_itself
        self.waiting: Sequence[Waiting] = ()
        """The calls of shown runs that wait, the oldest question first."""
        self.is_reading = False
        """Whether it is being looked which calls wait."""
        self._versions: tuple[int, ...] | None = None
        self._asking: AskDialog | None = None
        self._looking: Timer | None = None

    @hears(events.Mount)
    def _on_mount(self, _event: events.Mount) -> None:
        self._looking = self._screen.set_interval(_LOOK_SECONDS, self._look_for_questions)

    # Looking.

    def look_out(self) -> None:
        """Look for questions from now on, as long as a run is shown that may ask: one may have begun."""
        if self._looking is not None and self._watched():
            self._looking.resume()

    def _look_for_questions(self) -> None:
        if self.is_reading:
            return
        watched = self._watched()
        if not (watched or self.waiting or self._asking is not None):
            if self._looking is not None:
                self._looking.pause()
        else:
            self.is_reading = True
            self._screen.run_worker(
                partial(self._read_questions, watched), group="questions", thread=True, exit_on_error=False
            )

    def _read_questions(self, watched: Sequence[tuple[RunSource, str | None]]) -> None:
        worker = get_current_worker()
        try:
            versions = tuple(source.version() for source, _ in watched)
            # A process may end without a word in the store, so what waits is looked at again each time.
            if versions == self._versions and not self.waiting and self._asking is None:
                return
            found = [
                Waiting(source, question, source.run(question.run_id).name)
                for source, run_id in watched
                for question in source.questions(run_id)
            ]
            if not worker.is_cancelled:
                self._versions = versions
                self._screen.app.call_from_thread(self._found, found)
        except AgentTTError as error:
            self._screen.log.warning(error.message)
        finally:
            self.is_reading = False

    def _found(self, found: Sequence[Waiting]) -> None:
        before = {each.question.id for each in self.waiting}
        ids = {each.question.id for each in found}
        if ids != before:
            self.waiting = found
            self._show(self.waiting)
            self._screen.refresh_footer()
        dialog = self._asking
        if dialog is not None and dialog.question.id not in ids and dialog.is_current:
            dialog.dismiss(None)
            self._screen.say(
                f"{clean(dialog.question.name)} no longer needs a decision: it was decided elsewhere, or stopped"
            )
        new = [each for each in found if each.question.id not in before]
        if new and self._screen.is_current:
            name, look = new[0].question.name, look_of(self._screen)
            self._screen.say(f"{look.glyphs.person} {name} waits for you: {look.key(ANSWER)} decides", _SAID_SECONDS)
        self._open_unseen()

    def _open_unseen(self) -> None:
        """Open the dialog for what nobody has seen yet, unless something else is being done here."""
        from textual.widgets import TextArea

        is_typing = isinstance(self._screen.focused, (Input, TextArea))
        if not self._opens_by_itself or not self._screen.is_current or is_typing or self._asking is not None:
            return
        seen = forks_of(self._screen).seen_questions
        unseen = next((each for each in self.waiting if each.key not in seen), None)
        if unseen is not None and not unseen.source.read_only:
            self._open_question(unseen, by_itself=True)

    # Deciding.

    def blocked(self, command_id: str) -> str | None:
        """Say why nothing can be decided."""
        del command_id
        if not self.waiting:
            return "nothing waits for a decision here"
        if all(each.source.read_only for each in self.waiting):
            return "this file is only read: answer where it can be written"
        return None

    def action_answer(self) -> None:
        """Open the dialog for the call that has waited longest."""
        waiting = next((each for each in self.waiting if not each.source.read_only), None)
        if waiting is not None:
            self._open_question(waiting)

    def _open_question(self, waiting: Waiting, *, by_itself: bool = False) -> None:
        from agent_tt_tui.screens.running.ask import AskDialog

        forks_of(self._screen).seen_questions.add(waiting.key)
        self._asking = AskDialog(waiting.question, waiting.run_name, len(self.waiting) - 1, by_itself=by_itself)
        self._screen.app.push_screen(self._asking, partial(self._decided, waiting))

    def _decided(self, waiting: Waiting, decision: Decision | None) -> None:
        self._asking = None
        if decision is not None:
            self._screen.run_worker(
                partial(self._write, waiting, decision.said_by("app")), group="answer", thread=True, exit_on_error=False
            )

    def _write(self, waiting: Waiting, decision: Decision) -> None:
        try:
            if isinstance(waiting.source, Store):
                waiting.source.answer_question(waiting.question.id, decision)
        except AgentTTError as error:
            self._screen.app.call_from_thread(self._screen.say, error.message)
        else:
            words = {"run": "goes out", "give": "is answered by you", "raise": "raises"}.get(
                decision.word, "is refused"
            )
            said = f"{clean(waiting.question.name)} {words}{' as edited' if decision.args else ''}"
            self._screen.app.call_from_thread(self._screen.say, said)
