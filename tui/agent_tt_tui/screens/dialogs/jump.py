"""Jumping: labels of one or two letters at all that can be gone to on the screen; typing one goes there."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from rich.segment import Segment
from textual.strip import Strip

from agent_tt._dataclass import dataclass
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.keymaps import JUMP
from agent_tt_tui.lines import LineView
from agent_tt_tui.row import RowWidget
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.widgets.debugger.inspector_rows import TabsTitle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual import events
    from textual.app import ComposeResult

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row

__all__ = ["JumpScreen", "Target", "labels", "targets_of"]

LETTERS: Final = "asdfghjklqwertyuiopzxcvbnm"
"""Letters of labels, the easiest to reach first."""


@dataclass(frozen=True, slots=True)
class Target:
    """One place that can be gone to.

    Attributes:
        x: The column of its label.
        y: The row.
        go: Goes there.
    """

    x: int
    y: int
    go: Callable[[], object]


def labels(count: int) -> list[str]:
    """So many labels, none of which begins another: of one letter where there are enough, else of two."""
    if count <= len(LETTERS):
        return list(LETTERS[:count])
    return ["".join(pair) for pair in product(LETTERS, repeat=2)][:count]


def targets_of(screen: CommandScreen[object]) -> list[Target]:
    """What can be gone to on a screen, from top to bottom in one pane after the other."""
    found: list[Target] = []
    for widget, region, clip in screen.shown_widgets():
        if screen not in widget.ancestors:
            continue  # of the screen below a dialog
        shown = region.intersection(clip)
        if isinstance(widget, LineView):
            found += (Target(shown.x, y, go) for y, go in _rows(widget, region.y, shown.y, shown.bottom))
        elif isinstance(widget, TabsTitle):
            found += (Target(region.x + x, region.y, go) for x, _, go in widget.tabs_shown())
    return sorted(found, key=lambda target: (target.x, target.y))


def _rows(view: LineView, top: int, first: int, bottom: int) -> Iterator[tuple[int, Callable[[], object]]]:
    for y in range(first, bottom):
        index = y - top + view.scroll_offset.y
        if index < view.line_count and view.can_point_at(index):

            def go(index: int = index) -> None:
                view.focus()
                view.point_at(index)

            yield y, go


class _Picture(RowWidget):
    """The screen as it was, with the labels that what was typed may still become."""

    def __init__(self, strips: Sequence[Strip], targets: Sequence[tuple[str, Target]]) -> None:
        super().__init__()
        self._strips, self._targets, self.typed = strips, targets, ""

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw nothing: whole strips are at hand."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """Draw a row of the screen, muted, and its labels."""
        styles = self.canvas.palette
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(self.size.width)
        for label, target in self._targets:
            if target.y == y and label.startswith(self.typed):
                rest = label[len(self.typed) :]
                end = target.x + len(rest)
                new = Strip([Segment(rest, styles.chip)], len(rest))
                strip = Strip.join([strip.crop(0, target.x), new, strip.crop(end, strip.cell_length)])
        return strip


class JumpScreen(CommandScreen[Target | None]):
    """Stands over a screen until a label was typed, and returns its place; `None` where there is to be none."""

    CONTEXT = JUMP
    AUTO_FOCUS = ""
    HELP = "Type the letters that stand at a row or a tab to go there; esc stays where you were."

    def __init__(self, below: CommandScreen[object]) -> None:
        """Label what is on a screen.

        Args:
            below: The screen, which is shown as it is now.
        """
        super().__init__()
        self._columns = below.size.width
        places = targets_of(below)
        self.targets = list(zip(labels(len(places)), places, strict=False))
        """The places, each with its label."""
        rows = below.size.height - below.query_one(FooterRow).size.height
        self._picture = _Picture(below.drawn_rows()[: max(0, rows)], self.targets)

    def compose(self) -> ComposeResult:
        """Lay out the picture above the footer."""
        yield self._picture
        yield self.footer()

    def on_mount(self) -> None:
        """Say what is to be done."""
        self._picture.styles.height = "1fr"
        if not self.targets:
            self.say("there is nothing to go to", None)

    def on_key(self, event: events.Key) -> None:
        """Take a letter of a label; go where it is whole."""
        typed = self._picture.typed + (event.character or "").lower()
        fitting = [(label, target) for label, target in self.targets if label.startswith(typed)]
        if not event.is_printable or not fitting:
            return
        event.stop()
        event.prevent_default()
        self._picture.typed = typed
        if fitting[0][0] == typed:
            self.dismiss(fitting[0][1])
        else:
            self._picture.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Close when the width changes: the picture would no longer match the screen below."""
        if event.size.width not in (0, self._columns):
            self.dismiss(None)

    def action_escape(self) -> None:
        """Stay where one was."""
        self.dismiss(None)

    def action_back(self) -> None:
        """The same."""
        self.dismiss(None)
