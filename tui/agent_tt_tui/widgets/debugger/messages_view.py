"""The conversation in the state after a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import get
from agent_tt_tui.look import look_of
from agent_tt_tui.viewmodel.values.pieces import TextLine
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt_tui.viewmodel.calls.conversation import Turn


class MessagesView(TextView):
    """The messages of a state, those that are new marked."""

    HELP = "The conversation in the state: h and l fold and unfold tool calls and what repeats."

    def __init__(self) -> None:
        super().__init__(id="messages-view")
        self._turns: Sequence[Turn] = ()
        self._note = ""
        self._path: Path | None = None

    @property
    def chosen(self) -> Path | None:
        """Where the message under the cursor is in the state, in wire coordinates; None where there is no one."""
        item = self._lines[self.cursor].item if 0 <= self.cursor < len(self._lines) else None
        return None if self._path is None or item is None else (*self._path, item)

    def show(self, state: Wire, changes: Sequence[Change], note: str = "", *, keep_cursor: bool = False) -> None:
        """Show a state's conversation, its end in view.

        Args:
            state: The state.
            changes: What changed in it.
            note: Stands in place of the rows: why there are none.
            keep_cursor: Whether the cursor stays at its message.
        """
        from agent_tt.providers.chat import conversation_in
        from agent_tt_tui.viewmodel.calls.conversation import turns_of

        before = self.chosen
        path = self._path = None if note else conversation_in(state)
        self._turns, self._note = (), note or "no list of messages in this state"
        if path is not None:
            items = get(state, path)
            depth = len(path)
            new = {
                change.where[depth] for change in changes if change.where[:depth] == path and len(change.where) > depth
            }
            if isinstance(items, list):
                self._turns = turns_of(items, {step for step in new if isinstance(step, int)})
        self.lay_out_again()
        places = (row for row, line in enumerate(self._lines) if before is not None and line.item == before[-1])
        self.cursor = next(places, self.line_count - 1) if keep_cursor else self.line_count - 1
        self.reveal(self.cursor)

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out the conversation, or say that there is none."""
        from agent_tt_tui.viewmodel.calls.conversation import conversation_lines

        if not self._turns:
            return [TextLine(((f" {self._note}", "note"),))]
        return list(conversation_lines(self._turns, columns, look_of(self).glyphs, self.toggled))
