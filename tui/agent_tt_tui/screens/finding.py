"""Finding in the debugger: the panel, the searches that it asks for, and where the hits lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from agent_tt_tui.contexts import DEBUGGER, FIND
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.screens import run_reading as reading
from agent_tt_tui.screens.past_reading import StepsFound
from agent_tt_tui.screens.searching import IndexGrew, NotUnderstood, Searched, Searching
from agent_tt_tui.screens.watching import WatchingScreen
from agent_tt_tui.viewmodel.blame import Place
from agent_tt_tui.viewmodel.finding import StepHit
from agent_tt_tui.widgets.find_panel import FindPanel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt_tui.viewmodel.finding import HitRow

__all__ = ["FindingScreen"]


class FindingScreen(WatchingScreen):
    """One run, in which texts are searched for, and the steps at which a question holds."""

    _found_from: int | None = None
    """The step at which the find panel was opened; None while it is closed."""

    _searching: Searching | None = None

    @property
    def searching(self) -> Searching:
        """What searches the run."""
        if self._searching is None:
            self._searching = Searching(self, self.model.source, [self.model.run.id])
        return self._searching

    def on_unmount(self) -> None:
        """Let go of the index."""
        if self._searching is not None:
            self._searching.close()

    def blocked(self, command_id: str) -> str | None:
        """Say why there is no next hit."""
        if command_id in {"find.next", "find.previous"} and not self.find_panel.hits.found.rows:
            return "nothing was searched for yet: / searches"
        return super().blocked(command_id)

    def action_escape(self) -> None:
        """Leave the hits of a search, or what else is open."""
        if self.find_panel.hits.found.rows and not self.blame.is_open:
            self._forget_hits()
        else:
            super().action_escape()

    def action_find(self) -> None:
        """Open the find panel."""
        self._found_from = self.number
        self.find_panel.add_class("open")
        self.find_panel.open()
        self.query_one(FooterRow).show_context(FIND)
        self._show_hits(self.find_panel.hits.found.steps)
        self.searching.fill()

    def action_find_next(self, direction: int) -> None:
        """Go to the next or previous step with a hit."""
        self._go_to_step(self.find_panel.move_from(self.number, direction))

    @on(FindPanel.Asked)
    def _on_asked(self, message: FindPanel.Asked) -> None:
        wish = message.wish
        self.forget_watch()
        self.find_panel.begin(searching=bool(wish.text))
        if wish.question is not None:
            self._find_where(wish.text, wish.question)
        elif wish.text:
            self.past.stop_finding()
            self.searching.search(wish)
        else:
            self._stop_finding()
            self.scrubber.show_hits(())

    @on(Searched)
    def _on_searched(self, message: Searched) -> None:
        if message.wish != self.find_panel.wish:
            return
        is_elsewhere = self.find_panel.show(message.found)
        self.scrubber.show_hits(self.find_panel.hits.found.steps)
        if is_elsewhere:
            self._go_to_hit(self.find_panel.row)

    @on(IndexGrew)
    def _on_index_grew(self) -> None:
        self._search_again()

    @on(reading.RunGrew)
    def _on_run_grew_while_finding(self) -> None:
        if self._found_from is not None:
            self.searching.fill()

    def _search_again(self) -> None:
        wish = self.find_panel.wish
        if wish.text and wish.question is None:
            self.searching.search(wish)

    @on(StepsFound)
    def _on_steps_found(self, message: StepsFound) -> None:
        if message.text != self.find_panel.wish.text:
            return
        panel = self.find_panel
        is_first = panel.hits.is_old or not panel.hits.found.rows
        panel.add(message.hits, searching=not message.ended)
        self.scrubber.show_hits(panel.hits.found.steps, as_spans=True)
        if is_first and message.hits:
            panel.hits.move_to(0)
            self._go_to_hit(panel.row)

    def _find_where(self, text: str, question: str) -> None:
        """Look for the steps at which a question holds; the question mark alone asks nothing yet."""
        if question.strip():
            self.past.find_where(text, question)
        else:
            self._stop_finding()
            self.find_panel.refuse("what is to hold: state.budget < 0, changed(state.plan), error", len(text))

    @on(NotUnderstood)
    def _on_not_understood(self, message: NotUnderstood) -> None:
        if message.text == self.find_panel.wish.text:
            self.find_panel.refuse(message.why, message.position)
            self.scrubber.show_hits(())

    @on(FindPanel.HitMoved)
    def _on_hit_moved(self, message: FindPanel.HitMoved) -> None:
        self._go_to_hit(self.find_panel.move(message.rows))

    @on(FindPanel.Closed)
    def _on_find_closed(self, message: FindPanel.Closed) -> None:
        back, self._found_from = self._found_from, None
        self.find_panel.remove_class("open")
        self.query_one(FooterRow).show_context(DEBUGGER)
        self.timeline.focus()
        if message.stay:
            self.find_panel.move(0)
        else:
            self._forget_hits()
            if back is not None:
                self.go(back)

    def show_found(self, hits: Sequence[StepHit], step: int) -> None:
        """Go to one of some steps that belong together, as if they were found by a search."""
        self._forget_hits()
        self.find_panel.add(hits, searching=False)
        self._show_hits(self.find_panel.hits.found.steps)
        self.find_panel.move(next((at for at, hit in enumerate(hits) if hit.step == step), 0))
        self.go(step)

    def asked_steps(self) -> Sequence[int] | None:
        """The steps at which the question that was asked holds; None for a search of text, and where there was none."""
        found = self.find_panel.hits.found
        return found.steps if found.rows and isinstance(found.rows[0].hit, StepHit) else None

    def more_found(self, hits: Sequence[StepHit]) -> None:
        """Add later steps to those that are shown as found."""
        self.find_panel.add(hits, searching=False)
        self._show_hits(self.find_panel.hits.found.steps)

    def question(self) -> str:
        """The question that was typed last; "" for none."""
        return (self.find_panel.wish.question or "").strip()

    def _show_hits(self, steps: Sequence[int] | None) -> None:
        self.scrubber.show_hits(steps, as_spans=self.asked_steps() is not None)
        self.share_screen()

    def _go_to_hit(self, row: HitRow | None) -> None:
        """Go to the step of a hit, and to the value or call in it that was found."""
        if row is None:
            return
        hit = row.hit
        if isinstance(hit, StepHit) or (hit.call is None and not (hit.where == "state" and hit.path)):
            self._go_to_step(hit.step)
        else:
            self._show_place(Place(hit.step, hit.call, hit.path, is_outcome=hit.where == "result"))

    def _go_to_step(self, step: int | None) -> None:
        if step is not None and step != self.number:
            self.go(step)

    def _stop_finding(self) -> None:
        self.past.stop_finding()
        if self._searching is not None:
            self._searching.stop()

    def _forget_hits(self) -> None:
        self.forget_watch()
        self._stop_finding()
        self.find_panel.forget()
        self._show_hits(None)
        self.refresh_footer()
