"""Finding: the panel, the searches that it asks for, and the keys that go from one of the steps found to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from agent_tt_tui.feature import hears
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.keymaps import DEBUGGER, FIND
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.past_reading import StepsFound
from agent_tt_tui.screens.debugger.time import AskWhere
from agent_tt_tui.screens.searching import IndexGrew, NotUnderstood, Searched, Searching
from agent_tt_tui.viewmodel.past.blame import Place
from agent_tt_tui.viewmodel.past.finding import StepHit, edge_of
from agent_tt_tui.widgets.debugger.find_panel import FindPanel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt_tui.screens.debugger.features.blame import WhoWrote
    from agent_tt_tui.screens.debugger.past_reading import PastReading
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.viewmodel.past.finding import HitRow


class Find(DebuggerFeature):
    """Searches the run for texts, and for the steps at which a question holds; other features show theirs as found."""

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
        if command_id in {"find.next", "find.previous"} and not self._panel.hits.found.rows:
            return "nothing was searched for yet: / searches"
        if command_id.startswith("time.edge") and self.asked_steps is None:
            return "no question was asked yet: / and ? ask one"
        return None

    def escape(self) -> bool:
        """Forget what was found; a value's way back, which may have led on from it, is left first."""
        if not self._panel.hits.found.rows or self._who_wrote.pane.is_open:
            return False
        self._forget_hits()
        return True

    def action_find(self) -> None:
        """Open the find panel."""
        self._opened_at = self.time.number
        self._panel.add_class("open")
        self._panel.open()
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
        self.watch = None
        self._panel.begin(searching=bool(wish.text))
        if wish.question is not None:
            self._find_where(wish.text, wish.question)
        elif wish.text:
            self._past.stop_finding()
            self._searching.search(wish)
        else:
            self._stop_finding()
            self.panes.scrubber.show_hits(())

    @hears(Searched)
    def _on_searched(self, message: Searched) -> None:
        if message.wish != self._panel.wish:
            return
        is_elsewhere = self._panel.show(message.found)
        self.panes.scrubber.show_hits(self._panel.hits.found.steps)
        if is_elsewhere:
            self._go_to_hit(self._panel.row)

    @hears(IndexGrew)
    def _on_index_grew(self, _message: IndexGrew) -> None:
        wish = self._panel.wish
        if wish.text and wish.question is None:
            self._searching.search(wish)

    @hears(reading.RunGrew)
    def _on_run_grew(self, _message: reading.RunGrew) -> None:
        if self._opened_at is not None:
            self._searching.fill()

    @hears(StepsFound)
    def _on_steps_found(self, message: StepsFound) -> None:
        if message.text != self._panel.wish.text:
            return
        panel = self._panel
        is_first = panel.hits.is_old or not panel.hits.found.rows
        panel.add(message.hits, searching=not message.ended)
        self.panes.scrubber.show_hits(panel.hits.found.steps, as_spans=True)
        if is_first and message.hits:
            panel.hits.move_to(0)
            self._go_to_hit(panel.row)

    def _find_where(self, text: str, question: str) -> None:
        """Look for the steps at which a question holds; the question mark alone asks nothing yet."""
        if question.strip():
            self._past.find_where(text, question)
        else:
            self._stop_finding()
            self._panel.refuse("what is to hold: state.budget < 0, changed(state.plan), error", len(text))

    @hears(NotUnderstood)
    def _on_not_understood(self, message: NotUnderstood) -> None:
        if message.text == self._panel.wish.text:
            self._panel.refuse(message.why, message.position)
            self.panes.scrubber.show_hits(())

    @hears(FindPanel.HitMoved)
    def _on_hit_moved(self, message: FindPanel.HitMoved) -> None:
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

    def show_found(self, hits: Sequence[StepHit], step: int, watch: int | None = None) -> None:
        """Go to one of some steps that belong together, and let the keys of the search lead to the others.

        Args:
            hits: The steps, in order.
            step: Which to go to.
            watch: The watch that they are of; None for none.
        """
        self._forget_hits()
        self.more_found(hits)
        self._panel.move(next((at for at, hit in enumerate(hits) if hit.step == step), 0))
        self.time.go(step)
        self.watch = watch

    def more_found(self, hits: Sequence[StepHit]) -> None:
        """Add later steps to those that are shown as found."""
        self._panel.add(hits, searching=False)
        self._show_hits(self._panel.hits.found.steps)

    @property
    def asked_steps(self) -> Sequence[int] | None:
        """The steps at which the question that was asked holds; None for a search of text, and where there was none."""
        found = self._panel.hits.found
        return found.steps if found.rows and isinstance(found.rows[0].hit, StepHit) else None

    @property
    def question(self) -> str:
        """The question that was typed last; "" for none."""
        return (self._panel.wish.question or "").strip()

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
        if isinstance(hit, StepHit) or (hit.call is None and not (hit.where == "state" and hit.path)):
            self._go_to_step(hit.step)
        else:
            self.go_to_place(Place(hit.step, hit.call, hit.path, is_outcome=hit.where == "result"))

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
        self._show_hits(None)
        self.screen.refresh_footer()
