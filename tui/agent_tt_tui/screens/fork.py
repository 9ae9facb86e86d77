"""The fork dialog: everything that will happen is said before anything runs, and only `F` runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.worker import get_current_worker

from agent_tt import samples
from agent_tt.errors import AgentTTError, StoreNotFound, Untrusted
from agent_tt.forking.handle import ForkHandle
from agent_tt.forking.launch import start_fork
from agent_tt.forking.plan import ForkPlan, plan_fork
from agent_tt_tui.contexts import FORK
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.screens.pick import Choice, PickDialog
from agent_tt_tui.screens.prompt import PromptDialog
from agent_tt_tui.screens.trust import ask_for_trust
from agent_tt_tui.widgets.fork_form import BoundaryTable, BoundaryTitle, ForkAction, ForkCost, ForkFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from agent_tt.model import Edit, Run
    from agent_tt.protocols import RunSource

_TYPE_ANOTHER: Final = "\0another"
_TALL_FROM: Final = 30
_FRAME_ROWS: Final = 6
"""Rows of the footer, the border, the title, the table's titles and the action."""

_BLANK_ROWS: Final = 3
_LEAST_TABLE: Final = 2
_MOST_TABLE: Final = 16


class ForkDialog(Dialog[ForkHandle]):
    """Shows the plan of a fork and lets it be changed; returns the handle of the fork that was started."""

    CONTEXT = FORK
    BINDINGS: ClassVar[list[BindingType]] = FORK.screen_bindings()
    AUTO_FOCUS = "BoundaryTable"
    HELP = "What a fork will do: arrows choose what tools that write may do, F runs it, esc leaves everything as it is."

    def __init__(self, source: RunSource, run: Run, step: int, edits: Sequence[Edit] = ()) -> None:
        """Plan a fork.

        Args:
            source: Where the run is, and where the fork will be.
            run: The run that is forked.
            step: Its checkpoint that the fork starts from.
            edits: What was changed in that checkpoint's state.
        """
        super().__init__()
        self._source, self._run, self._step, self._edits = source, run, step, tuple(edits)
        self._agent: str | None = None
        self._name: str | None = None
        self._allowed: frozenset[str] = frozenset()
        self._plan: ForkPlan | None = None
        self._starting = False
        self._next_name = ""

    def compose_content(self) -> ComposeResult:
        """Yield the plan from top to bottom."""
        after = f"{self._run.name} after step {self._step}" if self._step else f"{self._run.name} from its input"
        yield DialogTitle("Fork", detail=after, hint="nothing has run yet")
        yield ForkFacts()
        yield BoundaryTitle()
        yield BoundaryTable()
        yield ForkCost()
        yield ForkAction()

    def on_mount(self) -> None:
        """Work the plan out."""
        self._make_plan()

    def _other_version(self) -> str:
        """The function of the first known version of the agent that is not the one to run."""
        chosen = self._agent or self._run.code.entry
        return next((entry for entry in _versions(self._run) if entry != chosen), "").rpartition(":")[2]

    def on_resize(self, event: events.Resize) -> None:
        """Give up blank rows where there are few."""
        self.set_class(event.size.height < _TALL_FROM, "short")
        self._share_rows()

    def _share_rows(self) -> None:
        """Let the table scroll, and the facts go, before a line that names a tool that writes is cut off."""
        facts, cost = self.query_one(ForkFacts), self.query_one(ForkCost)
        blank = 0 if self.has_class("short") else _BLANK_ROWS
        room = self.size.height - _FRAME_ROWS - blank - cost.get_content_height()
        facts_rows = facts.get_content_height()
        facts.display = room - facts_rows >= _LEAST_TABLE and self._plan is not None
        table_rows = room - (facts_rows if facts.display else 0)
        self.query_one(BoundaryTable).styles.max_height = max(1, min(_MOST_TABLE, table_rows))

    def _make_plan(self) -> None:
        self.query_one(ForkAction).busy = "working out what will run"
        self.run_worker(self._read_plan, group="plan", exclusive=True, thread=True, exit_on_error=False)

    def _read_plan(self) -> None:
        worker = get_current_worker()
        plan, trouble, fallback = None, ("", ""), ""
        try:
            plan = plan_fork(
                self._source,
                self._run,
                self._step,
                edits=self._edits,
                agent=self._agent,
                allow=self._allowed,
                name=self._name,
            )
            fallback = _next_fork_name(self._run, self._source.forks(self._run.id))
        except AgentTTError as error:
            trouble = (error.message, error.hint)
        if not worker.is_cancelled:
            self._next_name = fallback
            self.app.call_from_thread(self._show, plan, trouble)

    def _show(self, plan: ForkPlan | None, trouble: tuple[str, str] = ("", "")) -> None:
        self._plan = plan
        facts = self.query_one(ForkFacts)
        facts.next_name, facts.other_version = self._next_name, self._other_version()
        action = self.query_one(ForkAction)
        action.busy, action.trouble = "", trouble
        self.set_class(plan is None, "refused")
        facts.plan = plan
        self.query_one(ForkCost).plan = plan
        table = self.query_one(BoundaryTable)
        table.show(plan.boundary if plan is not None else ())
        self._share_rows()
        self.query_one(BoundaryTitle).count = table.line_count
        if plan is not None and self.focused is None:
            table.focus()
        self.refresh_footer()

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id == "fork.run":
            if self._starting:
                return "it is starting"
            if self._plan is None:
                return self.query_one(ForkAction).trouble[0] or "still working out what will run"
        if command_id in {"fork.policy_previous", "fork.policy_next"}:
            entry = self.query_one(BoundaryTable).current
            if entry is None or entry.effect != "write":
                return "what only reads always runs; choose a tool that writes"
        return None

    def action_policy(self, _direction: int) -> None:
        """Choose the other policy for the tool under the cursor."""
        entry = self.query_one(BoundaryTable).current
        if entry is not None and self._plan is not None:
            self._allowed ^= {entry.name}
            self._show(self._plan.allowing(self._allowed))

    def action_name(self) -> None:
        """Ask for the new run's name."""
        self.app.push_screen(
            PromptDialog("Name", detail="of the new run; empty for the next fork-N", value=self._name or ""),
            self._named,
        )

    def _named(self, name: str | None) -> None:
        if name is not None and self._plan is not None:
            self._name = name or None
            self._show(self._plan.named(self._name))

    def action_agent(self) -> None:
        """Ask what to run: the recorded entry point, another version that is known, or one that is typed."""
        recorded = self._run.code.entry
        choices = [Choice(recorded, recorded, "as it was recorded")] if recorded else []
        choices += [Choice(entry, entry, "another version of this sample") for entry in _versions(self._run)]
        choices.append(Choice(_TYPE_ANOTHER, "another", "module:callable or path/file.py:callable"))
        self.app.push_screen(PickDialog("Run what", choices), self._picked)

    def _picked(self, choice: str | None) -> None:
        if choice == _TYPE_ANOTHER:
            prompt = PromptDialog(
                "Run what",
                detail="module:callable or path/file.py:callable",
                value=self._agent or self._run.code.entry or "",
            )
            self.app.push_screen(prompt, self._picked)
        elif choice:
            self._agent = choice if choice != self._run.code.entry else None
            self._make_plan()

    def action_run(self) -> None:
        """Start the fork."""
        plan = self._plan
        if plan is None:
            return
        self._starting = True
        self.query_one(ForkAction).busy = "starting"
        self.run_worker(lambda: self._start(plan), group="start", exclusive=True, thread=True, exit_on_error=False)

    def _start(self, plan: ForkPlan) -> None:
        try:
            handle = start_fork(plan)
        except Untrusted as error:
            self.app.call_from_thread(self._ask_for_trust, error, plan)
            return
        except AgentTTError as error:
            self.app.call_from_thread(self._not_started, (error.message, error.hint))
            return
        self.app.call_from_thread(self.dismiss, handle)

    def _ask_for_trust(self, error: Untrusted, plan: ForkPlan) -> None:
        self._starting = False
        self._show(plan)
        ask_for_trust(self.app, error, self._source.path, run=self.action_run, refuse=self._not_started)

    def _not_started(self, trouble: tuple[str, str]) -> None:
        self._starting = False
        self._show(None, trouble)


def _versions(run: Run) -> Sequence[str]:
    """Other versions of the agent that made a run, as entry points: those of a sample are known."""
    try:
        sample = samples.made_by(run)
    except StoreNotFound:  # an installation without samples
        return ()
    return sample.versions if sample is not None else ()


def _next_fork_name(run: Run, runs: Sequence[Run]) -> str:
    """The name that the next fork of a run gets, unless another process forks it first."""
    start = f"{run.name}/fork-"
    taken = [name.removeprefix(start) for name in (other.name for other in runs) if name.startswith(start)]
    return f"{start}{max((int(number) for number in taken if number.isdecimal()), default=0) + 1}"
