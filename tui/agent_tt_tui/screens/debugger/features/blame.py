"""Blame in the debugger: who wrote a value, and walking the way back to what caused it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.paths import format_path
from agent_tt_tui.feature import hears
from agent_tt_tui.lines import LineView
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.panes import LowerPane
from agent_tt_tui.screens.debugger.past_reading import Blamed
from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
from agent_tt_tui.viewmodel.past.blame import default_path, joined_path, sentences, text_in
from agent_tt_tui.widgets.debugger.blame_pane import BlameList, BlamePane
from agent_tt_tui.widgets.debugger.inspector_rows import TABS

if TYPE_CHECKING:
    from textual.widget import Widget

    from agent_tt.codec.wire import Path
    from agent_tt.querying.provenance.blaming import Blame
    from agent_tt_tui.screens.debugger.past_reading import PastReading
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.debugger.debugger_layout import DebuggerLayout

_LEAST_ROWS: Final = 6
_LEAST_SHARE: Final = 9
"""Rows that it may have however few there are, if its answer takes so many."""


class _Before(NamedTuple):
    """What was shown when the question was asked, for going back to it."""

    number: int
    path: Path | None
    tab: int
    focused: Widget | None


class _Text(NamedTuple):
    """A text of the state, and the step after which it stands there."""

    path: str
    text: str
    step: int


class _Left(NamedTuple):
    """A way that was left at one of its places: the same key there opens it again."""

    blame: Blame
    place: int
    number: int
    before: _Before


class WhoWrote(DebuggerFeature):
    """Asks who wrote a value. The panes follow the place under the cursor of the answer."""

    COMMANDS = frozenset({"blame.open", "blame.words"})

    def __init__(self, time: Time, past: PastReading) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            past: What finds out who wrote a value.
        """
        super().__init__(time)
        self._past = past
        self.pane = BlamePane(self.model.kind_of)
        """What shows the answer."""
        self.panes.lower.append(LowerPane(self.pane, self.pane.list, lambda: self.pane.is_open, self._rows))
        self._before: _Before | None = None
        self._answer: Blame | None = None
        self._asked: _Text | None = None
        """The text that was asked about, of which a sentence may be asked about next."""
        self._way_left: _Left | None = None

    def _rows(self, plan: DebuggerLayout) -> int:
        size = self.screen.size
        most = max(_LEAST_SHARE, (size.height - 2 - plan.scrubber) * 3 // 5)
        columns = plan.places(size.width, size.height, most).lower.width
        rows = min(self.pane.needed(columns), most) + self.panes.grown[1]
        return max(_LEAST_ROWS, rows)

    def blocked(self, command_id: str) -> str | None:
        """Say why nobody can be blamed here."""
        if command_id == "blame.words":
            return None if self._sentences() else "only of a text of several sentences one can be asked about"
        if self.pane.is_open:
            return None
        if self.time.view is None or self.time.view.number != self.time.number:
            return "this step is still being read"
        if self.time.view.error is not None:
            return "this state cannot be read, so nobody knows who wrote what is in it"
        return None

    def action_blame(self) -> None:
        """Ask who wrote the selected value; where a way led here, open that again; while one is open, stay here."""
        left, self._way_left = self._way_left, None
        if self.pane.is_open:
            self._close_blame(stay=True)
        elif left is not None and left.number == self.time.number:
            self._before, self._answer = left.before, left.blame
            self.pane.show(left.blame, left.place)
            self._open_blame()
        else:
            path = self._blamed()
            if path is None:
                self.screen.say("this state holds no value whose writer could be shown")
                return
            tab = TABS.index(self.panes.inspector.tab) + 1
            self._asked = None
            self._before, self._answer = _Before(self.time.number, self.time.path, tab, self.screen.focused), None
            self.pane.ask(format_path(path), self.time.number)
            self._open_blame()
            self._past.blame(format_path(path), self.time.number)

    def _sentences(self) -> list[str]:
        """The sentences of the text that was asked about."""
        return [] if self._asked is None or not self.pane.is_open else sentences(self._asked.text)

    def action_words(self) -> None:
        """Ask which sentence of the text is meant, and who wrote that."""
        choices = [Choice(sentence, sentence) for sentence in self._sentences()]
        self.screen.ask(PickDialog("Which sentence", choices), self._blame_words)

    def _blame_words(self, words: str) -> None:
        if self._asked is not None:
            self.pane.ask(f"{words} in {self._asked.path}", self._asked.step)
            self._past.blame(self._asked.path, self._asked.step, words)

    def escape(self) -> bool:
        """Return to the step and path at which the trail was begun."""
        if not self.pane.is_open or self.panes.zoomed:
            return False
        self._close_blame(stay=False)
        return True

    def _blamed(self) -> Path | None:
        """The value that is asked about."""
        message, selection = self.panes.inspector.message, self.panes.inspector.selection
        if self.panes.inspector.tab == "Messages" and message is not None:
            return message.words.path
        if self.panes.inspector.state_tree.chosen and selection is not None:
            return selection.path
        found = default_path(self.time.view, self.model.last) if self.time.view is not None else None
        return self.time.path if found is None else found

    def _open_blame(self) -> None:
        self.panes.share()
        self.pane.list.focus()

    @hears(Blamed)
    def _on_blamed(self, message: Blamed) -> None:
        if not self.pane.is_open:
            return
        if message.blame is None:
            self.pane.refuse(message.why)
            return
        self._answer = message.blame
        if self._asked is None and (text := text_in(message.blame.value)) is not None:
            below, words = text
            self._asked = _Text(joined_path(message.blame.path, below), words, message.blame.step)
            self.screen.refresh_footer()
        links = message.blame.trail.links
        # Where one stands already there is nothing to see: what brought the value comes next.
        first = 1 if len(links) > 1 and links[0].step == self.time.number else 0
        self.pane.show(message.blame, first)
        self.panes.share()
        if first:
            self.go_to_place(self.pane.list.places[first])

    @hears(BlameList.PlaceMoved)
    def _on_place_moved(self, message: BlameList.PlaceMoved) -> None:
        self.pane.show_place()
        self.go_to_place(message.place)

    @hears(LineView.Chosen)
    def _on_place_chosen(self, message: LineView.Chosen) -> None:
        if message.view is self.pane.list and self.pane.list.places:
            place = self.pane.list.places[self.pane.list.place]
            if place.step != self.time.number:
                self.go_to_place(place)
            self._close_blame(stay=True)

    def _close_blame(self, *, stay: bool) -> None:
        self._past.stop_blaming()
        before, answer = self._before, self._answer
        self.pane.is_open = False
        self._before = self._answer = None
        if before is None:
            return
        if stay:
            if answer is not None:
                self._way_left = _Left(answer, self.pane.list.place, self.time.number, before)
            self.panes.share()
            self.panes.inspector.take_focus()
            return
        self.time.forget_landing()
        self.panes.inspector.show_tab(before.tab)
        if before.path:
            self.panes.inspector.state_tree.select(before.path)
        self.panes.share()
        (before.focused or self.panes.timeline).focus()
        self.time.go(before.number)
