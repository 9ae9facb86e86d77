"""Finding: the panel, its searches, the timeline narrowed to what they find, and the keys that go through that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from agent_tt.errors import InvalidExpression
from agent_tt_tui.feature import hears
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.keymaps import DEBUGGER, FIND
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.past_reading import StepsFound
from agent_tt_tui.screens.debugger.time import AskWhere
from agent_tt_tui.screens.searching import IndexGrew, NotUnderstood, Searched, Searching
from agent_tt_tui.viewmodel.debugger.folding import Narrowed
from agent_tt_tui.viewmodel.past.blame import Place
from agent_tt_tui.viewmodel.past.filtering import Asked, read_asked, terms_at_hand
from agent_tt_tui.viewmodel.past.finding import Wish, edge_of
from agent_tt_tui.widgets.debugger.find_panel import FindPanel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt_tui.screens.debugger.features.blame import WhoWrote
    from agent_tt_tui.screens.debugger.past_reading import Among, PastReading
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.past.finding import HitRow


_MOST_CONTEXT = 9


class Find(DebuggerFeature):
    """Searches the run for texts, and for the steps at which a question holds; other features show theirs as found.

    While it is typed and until it is cleared, the timeline shows what is found and the steps beside it.
    """

    COMMANDS = frozenset({"find.open", "find.next", "find.previous", "time.edge_previous", "time.edge_next"})

    def __init__(self, time: Time, past: PastReading, who_wrote: WhoWrote) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            past: What finds out where a question holds.
            who_wrote: What a hit may lead on to.
        """
        super().__init__(time)
        self._past, self._who_wrote = past, who_wrote
        self._panel = self.panes.find_panel
        self._opened_at: int | None = None
        """The step at which the find panel was opened; None while it is closed."""
        self._searches: Searching | None = None
        self.watch: int | None = None
        """The watch whose steps are shown as found; None for none."""
        self._asked = Asked()
        """What was typed, read."""
        self._context = 1
        self._has_landed = False
        """Whether one of the steps that are being found was gone to."""

    @property
    def _searching(self) -> Searching:
        if self._searches is None:
            self._searches = Searching(self.screen, self.model.source, [self.model.run.id])
        return self._searches

    @hears(events.Unmount)
    def _on_unmount(self, _event: events.Unmount) -> None:
        """Let go of the index."""
        if self._searches is not None:
            self._searches.close()

    def blocked(self, command_id: str) -> str | None:
        """Say why there is nowhere to go."""
        if command_id in {"find.next", "find.previous"} and not self._panel.hits.found.steps:
            return f"nothing was searched for yet: {self.key('find.open')} searches"
        if command_id.startswith("time.edge") and self.asked_steps is None:
            return f"no question was asked yet: {self.key('find.open')} and ? ask one"
        return None

    def escape(self) -> bool:
        """Forget what was found; a value's way back, which may have led on from it, is left first."""
        is_narrowed = self.panes.timeline.narrowed is not None
        if not (self._panel.hits.found.steps or is_narrowed) or self._who_wrote.pane.is_open:
            return False
        self._forget_hits()
        return True

    def action_find(self) -> None:
        """Open the find panel."""
        self._opened_at = self.time.number
        self._panel.add_class("open")
        self._panel.open(terms_at_hand(self.model.overview), self.model.last)
        self.screen.query_one(FooterRow).show_context(FIND)
        self._show_hits(self._panel.hits.found.steps)
        self._searching.fill()

    @hears(AskWhere)
    def _on_ask_where(self, message: AskWhere) -> None:
        """Ask a question as if it had been typed."""
        self.action_find()
        self._panel.type(f"?{message.question}")

    def action_find_next(self, direction: int) -> None:
        """Go to the next or previous step with a hit."""
        self._go_to_step(self._panel.move_from(self.time.number, direction))

    @hears(FindPanel.Asked)
    def _on_asked(self, message: FindPanel.Asked) -> None:
        wish = message.wish
        self.watch, self._has_landed = None, False
        self._panel.begin(searching=bool(wish.text))
        try:
            # A pattern is what it says: nothing in it is read as the name of a part.
            is_pattern = wish.regex and not wish.text.lstrip().startswith("?")
            self._asked = Asked(words=wish.text) if is_pattern else read_asked(wish.text)
        except InvalidExpression as error:
            self._stop_finding()
            self._refuse(f"{error.why}. {error.hint}" if error.hint else error.why, error.position)
            return
        if self._asked.question:
            self._find_where(wish)
        elif self._asked.words:
            self._past.stop_finding()
            self._searching.search(wish, self._asked.words)
        else:  # nothing, or a part whose value is not typed yet
            self._stop_finding()
            self._panel.wait()
            self._narrow(None)
            self.panes.scrubber.show_hits(())

    @hears(Searched)
    def _on_searched(self, message: Searched) -> None:
        if message.wish != self._panel.wish or self._asked.question:
            return
        is_elsewhere = self._panel.show(message.found)
        found = self._panel.hits.found
        self.panes.scrubber.show_hits(found.steps)
        if found.steps or message.found.searched >= 1:
            self._narrow(found.steps)
        if is_elsewhere:
            self._go_to_hit(self._panel.row)

    @hears(IndexGrew)
    def _on_index_grew(self, _message: IndexGrew) -> None:
        wish = self._panel.wish
        if wish.text and self._asked.words:
            if self._asked.question:
                self._find_where(wish)
            else:
                self._searching.search(wish, self._asked.words)

    @hears(reading.RunGrew)
    def _on_run_grew(self, _message: reading.RunGrew) -> None:
        if self._opened_at is not None:
            self._searching.fill()

    @hears(StepsFound)
    def _on_steps_found(self, message: StepsFound) -> None:
        if message.text != self._panel.wish.text:
            return
        panel, narrowed = self._panel, self.panes.timeline.narrowed
        if message.first and (panel.hits.is_old or message.first != len(panel.hits.found.steps)):
            return  # of a search that another one has taken the place of
        if not message.first:
            panel.hits.is_old = True  # it was asked anew
        panel.add(message.steps, searching=not message.ended, is_complete=message.is_complete)
        if not message.first or narrowed is None:
            self._narrow(panel.hits.found.steps)
        else:
            narrowed.add(message.steps)
            self._show_narrowed(narrowed)
        self.panes.scrubber.show_hits(panel.hits.found.steps, as_spans=True)
        self._land(message)

    def _land(self, message: StepsFound) -> None:
        """Go to the first step found from where the search began, once; without one, to the last before."""
        begun = self.time.number if self._opened_at is None else self._opened_at
        later = next((step for step in message.steps if step >= begun), None)
        if later is None and message.ended:
            later = next(reversed(self._panel.hits.found.steps), None)
        if later is not None and not self._has_landed:
            self._has_landed = True
            self._go_to_step(later)

    def _find_where(self, wish: Wish) -> None:
        """Look for the steps at which the question holds, and that hold the words beside it."""
        words = self._asked.words
        among: Among | None = None
        if words:
            self._searching.fill()

            def among(cancelled: Callable[[], bool]) -> tuple[frozenset[int], bool]:
                return self._searching.steps_with(wish, words, cancelled)

        self._past.find_where(wish.text, self._asked, among)

    @hears(NotUnderstood)
    def _on_not_understood(self, message: NotUnderstood) -> None:
        if message.text == self._panel.wish.text:
            self._refuse(message.why, message.position)

    def _refuse(self, why: str, position: int | None) -> None:
        """Say what is wrong with what was typed; the timeline stays as it was before."""
        self._panel.refuse(why, position)
        self.panes.scrubber.show_hits(())

    @hears(FindPanel.ContextTurned)
    def _on_context_turned(self, message: FindPanel.ContextTurned) -> None:
        self._context = max(0, min(self._context + message.steps, _MOST_CONTEXT))
        if self.panes.timeline.narrowed is not None:
            self._narrow(self.panes.timeline.narrowed.steps)

    @hears(FindPanel.HitMoved)
    def _on_hit_moved(self, message: FindPanel.HitMoved) -> None:
        if self._panel.hits.found.are_steps:
            self._go_to_step(self._panel.move_from(self.time.number, message.rows))
            return
        self._go_to_hit(self._panel.move(message.rows))

    @hears(FindPanel.Closed)
    def _on_find_closed(self, message: FindPanel.Closed) -> None:
        back, self._opened_at = self._opened_at, None
        self._panel.remove_class("open")
        self.screen.query_one(FooterRow).show_context(DEBUGGER)
        self.panes.timeline.focus()
        if message.stay:
            self._panel.move(0)
        else:
            self._forget_hits()
            if back is not None:
                self.time.go(back)

    # What other features show as found.

    def show_found(self, steps: Sequence[int], step: int, watch: int | None = None) -> None:
        """Go to one of some steps that belong together, and let the keys of the search lead to the others.

        Args:
            steps: The steps, in order.
            step: Which to go to.
            watch: The watch that they are of; None for none.
        """
        self._forget_hits()
        self.more_found(steps)
        self.time.go(step)
        self.watch = watch

    def more_found(self, steps: Sequence[int]) -> None:
        """Add later steps to those that are shown as found."""
        self._panel.add(steps, searching=False)
        self._show_hits(self._panel.hits.found.steps)

    @property
    def asked_steps(self) -> Sequence[int] | None:
        """The steps at which the question that was asked holds; None for a search of text, and where there was none."""
        found = self._panel.hits.found
        return found.steps if found.steps and found.are_steps else None

    @property
    def question(self) -> str:
        """The question that was typed last; "" for none."""
        return self._asked.question.strip() if self._panel.wish.text else ""

    def action_edge(self, direction: int) -> None:
        """Go to where what was asked begins to hold, or holds for the last time."""
        here = self.time.number
        found = edge_of(self.asked_steps or (), here, direction)
        if found is None:
            self.screen.say(f"it neither begins nor stops holding {'after' if direction > 0 else 'before'} step {here}")
            return
        step, begins, ends = found
        self.time.go(step)
        both = "it holds at this step alone" if begins and ends else ""
        self.screen.say(both or ("here it begins to hold" if begins else "after this step it stops holding"))

    # Inside.

    def _show_hits(self, steps: Sequence[int] | None) -> None:
        self.panes.scrubber.show_hits(steps, as_spans=self.asked_steps is not None)
        self.panes.share()

    def _go_to_hit(self, row: HitRow | None) -> None:
        """Go to the step of a hit, and to the value or call in it that was found."""
        if row is None:
            return
        hit = row.hit
        if hit.call is None and not (hit.where == "state" and hit.path):
            self._go_to_step(hit.step)
        else:
            self.go_to_place(Place(hit.step, hit.call, hit.path, is_outcome=hit.where == "result"))

    def _narrow(self, steps: Sequence[int] | None) -> None:
        """Show in the timeline only some steps and those beside them; None for all."""
        self._show_narrowed(None if steps is None else Narrowed(self._context, self.model.last).add(steps))

    def _show_narrowed(self, narrowed: Narrowed | None) -> None:
        found = self._panel.hits.found
        self.panes.narrow(narrowed, self._panel.wish.text, is_complete=found.is_complete)

    def _go_to_step(self, step: int | None) -> None:
        if step is not None and step != self.time.number:
            self.time.go(step)

    def _stop_finding(self) -> None:
        self._past.stop_finding()
        if self._searches is not None:
            self._searches.stop()

    def _forget_hits(self) -> None:
        self.watch = None
        self._stop_finding()
        self._panel.forget()
        self._asked = Asked()
        self._narrow(None)
        self._show_hits(None)
        self.screen.refresh_footer()
