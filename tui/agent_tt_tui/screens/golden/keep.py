"""The dialog that keeps a run as a test: rules are proposed, tried on other runs, changed, and written."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.containers import Container, Vertical
from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt.golden.kinds import KINDS
from agent_tt.golden.saving import save_golden
from agent_tt_tui import format as fmt
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import KEEP
from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.viewmodel.golden.keeping import (
    Draft,
    DraftRule,
    Trials,
    check_rule,
    read_rule_text,
    what_kind,
    with_keys,
)
from agent_tt_tui.widgets.dialogs.action_row import ActionRow
from agent_tt_tui.widgets.golden.keep_form import KeepCommand, KeepFile, KeepRows, RuleTrials

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from agent_tt.golden.rule import Rule
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.lines import LineView

_LOW_BELOW: Final = 30
_WIDE_FROM: Final = 160
_FIELDS: Final = {
    "name": ("Name", "of the test and its file"),
    "folder": ("Folder", "where the file is written, and its recording beside it"),
    "runs": ("Run what", "FILE:NAME that the test runs; empty for what was recorded"),
}


class KeepDialog(Dialog[Path]):
    """Says what the run would be kept as, and lets it be changed; returns the file that was written."""

    CONTEXT = KEEP
    AUTO_FOCUS = "KeepRows"
    HELP = "Keep a run as a test: rules with what other runs do on them; enter keeps it, esc leaves."

    def __init__(self, source: RunSource, run: Run) -> None:
        """Propose a test.

        Args:
            source: where the run is.
            run: the run, which is over.
        """
        super().__init__()
        self._source, self._run = source, run
        self._draft = Draft(run, source.path, run.name.replace("/", "-"))
        self._others: tuple[Run, ...] = ()
        self._is_read = self._is_writing = False
        self._shows_file = False

    def compose_content(self) -> ComposeResult:
        """Yield the rules, what the chosen one says of other runs, the file, and the action."""
        yield DialogTitle("Keep as test", detail=self._run.name)
        yield Container(Vertical(KeepRows(), RuleTrials(), id="keep-rules"), KeepFile(), id="keep-body")
        yield KeepCommand()
        yield ActionRow(f"{self.key('list.choose')} keep as test", "two files are written; nothing runs")

    def on_mount(self) -> None:
        """Propose rules."""
        self.query_one(ActionRow).busy = "reading the run"
        self.run_worker(self._propose, group="trials", thread=True, exit_on_error=False)

    def on_resize(self, event: events.Resize) -> None:
        """Put the file beside the rules where there is room."""
        self.set_class(event.size.height < _LOW_BELOW, "low")
        self.set_class(event.size.width >= _WIDE_FROM, "wide")
        self._share()

    def _share(self) -> None:
        wide = self.has_class("wide")
        self.query_one("#keep-rules").display = wide or not self._shows_file
        self.query_one(KeepFile).display = wide or self._shows_file

    # What the rules say, worked out in a thread.

    def _trials(self) -> Trials:
        worker = get_current_worker()

        def tell(words: str) -> None:
            if not worker.is_cancelled:
                self.app.call_from_thread(self._say_busy, words)

        return Trials(self._source, self._run, tell, lambda: worker.is_cancelled)

    def _say_busy(self, words: str) -> None:
        self.query_one(ActionRow).busy = words

    def _propose(self) -> None:
        worker, trials = get_current_worker(), self._trials()
        try:
            rules, others = trials.propose(), trials.others()
        except AgentTTError as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self._failed, (error.message, error.hint))
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._proposed, rules, others)

    def _proposed(self, rules: tuple[Rule, ...], others: tuple[Run, ...]) -> None:
        self._is_read, self._others = True, others
        self._draft = replace(self._draft, rules=tuple(map(DraftRule, rules)), proposed=rules)
        self._changed()
        self.query_one(KeepRows).move_to_rule(0)
        self._try()

    def _try(self) -> None:
        """Try the rules of which it is not known yet what they say."""
        rules = [each.rule for each in self._draft.rules if each.own is None]
        work = partial(self._try_rules, rules, self._others)
        self.run_worker(work, group="trials", exclusive=True, thread=True, exit_on_error=False)

    def _try_rules(self, rules: Sequence[Rule], others: Sequence[Run]) -> None:
        worker = get_current_worker()
        tried = self._trials().on_all(rules, others)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._tried, tried)

    def _tried(self, tried: Sequence[DraftRule]) -> None:
        self._draft = self._draft.judged(tried)
        self.query_one(ActionRow).busy = ""
        self._changed()

    # What is shown.

    def _changed(self) -> None:
        """Show what it is kept as now, or why it cannot be."""
        draft, rows = self._draft, self.query_one(KeepRows)
        rows.show(draft, len(self._others))
        on = fmt.counted(len(draft.chosen), "rule")
        others = fmt.counted(len(self._others), "other run")
        self.query_one(DialogTitle).hint = f"{on} on, tried on {others}" if self._is_read else ""
        self.query_one(KeepCommand).command = draft.command
        self.query_one(ActionRow).trouble = draft.trouble if self._is_read else ("", "")
        self._show_rule()
        self.run_worker(partial(self._plan, draft), group="file", exclusive=True, thread=True, exit_on_error=False)

    def _plan(self, draft: Draft) -> None:
        """Work out the file, or why it cannot be written."""
        worker = get_current_worker()
        text, trouble = "", draft.trouble
        try:
            text = draft.text(self._source)
        except AgentTTError as error:
            trouble = (error.message, error.hint.replace("Give another --name, or --replace it.", _TAKEN))
        if not worker.is_cancelled:
            self.app.call_from_thread(self._planned, draft, text, trouble)

    def _planned(self, draft: Draft, text: str, trouble: tuple[str, str]) -> None:
        self.query_one(KeepFile).show(text or trouble[0], draft.command)
        if self._is_read:
            self.query_one(ActionRow).trouble = trouble
        self.refresh_footer()

    def _show_rule(self) -> None:
        index = self.query_one(KeepRows).rule_index
        self.query_one(RuleTrials).show(None if index is None else self._draft.rules[index], self._others)
        self.refresh_footer()

    def on_line_view_cursor_moved(self, _message: LineView.CursorMoved) -> None:
        """Show what the rule says of other runs."""
        self._show_rule()

    def _failed(self, trouble: tuple[str, str]) -> None:
        self._is_writing = False
        action = self.query_one(ActionRow)
        action.busy, action.trouble = "", trouble
        self.refresh_footer()

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        rows = self.query_one(KeepRows)
        if self._is_writing:
            return "it is being kept"
        if command_id in ("keep.toggle", "keep.remove") and rows.rule_index is None:
            return "this row is no rule"
        if command_id == "list.choose":
            return self._why_not
        if command_id.startswith("keep.") and not self._is_read:
            return self.query_one(ActionRow).trouble[0] or "the run is being read"
        return super().blocked(command_id)

    @property
    def _why_not(self) -> str | None:
        """Why it cannot be kept now."""
        if trouble := self.query_one(ActionRow).trouble[0]:
            return trouble
        if not self._is_read:
            return "the run is being read"
        untried = any(each.is_on and each.own is None for each in self._draft.rules)
        return "whether the run passes its rules is being worked out" if untried else None

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Keep the run as a test."""
        reason = self.blocked("list.choose")
        if reason is not None:
            self.say(reason)
            return
        self._is_writing = True
        self.query_one(ActionRow).busy = "packing the recording"
        self.run_worker(partial(self._keep, self._draft), group="keep", thread=True, exit_on_error=False)

    def _keep(self, draft: Draft) -> None:
        try:
            golden = save_golden(
                self._source,
                draft.run,
                Path(draft.folder).expanduser(),
                draft.name,
                draft.chosen,
                agent=draft.agent or None,
                replaces=draft.replaces,
            )
        except AgentTTError as error:
            self.app.call_from_thread(self._failed, (error.message, error.hint))
        else:
            self.app.call_from_thread(self.dismiss, golden.path)

    def action_turn(self) -> None:
        """Turn the rule on or off."""
        index = self.query_one(KeepRows).rule_index
        if index is not None:
            rule = self._draft.rules[index]
            self._draft = self._draft.with_rule(index, replace(rule, is_on=not rule.is_on))
            self._changed()

    def action_remove(self) -> None:
        """Remove the rule."""
        index = self.query_one(KeepRows).rule_index
        if index is not None:
            self._draft = self._draft.with_rule(index, None)
            self._changed()

    def action_replace(self) -> None:
        """Replace the test of this name, or do not."""
        self._draft = replace(self._draft, replaces=not self._draft.replaces)
        self._changed()

    def action_file(self) -> None:
        """Show the file, or the rules again."""
        if self.has_class("wide"):
            self.say("the file stands beside the rules")
            return
        self._shows_file = not self._shows_file
        self._share()
        (self.query_one(KeepFile) if self._shows_file else self.query_one(KeepRows)).focus()

    def action_copy(self) -> None:
        """Copy the command that does the same."""
        self.app.copy_to_clipboard(self._draft.command)
        self.say("copied the command")

    def action_edit(self) -> None:
        """Change what the row under the cursor says."""
        rows = self.query_one(KeepRows)
        index, field = rows.rule_index, rows.field
        if index is not None:
            rule = self._draft.rules[index].rule
            self._ask_rule(rule.kind, with_keys(rule.kind, rule), index)
        elif field:
            title, detail = _FIELDS[field]
            recorded = self._run.code.entry or ""
            value = {"name": self._draft.name, "folder": self._draft.folder, "runs": self._draft.agent or recorded}
            self.ask(PromptDialog(title, detail=detail, value=value[field]), partial(self._said, field))

    def _said(self, field: str, text: str) -> None:
        if field == "runs":
            self._draft = replace(self._draft, agent="" if text == self._run.code.entry else text)
        elif text and field == "name":
            self._draft = replace(self._draft, name=text)
        elif text:
            self._draft = replace(self._draft, folder=text)
        self._changed()

    def action_add(self) -> None:
        """Add a rule: choose its kind."""
        choices = [Choice(kind, kind, what_kind(kind)[0]) for kind in KINDS]
        last = len(self._draft.rules)
        self.ask(PickDialog("Add a rule", choices), lambda kind: self._ask_rule(kind, with_keys(kind), last))

    def _ask_rule(self, kind: str, text: str, index: int) -> None:
        prompt = PromptDialog(
            kind, detail=f"keys: {what_kind(kind)[1]}", value=text, check=lambda typed: check_rule(kind, typed)
        )
        self.ask(prompt, lambda typed: self._given(index, read_rule_text(kind, typed)))

    def _given(self, index: int, rule: Rule) -> None:
        self._draft = self._draft.with_rule(index, DraftRule(rule))
        self._changed()
        self.query_one(KeepRows).move_to_rule(index)
        self._try()


_TAKEN: Final = "Give it another name, or replace that test."
