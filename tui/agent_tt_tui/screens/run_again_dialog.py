"""What the dialogs that run a recorded agent again have in common: the plan, how far it is, and why it cannot be."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Protocol, TypeVar

from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt_tui.dialog import DialogTitle
from agent_tt_tui.screen import Result
from agent_tt_tui.screens.plan_dialog import PlanDialog
from agent_tt_tui.screens.trust import ask_for_trust
from agent_tt_tui.viewmodel.what_runs import is_changed
from agent_tt_tui.widgets.action_row import ActionRow
from agent_tt_tui.widgets.trouble_view import TroubleView

if TYPE_CHECKING:
    from textual.timer import Timer

    from agent_tt.errors import Untrusted
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

_TICK_SECONDS: Final = 0.5


class _Plan(Protocol):
    """A plan of running a recorded agent again."""

    @property
    def run(self) -> Run: ...


Plan = TypeVar("Plan", bound=_Plan)


class RunAgainDialog(PlanDialog[Result], Generic[Result, Plan]):
    """Reads a plan of running an agent again in a thread, shows it, and says how far the agent is once it runs."""

    READING: ClassVar[str]
    """What is said while the plan is read."""
    NOT_DONE: ClassVar[str]
    """What the title says where it could not be done."""

    def __init__(self, source: RunSource, run: Run) -> None:
        super().__init__()
        self.source, self.run = source, run
        self.plan: Plan | None = None
        """What would run; None while that is not known."""
        self.started: float | None = None
        """When it was started, on the monotonic clock; None while nothing runs."""
        self._clock: Timer | None = None

    # What a subclass says.

    def make_plan(self) -> Plan:
        """Find out, in a thread, what would run.

        Raises:
            AgentTTError: that it cannot be.
        """
        raise NotImplementedError

    def show_plan(self, plan: Plan, *, changed: bool) -> None:
        """Show what would run, and whether the agent's file has changed since it was recorded."""
        raise NotImplementedError

    def progress(self) -> list[str]:
        """What is being done and how far that is; empty texts are left out."""
        raise NotImplementedError

    def action_run(self) -> None:
        """Start it."""
        raise NotImplementedError

    # The plan.

    def on_mount(self) -> None:
        """Find out what would run."""
        self.read_plan()

    def read_plan(self) -> None:
        """Find out what would run, and show it."""
        self.query_one(ActionRow).busy = self.READING
        self.run_worker(self._read_plan, group="plan", thread=True, exit_on_error=False)

    def _read_plan(self) -> None:
        worker = get_current_worker()
        plan, changed, trouble = None, False, ("", "")
        try:
            plan = self.make_plan()
            changed = is_changed(plan.run)
        except AgentTTError as error:
            trouble = (error.message, error.hint)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._plan_read, plan, trouble, changed=changed)

    def _plan_read(self, plan: Plan | None, trouble: tuple[str, str], *, changed: bool) -> None:
        self.plan = plan
        self.query_one(ActionRow).busy = ""
        if plan is None:
            self.show_trouble(trouble)
        else:
            self.show_plan(plan, changed=changed)
            self.share_rows()
            self.refresh_footer()

    def show_trouble(self, trouble: tuple[str, str]) -> None:
        """Show why it could not be done in place of what would be; no trouble shows that again."""
        view = self.query_one(TroubleView)
        self.set_class(bool(trouble[0]), "refused")
        self.query_one(DialogTitle).hint = self.NOT_DONE if trouble[0] else ""
        view.show(trouble)
        self.share_rows()
        if trouble[0]:
            view.focus()
        self.refresh_footer()

    @property
    def why_no_plan(self) -> str:
        """Why there is no plan, or not yet."""
        return self.query_one(TroubleView).trouble[0] or f"still {self.READING}"

    # While it runs.

    @property
    def seconds(self) -> str:
        """How long it has run, in whole seconds; empty in the first."""
        seconds = 0 if self.started is None else int(time.monotonic() - self.started)
        return f"{seconds} s" if seconds else ""

    def begin(self) -> None:
        """Say from now on how far it is."""
        self.show_trouble(("", ""))
        self.started = time.monotonic()
        self._clock = self.set_interval(_TICK_SECONDS, self.tell_progress)
        self.tell_progress()
        self.refresh_footer()

    def tell_progress(self) -> None:
        """Say how far it is."""
        self.query_one(ActionRow).busy = "  ".join(filter(None, self.progress()))

    def end(self) -> None:
        """Nothing runs any more."""
        self.started = None
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        self.query_one(ActionRow).busy = ""
        self.refresh_footer()

    def ask_for_trust(self, error: Untrusted) -> None:
        """Ask whether what the store names may run, and run it then."""
        self.end()
        ask_for_trust(self.app, error, self.source.path, run=self.action_run, refuse=self.show_trouble)
