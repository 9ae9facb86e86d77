"""Reads what the models of the run were shown, in a thread, for all that need it: once, and again when it grew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.message import Message
from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt_tui.feature import hears
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.context.causes import Causes
    from agent_tt.context.shown import RunContexts
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.context.standing import Standing

_AGAIN_SECONDS: Final = 1.0
"""How long a run that is written has rest between two readings."""


@dataclass
class ContextsRead(Message):
    """What the models of the run were shown is known, with what fed each step, or why not."""

    contexts: RunContexts | None
    standing: Standing | None
    causes: Causes | None = None
    why: str = ""


class ContextReading(DebuggerFeature):
    """Keeps what was read until the run grows; nothing is read that nobody needs."""

    def __init__(self, time: Time) -> None:
        super().__init__(time)
        self.contexts: RunContexts | None = None
        """What each model call was shown; None where that is not known yet, or cannot be."""
        self.standing: Standing | None = None
        """How long each part of it stood."""
        self.causes: Causes | None = None
        """What fed each step."""
        self.why = ""
        """Why it cannot be read."""
        self.is_reading = False
        """Whether it is being read."""
        self.needs: list[Callable[[], bool]] = []
        """Who says whether it is needed now."""
        self._is_stale = False

    def read(self) -> None:
        """Read it, unless it is known or is being read; `ContextsRead` is posted."""
        if self.is_reading or (self.contexts is not None and not self._is_stale):
            return
        self.is_reading, self._is_stale = True, False
        self.screen.run_worker(self._read, group="contexts", thread=True, exclusive=True)

    def give_up(self) -> None:
        """Stop reading, where nobody needs it any more: of a very long run that takes minutes."""
        if self.is_reading and not any(needs() for needs in self.needs):
            self.screen.workers.cancel_group(self.screen, "contexts")
            self.is_reading = False

    @hears(reading.RunGrew)
    def _on_run_grew(self, _message: reading.RunGrew) -> None:
        if self.contexts is not None and not self.is_reading and not self._is_stale:
            self.screen.set_timer(_AGAIN_SECONDS, self._read_again)
        self._is_stale = True

    def _read_again(self) -> None:
        if self._is_stale and any(needs() for needs in self.needs):
            self.read()

    def _read(self) -> None:
        from agent_tt.context.causes import Causes
        from agent_tt.context.reading import read_contexts
        from agent_tt_tui.viewmodel.context.standing import standing_of

        worker, model = get_current_worker(), self.model
        answer = ContextsRead(None, None)
        try:
            answer.contexts = read_contexts(model.source, model.run.id, cancelled=lambda: worker.is_cancelled)
            answer.standing = standing_of(answer.contexts)
            answer.causes = Causes(answer.contexts)
        except AgentTTError as error:
            answer.why = error.message
        if not worker.is_cancelled:
            self.screen.post_message(answer)

    @hears(ContextsRead)
    def _on_contexts_read(self, message: ContextsRead) -> None:
        self.is_reading = False
        self.contexts, self.standing, self.causes = message.contexts, message.standing, message.causes
        self.why = message.why
        if self._is_stale:
            self.screen.set_timer(_AGAIN_SECONDS, self._read_again)
