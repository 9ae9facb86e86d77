"""Keys in the order in which they were typed: each is handled when the one before it has done what it does."""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from textual.message import Message
from textual.worker import WorkerCancelled, WorkerFailed

from agent_tt_tui.screen import CommandScreen

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from textual.app import App
    from textual.events import Event
    from textual.timer import Timer
    from textual.widget import Widget
    from textual.worker import Worker

GOING: Final = "goto"
"""The group of workers that look for the step to go to: the key that began one is handled when it has found it."""

OPENING: Final = "open-run"
"""The group of workers that open a run: a key that comes before its first step is known waits for that."""

_PATIENCE_S: Final = 1.0
"""How long a key waits for the one before it at most: what that was for may be gone, and then nobody tells its end."""

_FRAME_S: Final = 0.05
"""How long the next frame waits for all that a key does: one that takes longer shows what it has done by then."""

_MOMENT_S: Final = 0.15
"""How long after a key what works behind the screen stands still: until the key is answered, and the next one typed."""


class Handled(Message):
    """A key has been handled: this came behind it, from the widget that it was for up to the app.

    Attributes:
        number: Which key.
        target: The widget.
        is_last: Whether it also came behind all that the widget said when it handled the key.
    """

    def __init__(self, number: int, target: Widget, *, is_last: bool = False) -> None:
        super().__init__()
        self.number, self.target, self.is_last = number, target, is_last


class TypedKeys:
    """Holds back what was typed while a key before it may still open a dialog, or move the focus.

    Textual gives each key to what has the focus when the key arrives. Of keys that arrive at once, as from a fast
    typist on a slow line or by pasting, all would be for what had it before the first of them.
    """

    def __init__(self, app: App[None], handle: Callable[[Event], Coroutine[object, object, None]]) -> None:
        """Hold back nothing yet.

        Args:
            app: The app.
            handle: What it does with a key or a paste, now.
        """
        self._app, self._handle = app, handle
        self._waiting: deque[Event] = deque()
        self._number = 0
        self._is_busy = False
        self._begun = 0.0
        self._timer: Timer | None = None
        self._holds: CommandScreen[Any] | None = None
        """The screen whose next frame waits for all that a key does."""

    def give_way(self) -> None:
        """Wait, in a thread, until no key was typed for a moment: a thread that computes delays what answers it."""
        while (left := self._begun + _MOMENT_S - time.monotonic()) > 0:
            time.sleep(left)

    async def take(self, event: Event, *, is_next: bool = False) -> None:
        """Handle a key or a paste now, or when its turn comes.

        Args:
            event: The key or the paste.
            is_next: Whether it waited and its turn has come.
        """
        left = self._begun + _PATIENCE_S - time.monotonic()
        if self._is_busy and (left > 0 or self._waiting):
            self._waiting.append(event)
            if self._timer is None:
                self._wait_no_longer_than(max(left, 0.0))
            return
        self._is_busy, self._number, self._begun = True, self._number + 1, time.monotonic()
        number = self._number
        if not is_next and (opening := self._at_work(OPENING)):
            self._waiting.append(event)
            self._wait_no_longer_than(_PATIENCE_S)
            self._app.run_worker(self._behind(opening, number))
            return
        target = self._app.focused or self._app.screen
        screen = self._app.screen
        if isinstance(screen, CommandScreen):
            self._holds = screen
            screen.hold_frame(self, _FRAME_S)
        await self._handle(event)
        if not target.post_message(Handled(number, target)):
            self._go_on(number)

    def follow(self, handled: Handled) -> None:
        """Let the next one go when what the key began has begun: a screen it opened is composed, the focus is moved."""
        number, target = handled.number, handled.target
        if number != self._number or not self._is_busy:
            return
        if handled.is_last or not target.post_message(Handled(number, target, is_last=True)):
            self._go_on(number)

    def leave_screen(self) -> None:
        """Take a key that a screen was left by for handled: nobody there tells it any more."""
        if self._is_busy:  # by the app alone: what the screen still has to do, it may never do
            self._app.call_later(self._app.call_later, self._next, self._number)

    def _go_on(self, number: int) -> None:
        """Let the next one go behind what the screen, and then the app, have to do."""
        screen = self._app.screen
        (screen if screen.is_running else self._app).call_later(self._app.call_later, self._next, number)

    async def _next(self, number: int, *, is_patient: bool = True) -> None:
        if number != self._number or not self._is_busy:
            return
        if self._holds is not None:
            self._holds.free_frame(self)
            self._holds = None
        if is_patient and (going := self._at_work(GOING, OPENING)):
            self._app.run_worker(self._behind(going, number))
            return
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._is_busy = False
        if self._waiting:
            await self.take(self._waiting.popleft(), is_next=True)
            if self._waiting:
                self._wait_no_longer_than(_PATIENCE_S)

    def _at_work(self, *groups: str) -> list[Worker[object]]:
        return [worker for worker in self._app.workers if worker.group in groups and not worker.is_finished]

    async def _behind(self, workers: list[Worker[object]], number: int) -> None:
        """Let the next one go behind what these workers have said."""
        for worker in workers:
            with suppress(WorkerFailed, WorkerCancelled):
                await worker.wait()
        self._go_on(number)

    def _wait_no_longer_than(self, seconds: float) -> None:
        self._timer = self._app.set_timer(seconds, partial(self._next, self._number, is_patient=False))
