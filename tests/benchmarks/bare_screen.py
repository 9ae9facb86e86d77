"""A bare Textual app with a screen like the debugger's, to measure beside it: a list, and three panes of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App
from textual.containers import Horizontal, Vertical
from textual.widgets import OptionList, Static

if TYPE_CHECKING:
    from textual.app import ComposeResult

ROWS = 200


class Bare(App[None]):
    """Nothing is read or compared: what the panes show is made up."""

    CSS = """
    OptionList { width: 48; height: 1fr; border: none; }
    #state { height: 1fr; } #diff { height: 10; } #strip, #head, #foot { height: 1; }
    """

    def compose(self) -> ComposeResult:
        """Lay out a list at the left, two panes beside it, and three rows."""
        yield Static("head", id="head")
        with Horizontal():
            yield OptionList(*(f"{number:>6}  step of a run  {number * 7 % 90} ms" for number in range(ROWS)))
            with Vertical():
                yield Static(id="state")
                yield Static(id="diff")
        yield Static(id="strip")
        yield Static("j k move", id="foot")

    def on_key(self, event: object) -> None:
        """Move by the keys of the debugger."""
        rows = self.query_one(OptionList)
        match getattr(event, "key", ""):
            case "j" | "right":
                rows.action_cursor_down()
            case "k" | "left":
                rows.action_cursor_up()
            case _:
                pass

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the row everywhere."""
        number = event.option_index
        self.query_one("#state", Static).update("\n".join(f"value {line}   {number * line}" for line in range(26)))
        self.query_one("#diff", Static).update("\n".join(f"~ value {line}  {number} to {line}" for line in range(9)))
        self.query_one("#strip", Static).update(f"{number}/{ROWS}")


if __name__ == "__main__":
    Bare().run()
