"""Blame in the debugger: who wrote a value, and walking the way back to what caused it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on

from agent_tt.codec.paths import format_path
from agent_tt.errors import AgentTTError
from agent_tt.querying.places import read_path
from agent_tt_tui.contexts import BLAME, DEBUGGER
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.lines import LineView
from agent_tt_tui.screens.editing import EditingScreen
from agent_tt_tui.screens.past_reading import Blamed, PastReading
from agent_tt_tui.viewmodel.blame import default_path
from agent_tt_tui.widgets.blame_pane import BlameList
from agent_tt_tui.widgets.inspector_rows import TABS

if TYPE_CHECKING:
    from textual import events
    from textual.widget import Widget

    from agent_tt.codec.wire import Path
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.blaming import Blame
    from agent_tt_tui.viewmodel.blame import Place

__all__ = ["BlamingScreen"]


@dataclass(frozen=True, slots=True)
class _Before:
    """What was shown when the question was asked, for going back to it."""

    number: int
    path: Path | None
    tab: int
    focused: Widget | None


@dataclass(frozen=True, slots=True)
class _Left:
    """A way that was left at one of its places: the same key there opens it again."""

    blame: Blame
    place: int
    number: int
    before: _Before


class BlamingScreen(EditingScreen):
    """One run, of whose values can be asked who wrote them. The panes follow the place under the cursor."""

    _before: _Before | None = None
    _answer: Blame | None = None
    _way_left: _Left | None = None
    _place: Place | None = None
    """A place that is to be shown as soon as its step is read."""

    _has_blame_keys = False

    def __init__(self, source: RunSource, run: Run, step: int | None = None) -> None:
        """Show a run, as `TimeTravelScreen` does."""
        super().__init__(source, run, step)
        self.past = PastReading(self, self.model)

    def blocked(self, command_id: str) -> str | None:
        """Say why nobody can be blamed here."""
        if command_id == "blame.open" and not self.blame.is_open:
            if self.view is None or self.view.number != self.number:
                return "this step is still being read"
            if self.view.error is not None:
                return "this state cannot be read, so nobody knows who wrote what is in it"
        return super().blocked(command_id)

    def action_blame(self) -> None:
        """Ask who wrote the selected value; where a way led here, open that again; while one is open, stay here."""
        left, self._way_left = self._way_left, None
        if self.blame.is_open:
            self._close_blame(stay=True)
        elif left is not None and left.number == self.number:
            self._before, self._answer = left.before, left.blame
            self.blame.show(left.blame, left.place)
            self._open_blame()
        else:
            path = self._blamed()
            if path is None:
                self.say("this state has no value that somebody could have written")
                return
            tab = TABS.index(self.inspector.tab) + 1
            self._before, self._answer = _Before(self.number, self.path, tab, self.focused), None
            self.blame.ask(format_path(path), self.number)
            self._open_blame()
            self.past.blame(format_path(path), self.number)

    def action_escape(self) -> None:
        """Go back from the way to where it began, or leave what else is open."""
        if self.blame.is_open and not self.zoomed:
            self._close_blame(stay=False)
        else:
            super().action_escape()

    def show_view(self) -> None:
        """Show the step that was read, and in it the place that was gone to."""
        super().show_view()
        place, view = self._place, self.view
        if place is None or view is None or place.step not in (view.number, self.number):
            self._place = None
            return
        if view.number != place.step:
            return
        self._place = None
        if place.call is None:
            with suppress(AgentTTError):  # a place of the agent's own code has no path
                path = read_path(view.state, place.path) if place.path else ()
                if path:
                    self.inspector.show_value(path)
        else:
            self._show_call(place.call, is_outcome=place.is_outcome)

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        """Show the keys of what is in focus."""
        here = self.focused is self.blame.list
        if here != self._has_blame_keys:
            self._has_blame_keys = here
            self.query_one(FooterRow).show_context(BLAME if here else DEBUGGER)

    def _show_call(self, number: int, *, is_outcome: bool) -> None:
        column = self.call_pane.display
        if column:
            self.call_pane.go_to(number)
        else:
            self.inspector.show_call(number)
        if is_outcome:
            (self.call_pane if column else self.inspector).call_view.show_outcome()

    def _blamed(self) -> Path | None:
        """The value that is asked about."""
        message, selection = self.inspector.message, self.inspector.selection
        if self.inspector.tab == "Messages" and message is not None:
            return message.words.path
        if self.inspector.state_tree.chosen and selection is not None:
            return selection.path
        found = default_path(self.view, self.model.last) if self.view is not None else None
        return self.path if found is None else found

    def _open_blame(self) -> None:
        self.share_screen()
        self.blame.list.focus()

    @on(Blamed)
    def _on_blamed(self, message: Blamed) -> None:
        if not self.blame.is_open:
            return
        if message.blame is None:
            self.blame.refuse(message.why)
            return
        self._answer = message.blame
        links = message.blame.trail.links
        # Where one stands already there is nothing to see: what brought the value comes next.
        first = 1 if len(links) > 1 and links[0].step == self.number else 0
        self.blame.show(message.blame, first)
        self.share_screen()
        if first:
            self._show_place(self.blame.list.places[first])

    @on(BlameList.PlaceMoved)
    def _on_place_moved(self, message: BlameList.PlaceMoved) -> None:
        self.blame.show_place()
        self._show_place(message.place)

    @on(LineView.Chosen, "#blame-list")
    def _on_place_chosen(self) -> None:
        if self.blame.list.places:
            place = self.blame.list.places[self.blame.list.place]
            if place.step != self.number:
                self._show_place(place)
            self._close_blame(stay=True)

    def _show_place(self, place: Place) -> None:
        self._place = place
        self.go(place.step)

    def _close_blame(self, *, stay: bool) -> None:
        self.past.stop_blaming()
        before, answer = self._before, self._answer
        self.blame.is_open = False
        self._before = self._answer = None
        if before is None:
            return
        if stay:
            if answer is not None:
                self._way_left = _Left(answer, self.blame.list.place, self.number, before)
            self.share_screen()
            self.inspector.take_focus()
            return
        self._place = None
        self.inspector.show_tab(before.tab)
        if before.path:
            self.inspector.state_tree.select(before.path)
        self.share_screen()
        (before.focused or self.timeline).focus()
        self.go(before.number)
