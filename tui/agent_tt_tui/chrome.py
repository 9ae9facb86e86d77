"""The frame that all screens share: header row, panes and their title rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from textual.containers import Vertical
from textual.reactive import reactive

from agent_tt._dataclass import dataclass
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, width

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.style import Style
    from textual import events
    from textual.geometry import Size
    from textual.timer import Timer
    from textual.widget import Widget

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row

Tone = Literal["muted", "well", "failed", "running", "yours"]
"""How a status is said: the role its glyph and word are drawn with."""

FREE_COLUMNS = 3
"""What stays free between the left and the right part of the header."""

_FRAMES_PER_SECOND = 4


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact at the right end of the header."""

    text: str
    drop: int | None = None
    """When it is dropped for lack of room: the lowest number first; `None` is dropped last of all."""


class HeaderState(NamedTuple):
    """What the header says."""

    name: str
    status_glyph: str = ""
    status: str = ""
    tone: Tone = "muted"
    """`running` animates the glyph."""
    cause: str = ""
    """Why it is so: `search_docs timed out`."""
    cause_step: int | None = None
    """The step where that was, shown bold after ` at `."""
    chip: str = ""
    """What the user has pending: `± 2 edits after 1`."""
    facts: tuple[Fact, ...] = ()
    """In the order in which they stand."""


class Motion:
    """The timer that animates the glyphs of running things; there is one only while something runs."""

    def __init__(self, widget: Widget, move: Callable[[], object]) -> None:
        """Begin without a timer.

        Args:
            widget: Whose glyphs move.
            move: Shows the next of them.
        """
        self._widget, self._move = widget, move
        self._timer: Timer | None = None

    def follow(self, *, runs: bool) -> bool:
        """Start or stop the animation; return whether it runs now.

        Args:
            runs: Whether something runs.
        """
        widget = self._widget
        moves = runs and widget.is_attached and widget.app.animation_level != "none"
        if moves and self._timer is None:
            self._timer = widget.set_interval(1 / _FRAMES_PER_SECOND, self._move)
        elif not moves and self._timer is not None:
            self._timer.stop()
            self._timer = None
        return moves


class HeaderRow(RowWidget):
    """Row 0: name, status, cause and pending edits at the left; facts at the right, dropped where there is no room."""

    HELP = "The run, how it ended and why."

    state: reactive[HeaderState] = reactive(HeaderState(""))
    frame: reactive[int] = reactive(-1)

    def __init__(self, state: HeaderState | None = None, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._motion = Motion(self, self._next_frame)
        if state is not None:
            self.set_reactive(HeaderRow.state, state)

    def on_mount(self) -> None:
        """Start moving where something runs."""
        self.watch_state()

    def watch_state(self) -> None:
        """Move the running glyph while something runs, and nothing else ever."""
        if not self._motion.follow(runs=self.state.tone == "running"):
            self.frame = -1

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        row = self._left(styles)
        if row.cells > columns - 1 and self.state.chip:
            row = self._left(styles, cause=False)  # what is pending must be seen; the cause is also on its step
        texts = facts_that_fit(self.state.facts, columns - 1 - FREE_COLUMNS - row.cells)
        if texts:
            separator = f" {look_of(self).glyphs.dot} "
            row.right(self.new_row().add(separator.join(map(clean, texts)), styles.muted), columns - 1)
        return row

    def _left(self, styles: Palette, *, cause: bool = True) -> Row:
        state, glyphs = self.state, look_of(self).glyphs
        why = state.cause if cause else ""
        tones: dict[Tone, Style] = {
            "muted": styles.muted,
            "well": styles.well,
            "failed": styles.failed,
            "running": styles.running,
            "yours": styles.yours,
        }
        row = self.new_row().add(" ").add(clean(state.name), styles.strong)
        if state.status:
            glyph = glyphs.running[self.frame % len(glyphs.running)] if state.tone == "running" else state.status_glyph
            row.add("  ").add(f"{glyph} {state.status}".lstrip(), tones[state.tone])
        if why:
            row.add("  ").add(clean(why), styles.muted)
        if state.cause_step is not None:
            row.add(" at " if why else "  at ", styles.muted).add(str(state.cause_step), tones[state.tone])
        if state.chip:
            row.add("  ").add(f" {state.chip} ", styles.chip)
        return row

    def _next_frame(self) -> None:
        self.frame += 1


def facts_that_fit(facts: tuple[Fact, ...], columns: int) -> list[str]:
    """Drop facts until the rest, joined by three columns each, fits.

    Args:
        facts: In the order in which they stand.
        columns: The room there is.
    """
    left = list(facts)
    while left and sum(width(clean(fact.text)) for fact in left) + 3 * (len(left) - 1) > columns:
        left.remove(min(left, key=lambda fact: (fact.drop is None, fact.drop or 0)))
    return [fact.text for fact in left]


class PaneTitle(RowWidget):
    """The title row of a pane; a subclass may draw other things at its left, such as tabs."""

    title: reactive[str] = reactive("")
    detail: reactive[str] = reactive("")
    """Stands muted after the title."""
    hint: reactive[str] = reactive("")
    """Stands muted at the right edge."""
    busy: reactive[str] = reactive("")
    """What is being waited for, said in place of the detail: `reading 706`."""
    active: reactive[bool] = reactive(default=False)
    """Whether the pane has the focus."""

    def __init__(self, title: str = "", *, detail: str = "", hint: str = "", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.set_reactive(PaneTitle.title, title)
        self.set_reactive(PaneTitle.detail, detail)
        self.set_reactive(PaneTitle.hint, hint)

    def draw_left(self, row: Row, styles: Palette) -> None:
        """Add what stands at the left, from column 1 on."""
        glyphs = look_of(self).glyphs
        row.add(clean(self.title).upper(), styles.title if self.active else styles.title_blurred)
        if self.busy:
            row.add("  ").add(f"{glyphs.still} {clean(self.busy)} {glyphs.cut}", styles.note)
        elif self.detail:
            row.add("  ").add(clean(self.detail), styles.muted)

    def draw_right(self, row: Row, styles: Palette) -> None:
        """Add what stands at the right edge."""
        row.add(clean(self.hint), styles.muted)

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row: focus in column 0, left part, right part, one free column."""
        row = self.new_row().add(look_of(self).glyphs.bar if self.active else " ", styles.bar_focused)
        self.draw_left(row, styles)
        right = self.new_row()
        self.draw_right(right, styles)
        if not right.cells:
            return row
        # What is cut at the left must not touch what stands at the right.
        return row.right(self.new_row().add("  ").join(right), max(0, columns - 1))


class Pane(Vertical):
    """A title row above its content; the title knows whether the focus is inside."""

    def __init__(
        self,
        title: PaneTitle,
        *content: Widget,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(title, *content, id=id, classes=classes)
        self.title_row = title
        """The title row."""

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:  # noqa: ARG002, FBT001, FBT002 - Textual's
        """Take a size; a pane scrolls nothing, so that no other layout follows from what is in it."""
        return super()._size_updated(size, virtual_size, container_size, layout=False)

    def on_mount(self) -> None:
        """Keep a title that has been told nothing in step with the focus."""
        self.title_row.active = self.has_focus_within

    def on_descendant_focus(self, _event: events.DescendantFocus) -> None:
        """Show that the focus is here."""
        self.title_row.active = True

    def on_descendant_blur(self, _event: events.DescendantBlur) -> None:
        """Show that the focus has gone."""
        self.title_row.active = False
