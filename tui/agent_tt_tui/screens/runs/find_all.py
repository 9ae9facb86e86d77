"""Finding in all runs of a store: the hits by run, and the way into the debugger at one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import on

from agent_tt.errors import AgentTTError
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState
from agent_tt_tui.format import short_path
from agent_tt_tui.keymaps import FIND_ALL
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.searching import IndexGrew, NotUnderstood, Searched, Searching
from agent_tt_tui.viewmodel.past.finding import is_question
from agent_tt_tui.widgets.debugger.find_panel import FindInput, FindPanel

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.screens.debugger.screen import DebuggerScreen

_LOOK_SECONDS: Final = 1.0
"""How often it is looked whether there is more to search."""


class FindAllScreen(CommandScreen[None]):
    """A search in everything that the runs of a store recorded."""

    CONTEXT = FIND_ALL
    AUTO_FOCUS = "FindInput"
    HELP = "Find in all runs: hits stand below the name of their run, the best first."

    def __init__(self, source: RunSource, debugger: Callable[[Run, int], DebuggerScreen]) -> None:
        """Search nothing yet.

        Args:
            source: where the runs are.
            debugger: makes the debugger of a run, at a step.
        """
        super().__init__()
        self._source = source
        self._debugger = debugger
        self._searching = Searching(self, source, None)
        self.find_panel = FindPanel(None)

    def compose(self) -> ComposeResult:
        """Lay out header, panel and footer."""
        facts = (Fact(short_path(self._source.path), 2),)
        yield HeaderRow(HeaderState("agent-tt", cause="find in all runs", facts=facts))
        yield self.find_panel
        yield self.footer()

    def on_mount(self) -> None:
        """Bring the index up to date, now and whenever something was recorded."""
        self.find_panel.add_class("open")
        self._searching.fill()
        self.set_interval(_LOOK_SECONDS, self._searching.fill)

    def on_unmount(self) -> None:
        """Let go of the index."""
        self._searching.close()

    def on_screen_resume(self) -> None:
        """Go on typing."""
        self.query_one(FindInput).focus()

    @on(FindPanel.Asked)
    def _on_asked(self, message: FindPanel.Asked) -> None:
        text = message.wish.text
        self.find_panel.begin(searching=bool(text))
        if is_question(message.wish):
            self.find_panel.refuse("questions are asked of one run: open it first", None)
        elif text:
            self._searching.search(message.wish)

    @on(Searched)
    def _on_searched(self, message: Searched) -> None:
        if message.wish == self.find_panel.wish:
            self.find_panel.show(message.found, message.names or {})

    @on(IndexGrew)
    def _on_index_grew(self) -> None:
        wish = self.find_panel.wish
        if wish.text and not is_question(wish):
            self._searching.search(wish)

    @on(NotUnderstood)
    def _on_not_understood(self, message: NotUnderstood) -> None:
        if message.text == self.find_panel.wish.text:
            self.find_panel.refuse(message.why, message.position)

    @on(FindPanel.HitMoved)
    def _on_hit_moved(self, message: FindPanel.HitMoved) -> None:
        self.find_panel.move(message.rows)

    @on(FindPanel.Closed)
    def _on_closed(self, message: FindPanel.Closed) -> None:
        if not message.stay:
            self.app.pop_screen()
        elif (row := self.find_panel.row) is not None:
            self._open(row.hit.run, row.hit.step)

    def _open(self, run_id: str, step: int) -> None:
        try:
            run = self._source.run(run_id)
        except AgentTTError as error:
            self.say(error.message)
            return
        self.app.push_screen(self._debugger(run, step))
