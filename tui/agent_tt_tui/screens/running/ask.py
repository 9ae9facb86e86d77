"""The ask dialog: a call of a running fork waits, and a person says what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.widgets import TextArea

from agent_tt.errors import AgentTTError
from agent_tt.forking.editing.assignments import parse_assignment
from agent_tt.forking.editing.edits import with_old_values
from agent_tt_tui.dialog import Dialog
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.keymaps import ASK, ASK_TYPING
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.dialogs.external import edit_in_terminal
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.viewmodel.running.asking import (
    Arguments,
    Judged,
    change_of,
    changes_of_state,
    judge_arguments,
)
from agent_tt_tui.widgets.dialogs.ask_form import AskAction, AskFacts, AskTitle
from agent_tt_tui.widgets.dialogs.edit_form import EditArea, Passage, Section

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.events import Resize

    from agent_tt.model import Edit
    from agent_tt.questions import CallQuestion, Decision

_LOW_BELOW = 24
_DECIDING = frozenset({"ask.run", "ask.give", "ask.error", "ask.refuse", "ask.state"})
_TOO_LONG = "too long for this box: edit it in $EDITOR"


class AskDialog(Dialog["Decision"]):
    """Shows a call that waits, with arguments that can be edited; returns what was decided, None for later."""

    CONTEXT = ASK
    AUTO_FOCUS = ""
    HELP = "A call that waits: F runs it with the arguments as they stand here, esc leaves it waiting."

    GRACE_SECONDS: ClassVar[float] = 1.0
    """How long a dialog that opened by itself takes no decision: a key that was on its way was not meant for it."""

    def __init__(self, question: CallQuestion, run_name: str, others: int = 0, *, by_itself: bool = False) -> None:
        """Ask about a call.

        Args:
            question: the call.
            run_name: the name of its run.
            others: how many more wait.
            by_itself: whether nobody has asked for the dialog.
        """
        super().__init__(classes="edit")
        self.question = question
        """What is asked."""
        self._run_name, self._others = run_name, others
        self._is_new = by_itself
        self._arguments = Arguments.of(question)
        self._text = self._arguments.text
        self._judged = judge_arguments(question, self._text)
        self._edits: tuple[Edit, ...] = ()
        self.set_class(bool(self._arguments.fixed or question.trouble), "crowded")

    def compose_content(self) -> ComposeResult:
        """Yield what waits, its arguments, and what would be changed in them."""
        question, dot = self.question, look_of(self).glyphs.dot
        more = f" {dot} {self._others} more" if self._others else ""
        yield AskTitle(question, f"step {question.step} {dot} {self._run_name}{more}")
        yield AskFacts(question)
        yield Section("Arguments", strong=True)
        area = EditArea("" if self._arguments.too_long else self._text)
        area.read_only = not question.editable or self._arguments.too_long
        yield area
        if self._arguments.fixed:
            yield Section("As they are")
            yield Passage(id="ask-fixed")
        yield Section("Change")
        yield Passage(id="ask-change")
        yield AskAction()

    def on_mount(self) -> None:
        """Show the arguments."""
        self.query(Section)[0].about = (("as JSON, by name", "faint"),)
        if self._arguments.fixed:
            self.query_one("#ask-fixed", Passage).show_text(self._arguments.fixed)
        self._judge()
        if self._is_new:
            self.set_timer(self.GRACE_SECONDS, self._be_ready)

    def _be_ready(self) -> None:
        self._is_new = False
        self.refresh_footer()

    def on_resize(self, event: Resize) -> None:
        """Leave out what is only read where there are few rows."""
        self.set_class(event.size.height < _LOW_BELOW, "low")

    def on_descendant_focus(self) -> None:
        """Keys act otherwise while one types."""
        self.query_one(FooterRow).show_context(ASK_TYPING if self._is_typing else ASK)

    def on_descendant_blur(self) -> None:
        """As on focus."""
        self.on_descendant_focus()

    def on_text_area_changed(self) -> None:
        """Judge what was typed."""
        if not self._arguments.too_long:
            self._text = self.query_one(EditArea).text
            self._judge()

    def _judge(self) -> None:
        self._judged = judge_arguments(self.question, self._text)
        to = look_of(self).glyphs.to
        changes = [*change_of(self.question, self._judged.decision, to), *changes_of_state(self._edits, to)]
        self.query_one("#ask-change", Passage).show_pieces(changes or [("nothing yet", "note")])
        too_long = self._arguments.too_long and self._text == self._arguments.text
        self.query_one(AskAction).judged = Judged(self._judged.decision, _TOO_LONG) if too_long else self._judged
        self.refresh_footer()

    @property
    def _is_typing(self) -> bool:
        return isinstance(self.focused, TextArea)

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        question = self.question
        if command_id in _DECIDING and self._is_new:
            return "this has just opened: read it first"
        if command_id in _DECIDING and self._is_typing:
            return f"leave the arguments first: {self.key('ask.done')}"
        if command_id == "ask.run" and self._judged.decision is None:
            return self._judged.message
        if command_id == "ask.state" and question.state is None:
            return "no state can be changed here" if question.hold is not None else "its agent is not held"
        if command_id in ("ask.edit", "ask.editor", "ask.recorded") and not question.editable:
            return "nothing of this call can be changed: run it as it is, or refuse it"
        if command_id == "ask.edit" and self._arguments.too_long:
            return _TOO_LONG
        if command_id in ("ask.give", "ask.error") and not question.can_give:
            return "nothing can be given in place of this call: run it, or refuse it"
        if command_id == "ask.done" and not self._is_typing:
            return f"nothing is being edited: {self.key('ask.edit')} edits the arguments"
        return None

    # What becomes of the call.

    def action_run(self) -> None:
        """Let it go out with the arguments as they stand."""
        self._decide(self._judged.decision)

    def action_give(self) -> None:
        """Ask for the value that the agent gets in its place."""
        prompt = PromptDialog(
            "Give a value", detail="JSON, in place of what it would come back with", check=self._check_value
        )
        self.ask(prompt, lambda text: self._decide(self.question.give_text(text)))

    def _check_value(self, text: str) -> str | None:
        return _trouble(lambda: self.question.give_text(text))

    def action_error(self) -> None:
        """Ask for the error that is raised in its place."""
        prompt = PromptDialog(
            "Raise an error",
            detail="in place of the call",
            placeholder="TimeoutError: no answer",
            check=lambda text: _trouble(lambda: self.question.fail(text)) if text else "type an error",
        )
        self.ask(prompt, lambda text: self._decide(self.question.fail(text)))

    def action_refuse(self) -> None:
        """Ask why, which may stay empty, and refuse it."""
        prompt = PromptDialog("Refuse", detail="why: the agent is told; it may stay empty")
        self.ask(prompt, lambda why: self._decide(self.question.refuse(why)))

    def _decide(self, decision: Decision | None) -> None:
        """Return what was decided, with what is to be changed of the state first."""
        self.dismiss(None if decision is None else self.question.with_state(decision, self._edits))

    # Editing the state of an agent that is held.

    def action_state(self) -> None:
        """Ask for one change of the state; it is made when the call is decided."""
        prompt = PromptDialog(
            "Change the state",
            detail="before the agent goes on",
            placeholder="budget=3",
            check=lambda text: _trouble(lambda: self._with(text)) if text else "type PATH=VALUE, the value as JSON",
        )
        self.ask(prompt, self._change_state)

    def _change_state(self, text: str) -> None:
        self._edits = self._with(text)
        self._judge()

    def _with(self, text: str) -> tuple[Edit, ...]:
        """The changes of the state so far and one more.

        Raises:
            AgentTTError: it cannot be read, or not be made.
        """
        question = self.question
        edits = with_old_values(question.state, [*self._edits, parse_assignment(text)])
        return question.with_state(question.run(), edits).state

    # Editing the arguments.

    def action_edit(self) -> None:
        """Go to the arguments."""
        area = self.query_one(EditArea)
        area.focus()
        area.move_cursor(area.document.end)

    def action_done(self) -> None:
        """Leave the arguments as they stand now; nothing goes out yet."""
        self.set_focus(None)

    def action_recorded(self) -> None:
        """Reset to the arguments of the agent."""
        self._text = self._arguments.text
        if self._arguments.too_long:
            self._judge()
        else:
            self.query_one(EditArea).text = self._text

    def action_editor(self) -> None:
        """Edit the arguments in `$EDITOR`."""
        try:
            edited = edit_in_terminal(self.app, self._text, ".json", self._trouble_with)
        except AgentTTError as error:
            self.say(error.message)
            return
        if edited is None:
            self.say("nothing was changed in the editor")
        elif self._arguments.too_long:
            self._text = edited
            self._judge()
        else:
            self.query_one(EditArea).text = edited

    def _trouble_with(self, text: str) -> str | None:
        return _trouble(lambda: self.question.run_text(text))

    def action_escape(self) -> None:
        """Stop typing; else close the dialog: the call goes on waiting."""
        if self._is_typing:
            self.action_done()
        else:
            self.dismiss(None)


def _trouble(read: Callable[[], object]) -> str | None:
    try:
        read()
    except AgentTTError as error:
        return error.message
    return None
