"""What the dialogs that run a recorded agent again have in common: how they share rows, the plan, and how far it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from textual import events
from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt_tui.dialog import DialogTitle
from agent_tt_tui.feature import Feature, hears
from agent_tt_tui.screens.running.trust import ask_for_trust
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.trouble_view import TroubleView
from agent_tt_tui.widgets.dialogs.will_run import is_changed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.timer import Timer
    from textual.widget import Widget

    from agent_tt.errors import Untrusted
    from agent_tt.model import Run
    from agent_tt_tui.screen import CommandScreen, Result

_TICK_SECONDS: Final = 0.5


class _Plan(Protocol):
    """A plan of running a recorded agent again."""

    @property
    def run(self) -> Run: ...


Plan = TypeVar("Plan", bound=_Plan)


class Attempt(Feature, Generic[Plan]):
    """Reads a plan of running an agent again in a thread, shows it, and says how far the agent is once it runs."""

    def __init__(
        self,
        dialog: CommandScreen[Result | None],
        store: Path,
        rows: DialogRows,
        *,
        reading: str,
        not_done: str,
        make_plan: Callable[[], Plan],
        show_plan: Callable[[Plan, bool], None],
        progress: Callable[[], list[str]],
        start: Callable[[], None],
    ) -> None:
        """Initialise the feature.

        Args:
            dialog: the dialog, with a title, a `TroubleView` and an `ActionRow`.
            store: the store that names what runs.
            rows: what shares the dialog's rows.
            reading: what is said while the plan is read.
            not_done: what the title says where it could not be done.
            make_plan: finds out, in a thread, what would run; raises an `AgentTTError` where it cannot be.
            show_plan: shows what would run, and whether the agent's file has changed since it was recorded.
            progress: says what is being done and how far that is; empty texts are left out.
            start: starts it.
        """
        self._dialog, self._store, self._rows = dialog, store, rows
        self._reading, self._not_done = reading, not_done
        self._make_plan, self._show_plan, self._progress, self._start = make_plan, show_plan, progress, start
        self.plan: Plan | None = None
        """What would run; None while that is not known."""
        self._began: float | None = None
        """When it was started, on the monotonic clock; None while nothing runs."""
        self._clock: Timer | None = None

    # The plan.

    @hears(events.Mount)
    def _on_mount(self, _event: events.Mount) -> None:
        self.read_plan()

    def read_plan(self) -> None:
        """Find out what would run, and show it."""
        self._dialog.query_one(ActionRow).busy = self._reading
        self._dialog.run_worker(self._read_plan, group="plan", thread=True, exit_on_error=False)

    def _read_plan(self) -> None:
        worker = get_current_worker()
        plan, changed, trouble = None, False, ("", "")
        try:
            plan = self._make_plan()
            changed = is_changed(plan.run)
        except AgentTTError as error:
            trouble = (error.message, error.hint)
        if not worker.is_cancelled:
            self._dialog.app.call_from_thread(self._plan_read, plan, trouble, changed=changed)

    def _plan_read(self, plan: Plan | None, trouble: tuple[str, str], *, changed: bool) -> None:
        self.plan = plan
        self._dialog.query_one(ActionRow).busy = ""
        if plan is None:
            self.show_trouble(trouble)
        else:
            self._show_plan(plan, changed)
            self._rows.share()
            self._dialog.refresh_footer()

    def show_trouble(self, trouble: tuple[str, str]) -> None:
        """Show why it could not be done in place of what would be; no trouble shows that again."""
        view = self._dialog.query_one(TroubleView)
        self._dialog.set_class(bool(trouble[0]), "refused")
        self._dialog.query_one(DialogTitle).hint = self._not_done if trouble[0] else ""
        view.show(trouble)
        self._rows.share()
        if trouble[0]:
            view.focus()
        self._dialog.refresh_footer()

    @property
    def why_no_plan(self) -> str:
        """Why there is no plan, or not yet."""
        return self._dialog.query_one(TroubleView).trouble[0] or f"still {self._reading}"

    # While it runs.

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._began is not None

    @property
    def seconds(self) -> str:
        """How long it has run, in whole seconds; empty in the first."""
        seconds = 0 if self._began is None else int(time.monotonic() - self._began)
        return f"{seconds} s" if seconds else ""

    def begin(self) -> None:
        """Say from now on how far it is."""
        self.show_trouble(("", ""))
        self._began = time.monotonic()
        self._clock = self._dialog.set_interval(_TICK_SECONDS, self.tell_progress)
        self.tell_progress()
        self._dialog.refresh_footer()

    def tell_progress(self) -> None:
        """Say how far it is."""
        self._dialog.query_one(ActionRow).busy = "  ".join(filter(None, self._progress()))

    def end(self) -> None:
        """Nothing runs any more."""
        self._began = None
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        self._dialog.query_one(ActionRow).busy = ""
        self._dialog.refresh_footer()

    def ask_for_trust(self, error: Untrusted) -> None:
        """Ask whether what the store names may run, and run it then."""
        self.end()
        ask_for_trust(self._dialog.app, error, self._store, run=self._start, refuse=self.show_trouble)


_TALL_FROM: Final = 30
_BLANK_ROWS: Final = 3


class DialogRows(Feature):
    """Lets a dialog's table scroll, and its facts go, before what must be seen is cut off."""

    def __init__(self, dialog: Widget, share: Callable[[], None]) -> None:
        """Initialise the feature.

        Args:
            dialog: the dialog; it has the class `short` where there are few rows.
            share: gives each part of the dialog its rows.
        """
        self._dialog = dialog
        self.share = share
        """Gives each part of the dialog its rows."""

    @hears(events.Resize)
    def _on_resize(self, event: events.Resize) -> None:
        """Give up blank rows where there are few."""
        self._dialog.set_class(event.size.height < _TALL_FROM, "short")
        self.share()

    def room_beside(self, rows: int) -> int:
        """The rows that are left where `rows` are taken, besides the blank ones."""
        return self._dialog.size.height - rows - (0 if self._dialog.has_class("short") else _BLANK_ROWS)
