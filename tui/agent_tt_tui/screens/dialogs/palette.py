"""The palette: everything that can be done on the screen below, found by words, in groups, with its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Input

from agent_tt._dataclass import dataclass
from agent_tt_tui.dialog import Dialog
from agent_tt_tui.keymaps import PALETTE_LIST
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.text import clean
from agent_tt_tui.text import width as columns_of
from agent_tt_tui.viewmodel.offers import GROUPS, SIGNS, Offer, found, hit_of, without_sign
from agent_tt_tui.viewmodel.values.pieces import wrap_text
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.strip import Strip

    from agent_tt_tui.palette import Palette

_LABEL = 44
"""The column up to which labels are filled, so that what is said beside them begins in one column."""

_ABOUT_ROWS = 2
_INDENT, _BEFORE_KEYS, _EDGES = 2, 2, 2
"""Columns before a label, before its keys, and of a list that are not its rows'."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A row of the list: a group's title, an offer, or, with neither, a free row."""

    title: str = ""
    offer: Offer | None = None


class OfferList(LineView):
    """What was found, in groups; the cursor stands on offers alone."""

    def __init__(self) -> None:
        super().__init__()
        self._offers: Sequence[Offer] = ()
        self._lines: list[_Line] = []
        self._typed = ""

    def show_offers(self, offers: Sequence[Offer], typed: str) -> None:
        """Show what was found, with the cursor on the first."""
        self._offers, self._typed = offers, typed
        self._lay_out()
        self.move_to(1)
        self.scroll_to(y=0, animate=False, immediate=True)

    def _lay_out(self) -> None:
        """Lay out the groups, with a free row between them, but where all of them fit without these alone."""
        groups = len({offer.group for offer in self._offers})
        rows, height = len(self._offers) + groups, self.size.height
        free = [] if rows <= height < rows + groups - 1 else [_Line()]
        self._lines, group = [], ""
        for offer in self._offers:
            if offer.group != group:
                self._lines += [*(free if self._lines else []), _Line(title=GROUPS[offer.group])]
                group = offer.group
            self._lines.append(_Line(offer=offer))
        self.refresh_lines_data()

    def on_resize(self) -> None:
        """Lay out for the new height; the cursor stays on its offer."""
        offer = self.current
        self._lay_out()
        at = next((at for at, line in enumerate(self._lines) if line.offer is offer), 1)
        self.move_to(at)
        super().on_resize()

    @property
    def current(self) -> Offer | None:
        """The offer under the cursor."""
        return self._lines[self.cursor].offer if 0 <= self.cursor < len(self._lines) else None

    @property
    def line_count(self) -> int:
        """How many rows there are."""
        return len(self._lines)

    def move_to(self, index: int) -> None:
        """Put the cursor on the offer at a row, or on the next one in the way that it goes."""
        way = 1 if index >= self.cursor else -1
        at = max(0, min(index, len(self._lines) - 1))
        while 0 <= at < len(self._lines) and self._lines[at].offer is None:
            at += way
        if 0 <= at < len(self._lines):
            super().move_to(at)

    @property
    def tells_all(self) -> bool:
        """Whether the row of the offer under the cursor says all that there is to say of it."""
        offer = self.current
        return offer is not None and self._has_room(offer, self.size.width - _EDGES)

    def _has_room(self, offer: Offer, columns: int) -> bool:
        """Whether a row has room for what an offer is called and for what is said of it: both to their end."""
        label, about = clean(offer.label), clean(offer.blocked or offer.detail)
        wanted = _INDENT + columns_of(label)
        if about:
            wanted = max(_LABEL, wanted) + _INDENT + columns_of(about)
        return wanted <= columns - columns_of(offer.keys) - _BEFORE_KEYS

    def next_group(self) -> None:
        """Go to the first offer of the next group; after the last, to the first."""
        after = [at for at, line in enumerate(self._lines) if line.title and at > self.cursor]
        self.move_to(after[0] + 1 if after else 0)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a title, or an offer: its label with what was typed marked, its detail, its keys."""
        line, glyphs = self._lines[index], look_of(self).glyphs
        row = Row(glyphs.cut)
        offer = line.offer
        if offer is None:
            return row.add(line.title.upper(), styles.title_blurred).strip(width)
        muted = styles.muted if offer.blocked else styles.text
        keys = Row(glyphs.cut).add(offer.keys, styles.faint if offer.blocked else styles.key)
        room = width - keys.cells - _BEFORE_KEYS
        label, about = clean(offer.label), clean(offer.blocked or offer.detail)
        hit = hit_of(label, self._typed)
        drawn = Row(glyphs.cut).add(" " * _INDENT)
        if hit is None:
            drawn.add(label, muted)
        else:
            drawn.add(label[: hit[0]], muted).add(label[hit[0] : hit[1]], styles.search_hit).add(label[hit[1] :], muted)
        row.upto_row(drawn, room)
        if about and self._has_room(offer, width):
            row.pad_to(_LABEL).add("  ").add(about, styles.muted)
        return row.right(keys, width).strip(width)


