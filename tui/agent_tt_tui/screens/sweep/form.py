"""The form that begins a sweep: what is varied, how often, what it may cost; only `F` starts anything."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError, Untrusted
from agent_tt.sweeping.driving import keep_sweep
from agent_tt.sweeping.plan import SweepPlan, plan_sweep
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import SWEEP_FORM
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.copied import copy_command
from agent_tt_tui.screens.running.trust import ask_for_trust
from agent_tt_tui.viewmodel.runs.sweep_form import FormRow, SweepDraft, check_line
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.runs.sweep_form import SweepCost, SweepRows

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.lines import LineView

_FRAME_ROWS: Final = 11
"""Rows of the footer, the border, the title, what it may cost with a problem, and the action."""

_LEAST_ROWS: Final = 2
_TITLES: Final = {
    "vary": ("Vary", "temperature=0,0.5,1   model a,b   policy pay=live,deny   param top_p=0,1"),
    "samples": ("Samples", "how often each combination is taken"),
    "jobs": ("At a time", "how many runs are under way at once"),
    "outcome": ("Ask", "a path of the last state, or a question: budget < 0"),
    "cost": ("At most", "dollars that all runs may cost; empty for no limit"),
    "allow": ("May write", "names of tools, with commas between them"),
}


class SweepDialog(Dialog[str]):
    """Says what will run, and lets it be changed; returns the id of the sweep that was written."""

    CONTEXT = SWEEP_FORM
    AUTO_FOCUS = "SweepRows"
    HELP = "A new sweep: enter changes a row, F starts it, esc leaves everything as it is."

    def __init__(self, source: RunSource, run: Run, draft: SweepDraft, *, suggestion: str = "") -> None:
        """Plan a sweep.

        Args:
            source: where the run is, and where the sweep will be.
            run: the run that is forked.
            draft: what was said so far.
            suggestion: what the first line that is varied begins with: the selected value.
        """
        super().__init__()
        self._source, self._run, self._draft, self._suggestion = source, run, draft, suggestion
        self._plan: SweepPlan | None = None
        self._starting = False

    def compose_content(self) -> ComposeResult:
        """Yield the title, the rows, what it may cost and the action."""
        yield DialogTitle("Sweep", detail=f"{self._run.name} after step {self._draft.step}")
        yield SweepRows()
        yield SweepCost()
        yield ActionRow(f"{self.key('sweep.run')} start the sweep", "nothing runs before this")

    def on_mount(self) -> None:
        """Show what is known, and plan it."""
        self._changed()

    def on_resize(self, event: events.Resize) -> None:
        """Let the rows scroll where not all of them fit."""
        self.query_one(SweepRows).styles.max_height = max(_LEAST_ROWS, event.size.height - _FRAME_ROWS)

    def _changed(self) -> None:
        self._plan = None
        self.query_one(SweepRows).show(self._draft.rows(), self._draft.fixed)
        self.query_one(SweepCost).plan = None
        self.query_one(ActionRow).trouble = ("", "")
        self.query_one(ActionRow).busy = "looking at what it would do"
        self.run_worker(
            partial(self._make_plan, self._draft), group="plan", exclusive=True, thread=True, exit_on_error=False
        )
        self.refresh_footer()

    def _make_plan(self, draft: SweepDraft) -> None:
        worker = get_current_worker()
        plan, trouble = None, ("", "")
        try:
            plan = plan_sweep(self._source, self._run, draft.definition())
        except AgentTTError as error:
            trouble = (error.message, error.hint)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._planned, plan, trouble)

    def _planned(self, plan: SweepPlan | None, trouble: tuple[str, str]) -> None:
        self._plan = plan
        self.query_one(SweepCost).plan = plan
        action = self.query_one(ActionRow)
        action.busy, action.trouble = "", trouble
        self.refresh_footer()

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id == "sweep.run" and (self._plan is None or self._starting):
            return self.query_one(ActionRow).trouble[0] or "still looking at what it would do"
        row = self.query_one(SweepRows).current
        if command_id == "sweep.drop" and (row is None or not row.text or row.kind in ("samples", "jobs")):
            return "there is nothing to remove here"
        return super().blocked(command_id)

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Change what the row under the cursor says."""
        row = self.query_one(SweepRows).current
        if row is not None:
            self._ask(row)

    def action_vary(self) -> None:
        """Add an axis: vary something else too."""
        self._ask(FormRow("vary", -1, ""))

    def action_drop(self) -> None:
        """Take away what the row under the cursor says."""
        row = self.query_one(SweepRows).current
        if row is not None:
            self._said(row, "")

    def _ask(self, row: FormRow) -> None:
        title, detail = _TITLES[row.kind]
        value = row.text or (self._suggestion if row.kind == "vary" and not self._draft.lines else "")
        prompt = PromptDialog(title, detail=detail, value=value, check=lambda text: check_line(self._draft, row, text))
        self.ask(prompt, partial(self._said, row))

    def _said(self, row: FormRow, text: str) -> None:
        self._draft = self._draft.said(row, text)
        self._changed()

    def action_copy_command(self) -> None:
        """Copy the command that makes this sweep."""
        from agent_tt_tui.viewmodel.running.as_command import sweep_command

        copy_command(self, lambda: sweep_command(self._source, self._run, self._draft))

    def action_run(self) -> None:
        """Write the sweep; whoever opened this starts it. Very many runs are asked about first."""
        plan = self._plan
        if plan is None:
            return
        if plan.needs_a_yes:
            question = f"That would be {plan.definition.run_count:,} runs. Start them?"
            self.confirm("Very many", question, self._begin)
        else:
            self._begin()

    def _begin(self) -> None:
        if self._plan is not None:
            self._starting = True
            self.run_worker(partial(self._write, self._plan), group="write", thread=True, exit_on_error=False)

    def _write(self, plan: SweepPlan) -> None:
        try:
            sweep_id = keep_sweep(plan)
        except Untrusted as error:
            self.app.call_from_thread(self._refused, error)
        except AgentTTError as error:
            self.app.call_from_thread(self._failed, (error.message, error.hint))
        else:
            self.app.call_from_thread(self.dismiss, sweep_id)

    def _refused(self, error: Untrusted) -> None:
        self._starting = False
        ask_for_trust(self.app, error, self._source.path, run=self._begin, refuse=self._failed)

    def _failed(self, trouble: tuple[str, str]) -> None:
        self._starting = False
        self.query_one(ActionRow).trouble = trouble
        self.refresh_footer()
