"""The fork dialog: everything that will happen is said before anything runs, and only `F` runs it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.worker import get_current_worker

from agent_tt import samples
from agent_tt.errors import AgentTTError, StoreNotFound, Untrusted
from agent_tt.forking.entry.code_by_executor import executors_for
from agent_tt.forking.terms import MOCK, PYTHON
from agent_tt.model.threads import is_thread
from agent_tt.rerunning.handle import RunHandle
from agent_tt.rerunning.launch import start_fork
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import FORK
from agent_tt_tui.look import look_of
from agent_tt_tui.ran import ran_of
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.screens.running.attempt import DialogRows
from agent_tt_tui.screens.running.copied import copy_command
from agent_tt_tui.screens.running.trust import ask_for_trust
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.edits.subjects import of_stub, trouble
from agent_tt_tui.viewmodel.running.continuing import asked_model, named_models
from agent_tt_tui.viewmodel.running.fork_form import rows_of_what_runs, versions_of
from agent_tt_tui.viewmodel.running.fork_policy import next_word, or_else, stub_of, why_fixed, why_not_denied, with_stub
from agent_tt_tui.viewmodel.running.fork_setup import SETTINGS, ForkSetup, Setting, settings_of
from agent_tt_tui.viewmodel.running.option_words import without_options
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.dialogs.fork_cost import ForkCost
from agent_tt_tui.widgets.dialogs.fork_table import ForkTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.model import Edit, Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.viewmodel.running.fork_form import Fold

_TYPED: Final = "module:callable or path/file.py:callable"
_THE_PROGRAM: Final = "\0program"
_FRAME_ROWS: Final = 5
"""Rows of the footer, the border, the title and the action."""

_MOST_TABLE: Final = 32


class ForkDialog(Dialog[RunHandle]):
    """Shows the plan of a fork and lets it be changed; returns the handle of the fork that was started."""

    CONTEXT = FORK
    AUTO_FOCUS = "ForkTable"
    HELP = "What a fork will do: arrows choose what becomes of calls, F runs it, esc leaves everything as it is."

    def __init__(
        self, source: RunSource, run: Run, step: int, edits: Sequence[Edit] = (), breaks: Sequence[str] = ()
    ) -> None:
        """Plan a fork.

        Args:
            source: Where the run is, and where the fork will be.
            run: The run that is forked.
            step: Its checkpoint that the fork starts from.
            edits: What was changed in that checkpoint's state.
            breaks: The breakpoints of the run, which are the fork's too unless they are taken back.
        """
        super().__init__()
        self._rows = DialogRows(self, self._share_rows)
        self.features = (self._rows,)
        self._source, self._run = source, run
        self.setup = ForkSetup(step, tuple(edits), breaks=tuple(breaks))
        """The settings that the dialog shows now."""
        self.plan: ForkPlan | None = None
        """The fork as it would be started; None while that cannot be."""
        self._shown: ForkPlan | None = None
        """The last plan that there was: what can be chosen stays at hand while a choice does not fit."""
        self._executors: tuple[str, ...] = (PYTHON, MOCK)
        self._starting = False
        self._asks_what_runs = run.code.entry is None
        self._model = ""
        """The model that the run asked, once it has been looked for."""
        self._next_name = ""

    def compose_content(self) -> ComposeResult:
        """Yield the plan from top to bottom."""
        yield DialogTitle("Fork", detail=self._begins(), hint="nothing has run yet")
        yield ForkTable()
        yield ForkCost()
        yield ActionRow(f"{self.key('fork.run')} fork and run", "nothing runs before this")

    def on_mount(self) -> None:
        """Work the plan out."""
        self._make_plan()

    def _begins(self) -> str:
        step, name = self.setup.step if not self.setup.inputs else 0, self._run.name
        call = next((edit.call for edit in self.setup.edits if edit.call is not None), None)
        if call is not None:
            return f"{name} in step {step}, from its call {call} on"
        return f"{name} after step {step}" if step else f"{name} from its input"

    def _share_rows(self) -> None:
        """Let the list scroll before what is known of tools that write is cut off."""
        cost, table = self.query_one(ForkCost), self.query_one(ForkTable)
        columns = self.query_one(DialogTitle).size.width - 2
        for cost.names_writers in (False, True):
            room = self._rows.room_beside(_FRAME_ROWS + cost.rows_in(columns))
            if table.fit(min(_MOST_TABLE, room)):
                break

    def _make_plan(self) -> None:
        self.query_one(ActionRow).busy = "working out what will run"
        self.run_worker(self._read_plan, group="plan", exclusive=True, thread=True, exit_on_error=False)

    def _read_plan(self) -> None:
        worker, setup = get_current_worker(), self.setup
        plan, wrong = None, ("", "")
        try:
            plan = setup.plan(self._source, self._run)
            self._next_name = _next_fork_name(self._run, self._source.forks(self._run.id))
            self._executors = executors_for(plan.code)
        except AgentTTError as error:
            wrong = (error.message, error.hint)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._planned, setup, plan, wrong)
            if self._asks_what_runs and plan is None:
                self._asks_what_runs = False
                self.app.call_from_thread(self._ask_what_runs, is_thread(self._source.steps(self._run.id)))

    def _planned(self, setup: ForkSetup, plan: ForkPlan | None, wrong: tuple[str, str]) -> None:
        if setup == self.setup:
            self._show(plan, wrong)
        else:  # something was chosen meanwhile
            self._make_plan()

    def _show(self, plan: ForkPlan | None, wrong: tuple[str, str] = ("", "")) -> None:
        self.plan = plan
        self._shown = plan or self._shown
        action = self.query_one(ActionRow)
        action.busy, action.trouble = "", (wrong[0], without_options(wrong[1], self.key("fork.agent")))
        name = (plan.name if plan is not None else None) or self._next_name
        action.remark = f"as {clean(name)}   {self.key('fork.name')} another name" if name else ""
        self.set_class(self._shown is None, "refused")
        self.query_one(ForkCost).plan = self._shown
        self._list()
        self.query_one(DialogTitle).detail = self._begins()
        self._share_rows()
        table = self.query_one(ForkTable)
        if self.focused is None:
            table.focus()
        self.refresh_footer()

    def _list(self) -> None:
        """Show the plan and what was chosen."""
        recorded, chosen = self._run.code.entry, self.setup.agent
        known = [entry for entry in _versions(self._run) if entry != recorded]
        versions = versions_of(recorded, known, self.plan, chosen)
        self.query_one(ForkTable).show(self._shown, self.setup, rows_of_what_runs(self._shown, versions))

    def _choose(self, setup: ForkSetup) -> None:
        """Take what was chosen, and work the plan out anew."""
        self.setup = setup
        self._list()
        self._make_plan()

    def _take(self, plan: ForkPlan) -> None:
        """Take a plan with another policy or name, of which nothing need be read anew."""
        self.setup = replace(self.setup, policy=plan.rules, name=plan.name)
        self._show(plan)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        table, plan = self.query_one(ForkTable), self.plan
        entry, setting = table.boundary, table.setting
        if command_id == "fork.run":
            if self._starting:
                return "it is starting"
            if plan is None or self.query_one(ActionRow).busy:
                return self.query_one(ActionRow).trouble[0] or "still working out what will run"
            if plan.unheld:
                return f"{why_not_denied(plan.unheld[0])}: allow it first"
        if command_id == "fork.rehearse" and plan is not None and plan.terms.is_graph:
            return "of a thread of LangGraph the state is edited; its graph asks its models itself"
        if command_id in {"fork.policy_previous", "fork.policy_next"}:
            if entry is not None:
                return why_fixed(plan, entry) if plan is not None else "fix what is wrong first"
            if setting is None or setting.kind != "choice":
                nothing = "there is nothing to choose here"
                return nothing if setting is None else f"{self.key('list.choose')} types a value here"
        if command_id == "fork.reads":
            if entry is None or entry.kind != "tool" or entry.is_inside:
                return "only tools read or write"
            return None if entry.effect_may_be_said else f"the code of {entry.name} says what it does"
        if command_id == "fork.clear" and entry is None and setting is None:
            return "there is nothing to undo here"
        row = table.current
        if command_id == "list.choose" and (row is None or row.edit is not None or not row.can_be_reached):
            return "there is nothing to choose here"
        return None

    # What becomes of calls.

    def action_policy(self, direction: int) -> None:
        """Choose the next policy for what is under the cursor, or the next of what else can be chosen."""
        table, plan = self.query_one(ForkTable), self.plan
        entry, setting = table.boundary, table.setting
        if entry is not None and plan is not None:
            changed, said = next_word(plan, entry, direction)
            if changed is not plan:
                self._take(changed)
            if said:
                self.say(said)
        elif setting is not None:
            choices = self.setup.choices(setting, self._executors)
            chosen = self.setup.text(setting)
            at = choices.index(chosen) if chosen in choices else 0
            self._typed(setting, choices[(at + direction) % len(choices)])

    def on_line_view_cursor_moved(self) -> None:
        """Show the keys of the row."""
        self.refresh_footer()

    def on_line_view_chosen(self) -> None:
        """Give the value of what is under the cursor."""
        table, plan = self.query_one(ForkTable), self.plan
        entry, setting, row = table.boundary, table.setting, table.current
        if row is not None and row.version is not None:
            self._picked(row.version.entry)
        elif row is not None and row.fold is not None:
            self.action_fold(row.fold)
        elif entry is not None and plan is not None:
            self._give(plan, entry)
        elif setting is not None and setting.kind == "choice":
            self.action_policy(1)
        elif setting is not None:
            self._ask_for(setting)

    def _give(self, plan: ForkPlan, entry: Boundary) -> None:
        fixed = why_fixed(plan, entry)
        if fixed is not None:
            self.say(fixed)
        elif entry.policy == "recorded":
            self._take(or_else(plan, entry))
        elif entry.policy != "stub":
            look = look_of(self)
            both = look.key(FORK.command("fork.policy_previous"), FORK.command("fork.policy_next"))
            self.say(f"{self.key('list.choose')} types the value of a stub: choose stub with {both}")
        else:

            def check(edit: Edit) -> str | None:
                return trouble(lambda: _stubbed(plan, entry, edit))

            subject = of_stub(entry.name, stub_of(entry), entry.rule.value, entry.rule.error, check)
            self.ask(EditDialog(subject), lambda edit: self._take(_stubbed(plan, entry, edit)))

    def action_reads(self) -> None:
        """Say that the tool under the cursor only reads, or that it writes."""
        entry = self.query_one(ForkTable).boundary
        if entry is not None:
            self._choose(self.setup.with_other_effect(entry))

    # What else can be chosen.

    def _ask_for(self, setting: Setting) -> None:
        setup = self.setup

        def check(text: str) -> str | None:
            return trouble(lambda: setup.typed(setting, text))

        value = "" if setting.kind == "list" else setup.text(setting)
        prompt = PromptDialog(setting.label, detail=setting.hint, value=value, check=check)
        self.ask(prompt, partial(self._typed, setting))

    def _typed(self, setting: Setting, text: str) -> None:
        try:
            self._choose(self.setup.typed(setting, text))
        except AgentTTError as error:
            self.say(error.message)

    def action_clear(self) -> None:
        """Take back what was chosen in the row under the cursor."""
        table, plan = self.query_one(ForkTable), self.plan
        entry, setting = table.boundary, table.setting
        if setting is not None:
            self._choose(self.setup.cleared(setting))
        elif entry is not None and plan is not None:
            self._take(plan.without_rule(entry.name))

    def action_budget(self) -> None:
        """Go to the limits."""
        table = self.query_one(ForkTable)
        table.focus()
        if "rest" not in table.unfolded:
            self.action_fold("rest")
        table.go_to("stop_at")

    def action_fold(self, fold: Fold) -> None:
        """Show row by row what is on one row, or fold it again."""
        table = self.query_one(ForkTable)
        table.unfolded ^= {fold}
        self._list()
        self._share_rows()
        if fold == "rest" and fold in table.unfolded:
            table.go_to(next(setting.id for setting in settings_of(self._shown)))

    def action_rehearse(self) -> None:
        """Let models be answered by the executor mock, or be asked again."""
        executor = next(setting for setting in SETTINGS if setting.id == "executor")
        self._typed(executor, "" if self.setup.texts.get("executor") == MOCK else MOCK)

    def action_name(self) -> None:
        """Ask for the new run's name."""
        detail = "of the new run; empty for the next fork-N"
        self.ask(PromptDialog("Name", detail=detail, value=self.setup.name or ""), self._named)

    def _named(self, name: str) -> None:
        if self.plan is not None:
            self._take(self.plan.named(name or None))
        else:
            self._choose(replace(self.setup, name=name or None))

    def action_agent(self) -> None:
        """Ask what else to run."""
        self._ask_for_agent(_TYPED)

    def _picked(self, choice: str) -> None:
        if choice:
            agent = choice if choice != self._run.code.entry else None
            self._choose(replace(self.setup, agent=agent, continue_with=None))

    def _ask_what_runs(self, is_graph: bool) -> None:  # noqa: FBT001 - `call_from_thread` calls it
        """Ask once what is to run in place of a program that nobody recorded: a graph for a thread, else a model."""
        if is_graph:
            self._ask_for_agent("the graph: module:graph or path/file.py:graph")
        else:
            self.action_continue_with()

    def action_continue_with(self) -> None:
        """Ask which model is to go on with the conversation, in place of the program."""
        self.run_worker(self._find_model, group="model", exclusive=True, thread=True, exit_on_error=False)

    def _find_model(self) -> None:
        try:
            self._model = self._model or asked_model(self._source, self._run)
        except AgentTTError:
            self._model = ""  # the plan says what is wrong with the run
        self.app.call_from_thread(self._pick_model)

    def _pick_model(self) -> None:
        choices = [Choice(each.text, each.label, each.said) for each in named_models(self._model)]
        if self.setup.continue_with is not None and self._run.code.entry is not None:
            choices.append(Choice(_THE_PROGRAM, "the program", "the agent runs, as it was recorded"))
        self.ask(PickDialog("The original program does not run: which model goes on", choices), self._name_model)

    def _name_model(self, choice: str) -> None:
        if choice == _THE_PROGRAM:
            self._choose(replace(self.setup, continue_with=None))
            return

        provider, _, model = choice.partition(":")

        def named(text: str) -> None:
            name = f"{provider}:{text.removeprefix(f'{provider}:')}"
            self._choose(replace(self.setup, continue_with=name, agent=None))

        check = {"": "name the model"}.get
        self.ask(PromptDialog(f"Go on with {provider}", detail="the model's name", value=model, check=check), named)

    def _ask_for_agent(self, detail: str) -> None:
        value = self.setup.agent or self._run.code.entry or ""
        self.ask(PromptDialog("Run what", detail=detail, value=value), self._picked)

    def action_copy_command(self) -> None:
        """Copy the command that makes this fork."""
        from agent_tt_tui.viewmodel.running.as_command import fork_command

        copy_command(self, partial(fork_command, self._source, self._run, self.setup))

    def action_run(self) -> None:
        """Start the fork."""
        plan = self.plan
        if plan is None:
            return
        self._starting = True
        self.query_one(ActionRow).busy = "starting"
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
        self.app.call_from_thread(self._started, handle)

    def _started(self, handle: RunHandle) -> None:
        from agent_tt_tui.viewmodel.running.as_command import fork_command

        source, run, setup = self._source, self._run, self.setup
        what = f"{run.name}, from step {setup.step}"
        ran_of(self).add("fork", what, lambda: fork_command(source, run, setup), source=source, run_id=handle.run_id)
        self.dismiss(handle)

    def _ask_for_trust(self, error: Untrusted, plan: ForkPlan) -> None:
        self._starting = False
        self._show(plan)
        ask_for_trust(self.app, error, self._source.path, run=self.action_run, refuse=self._not_started)

    def _not_started(self, trouble: tuple[str, str]) -> None:
        self._starting = False
        self._show(None, trouble)


def _stubbed(plan: ForkPlan, entry: Boundary, edit: Edit) -> ForkPlan:
    is_error = edit.target == "error"
    return with_stub(plan, entry, None if is_error else edit.value, str(edit.value) if is_error else None)


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