class PaletteTop(RowWidget):
    """How much was found, beside the line that is typed into."""

    words = ""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        return self.new_row().right(self.new_row().add(self.words, styles.muted), max(0, columns - 1))


class PaletteAbout(RowWidget):
    """What the offer under the cursor does, in full, and how the palette is narrowed."""

    offer: Offer | None = None
    is_told: bool = False
    """Whether its row in the list says all of it."""

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw a row."""
        glyphs, row = look_of(self).glyphs, self.new_row().add(" ")
        if y == self.size.height - 1:
            row.add("only ", styles.faint)
            for sign, what in SIGNS.items():
                row.add(sign, styles.key).add(f" {what}   ", styles.muted)
            return row
        offer = self.offer
        if offer is None:
            return row.add("nothing here is called that", styles.note) if y == 0 else row
        if self.is_told:
            return row
        text = "; ".join(filter(None, (offer.label, offer.detail)))
        text = f"{text} ({offer.blocked})" if offer.blocked else text
        rows = list(wrap_text(text, columns - 2, "muted", glyphs.cut, limit=400))
        return add_pieces(row, rows[y], styles) if y < min(len(rows), _ABOUT_ROWS) else row


class PaletteDialog(Dialog[Offer]):
    """Finds one of many offers by words; returns the one that was chosen."""

    CONTEXT = PALETTE_LIST
    AUTO_FOCUS = "Input"
    HELP = "Words for what you want to do: up and down choose, enter does it, esc closes."

    def __init__(self, offers: Callable[[str], Sequence[Offer]]) -> None:
        """Offer things.

        Args:
            offers: Gives all that there is to what was typed; what does not match is left out here.
        """
        super().__init__(classes="palette")
        self._offers = offers
        self._list = OfferList()
        self._top, self._about = PaletteTop(), PaletteAbout()

    def compose_content(self) -> ComposeResult:
        """Yield the input line, the list of commands, and the description of the chosen command."""
        yield Input(placeholder="what do you want to do?", compact=True, classes="dialog-input")
        yield self._top
        yield self._list
        yield self._about

    def on_mount(self) -> None:
        """Show all."""
        self._find("")

    def on_input_changed(self, message: Input.Changed) -> None:
        """Find what was typed."""
        self._find(message.value)

    def _find(self, typed: str) -> None:
        offers = self._offers(typed)
        shown = found(offers, typed)
        self._list.show_offers(shown, typed)
        sign, _ = without_sign(typed)
        of = sum(1 for offer in offers if not sign or offer.sign == sign)
        self._top.words = f"{len(shown)} of {of} {SIGNS.get(sign, '')}".rstrip()
        self._top.refresh()
        self._show_about()

    def _show_about(self) -> None:
        self._about.offer, self._about.is_told = self._list.current, self._list.tells_all
        self._about.refresh()

    def on_resize(self) -> None:
        """Say what has no room now."""
        self.call_after_refresh(self._show_about)

    def on_line_view_cursor_moved(self) -> None:
        """Say what the offer under the cursor does."""
        self._show_about()

    def on_line_view_chosen(self) -> None:
        """Do what was clicked twice."""
        self.action_accept()

    def on_input_submitted(self) -> None:
        """Enter comes through the line itself, after every key that was typed before it."""
        self.action_accept()

    def action_accept(self) -> None:
        """Do the chosen thing; what cannot be done now is said, and nothing else found in its place."""
        offer = self._list.current
        if offer is None:
            self.say("nothing here is called that")
        elif offer.blocked:
            self.say(offer.blocked)
        else:
            self.dismiss(offer)

    def action_move(self, rows: int) -> None:
        """Move the cursor of the list."""
        self._list.move_to(self._list.cursor + rows)

    def action_page(self, pages: int) -> None:
        """Move the cursor by a screen of the list."""
        self._list.action_page(pages)

    def action_group(self) -> None:
        """Go to the next group."""
        self._list.next_group()
