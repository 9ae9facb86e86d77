"""The edit dialog: one value as it was recorded, as a person wants it, and the difference."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path
from agent_tt.codec.text import describe, summary
from agent_tt.errors import AgentTTError
from agent_tt.model import Edit
from agent_tt_tui.dialog import Dialog
from agent_tt_tui.keymaps import EDIT
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.dialogs.external import edit_in_terminal
from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
from agent_tt_tui.viewmodel.edits.editing import Editable, Verdict, change_pieces, judge, text_of, words_in, words_text
from agent_tt_tui.viewmodel.edits.leaves import MOST_LEAVES
from agent_tt_tui.widgets.dialogs.edit_form import EditAction, EditArea, EditTitle, Passage, Section

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

    from agent_tt.codec.wire import Path, Wire
    from agent_tt_tui.viewmodel.edits.subjects import Subject
    from agent_tt_tui.viewmodel.values.pieces import Piece

_TALL_FROM = 30
_LOW_BELOW = 20
_SHORT = 40
"""Characters of a text on one line up to which it is dropped without asking."""

_SHOWN = 40
"""Characters of a value in the list of parts."""

_TOO_LONG = "too long for this box: edit it in $EDITOR"


class EditDialog(Dialog[Edit]):
    """Edits one value of a state; returns the edit, or None when nothing is to change."""

    CONTEXT = EDIT
    AUTO_FOCUS = "EditArea"
    HELP = "A value to edit: ctrl+s keeps the edit, ctrl+r starts again, esc drops it. Nothing runs yet."

    def __init__(self, subject: Subject) -> None:
        """Edit a value.

        Args:
            subject: what is edited.
        """
        super().__init__(classes="edit")
        self._verdict = Verdict(good=False, message=_TOO_LONG)
        self._trouble_said = ""
        self._take(subject)

    def _take(self, subject: Subject) -> None:
        self._subject = subject
        value, recorded = subject.value, subject.recorded
        nothing = subject.is_new and recorded is None
        plain = subject.as_text and Editable.of(value).plain and (nothing or Editable.of(recorded).plain)
        self._editable = Editable.of(value, as_text=plain)
        self._original = Editable("", plain) if nothing else Editable.of(recorded, as_text=plain)

    def compose_content(self) -> ComposeResult:
        """Yield the value three times: recorded, yours, and what changes."""
        yield EditTitle(self._subject.title)
        yield Section("Recorded")
        yield Passage(id="edit-recorded")
        yield Section("Yours", strong=True)
        yield EditArea(self._editable.text)
        change = Section("Change")
        change.about = (("by word", "faint"),)
        yield change
        yield Passage(id="edit-change")
        yield EditAction()

    def on_mount(self) -> None:
        """Show the value."""
        self._show_subject()

    def _show_subject(self) -> None:
        subject, dot = self._subject, look_of(self).glyphs.dot
        title = self.query_one(EditTitle)
        kind = "none was recorded" if subject.is_new and subject.recorded is None else describe(subject.recorded)
        title.path, title.hint = subject.path, f"{subject.about} {dot} {kind}"
        title.refresh()
        about: tuple[Piece, ...] = ((words_text(self._original.text), "faint"),) if self._editable.plain else ()
        self.query(Section)[0].about, self.query(Section)[1].about = about, ()
        self.query_one("#edit-recorded", Passage).show_text(self._original.text)
        self.query_one(EditArea).disabled = self._editable.too_long
        self.query_one(EditArea).move_cursor(self.query_one(EditArea).document.end)
        self._judge()

    def on_resize(self, event: Resize) -> None:
        """Give the parts more rows where there are many, and leave out what is only read where there are few."""
        self.set_class(event.size.height >= _TALL_FROM, "roomy")
        self.set_class(event.size.height < _LOW_BELOW, "low")

    def on_text_area_changed(self) -> None:
        """Judge what was typed."""
        self._trouble_said = ""
        self._judge()

    def _judge(self) -> None:
        text = self.query_one(EditArea).text
        if not self._editable.too_long:
            self._verdict = judge(text, plain=self._editable.plain, recorded=self._subject.recorded)
            if self._subject.form == "error":
                self._verdict = replace(self._verdict, message="raised in the agent")
            glyph = look_of(self).glyphs.cut
            changes = change_pieces(self._original.text, text, glyph)
            self.query_one("#edit-change", Passage).show_pieces(changes or [("nothing yet", "note")])
            if self._editable.plain:
                self.query(Section)[1].about = _word_count(self._original.text, text)
        trouble = Verdict(good=False, message=self._trouble_said) if self._trouble_said else self._verdict
        self.query_one(EditAction).verdict = trouble
        self.refresh_footer()

    @property
    def _touched(self) -> bool:
        return not self._editable.too_long and self.query_one(EditArea).text != self._editable.text

    @property
    def _long(self) -> bool:
        """Whether what was typed would be missed: a word or a number is sooner typed again than a question answered."""
        text = self.query_one(EditArea).text
        return "\n" in text or len(text) > _SHORT

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id == "edit.keep" and not self._verdict.good:
            return self._verdict.message
        if command_id == "edit.other" and not self._subject.others:
            return "this is a value of a state: it can only be another value"
        if command_id == "edit.part" and next(self._subject.parts, None) is None:
            return "this is a single value: it has no parts"
        if command_id == "edit.recorded" and (self._editable.too_long or self._original.too_long):
            return "the recorded value is too long for this box"
        return None

    def action_keep(self) -> None:
        """Return the edit, or nothing where nothing was changed."""
        if self._touched or self._subject.is_new:
            self._keep(self._verdict.value)
        else:
            self.dismiss(None)

    def action_recorded(self) -> None:
        """Reset to the recorded value."""
        self.query_one(EditArea).text = self._original.text

    def action_other(self) -> None:
        """Edit what else it could come back with: words, tool calls, an error."""
        self._take(self._subject.other())
        self.query_one(EditArea).text = self._editable.text
        self._show_subject()

    def action_part(self) -> None:
        """Choose one value inside of what is edited, and edit that."""
        parts = list(islice(self._subject.parts, MOST_LEAVES))
        shown = [(format_path(place), summary(value, _SHOWN)) for place, value in parts]
        choices = [Choice(str(at), path, value) for at, (path, value) in enumerate(shown)]
        dialog = PickDialog("One value", choices, detail=self._subject.about)
        self.ask(dialog, lambda at: self._choose_part(parts[int(at)][0]))

    def _choose_part(self, place: Path) -> None:
        self._take(self._subject.part(place))
        self.query_one(EditArea).text = self._editable.text
        self._show_subject()

    def action_editor(self) -> None:
        """Edit what is typed in `$EDITOR`."""
        plain = self._editable.plain
        text = text_of(self._subject.value, plain=plain) if self._editable.too_long else self.query_one(EditArea).text
        try:
            edited = edit_in_terminal(self.app, text, ".txt" if plain else ".json", self._trouble)
        except AgentTTError as error:
            self.say(error.message)
            return
        if edited is None:
            self.say("nothing was changed in the editor")
        elif self._editable.too_long:
            self._keep(judge(edited, plain=plain, recorded=self._subject.recorded).value)
        else:
            self.query_one(EditArea).text = edited

    def action_escape(self) -> None:
        """Drop the edit; where much was typed, after asking."""
        if self._touched and self._long:
            question = "What you typed here is not kept yet. Drop it?"
            self.confirm("Drop this edit", question, lambda: self.dismiss(None))
        else:
            self.dismiss(None)

    def _keep(self, value: Wire) -> None:
        edit = self._subject.make(value)
        self._trouble_said = self._subject.check(edit) or ""
        if self._trouble_said:
            self._judge()
        else:
            self.dismiss(edit)

    def _trouble(self, text: str) -> str | None:
        verdict = judge(text, plain=self._editable.plain, recorded=self._subject.recorded)
        return None if verdict.good else verdict.message


def _word_count(recorded: str, typed: str) -> tuple[Piece, ...]:
    more = words_in(typed) - words_in(recorded)
    count: Piece = (words_text(typed), "muted")
    if not more:
        return (count,)
    return (count, (f"  {more:+,}", "added_mark" if more > 0 else "removed_mark"))
