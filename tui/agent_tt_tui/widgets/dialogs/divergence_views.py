"""Divergences of a replay: the list of them, all that is known of one, and the debugger's pane for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.keymaps.shared import ESCAPE
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.widgets.drawing import add_pieces
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from agent_tt.replaying.divergence import Finding
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.values.pieces import TextLine

_FREE = 2
"""Columns of a list that are not its lines': the cursor bar's and the one at the right edge."""

_WIDE_TITLE = 64


class DivergenceList(RowList["Finding"]):
    """The divergences, one a line, in the order in which they were found."""

    HELP = "What differs from the recording: enter goes to the step and the call."

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(findings, id="divergences")

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one divergence."""
        from agent_tt_tui.viewmodel.running.replayed import divergence_pieces

        glyphs = look_of(self).glyphs
        return add_pieces(Row(glyphs.cut), divergence_pieces(self.rows[index], glyphs), styles).strip(width)


class DivergenceView(TextView):
    """All that is known of one divergence."""

    QUIET = True
    HELP = "A divergence: what was asked instead, where, which words changed, and the recorded calls most like it."

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._finding: Finding | None = None

    def show(self, finding: Finding | None) -> None:
        """Show a divergence."""
        self._finding = finding
        self.lay_out_again()
        self.move_to(0)
        self.reveal(0)

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out what is known."""
        from agent_tt_tui.viewmodel.running.replayed import divergence_lines

        return [] if self._finding is None else list(divergence_lines(self._finding, columns, look_of(self).glyphs))


class DivergenceTitle(PaneTitle):
    """`DIVERGENCE 2 of 3  changed request`, and at the right the keys that go on and close."""

    findings: Sequence[Finding] = ()
    index: int = 0

    def draw_left(self, row: Row, styles: Palette) -> None:
        """Add which divergence it is, and its kind."""
        row.add("DIVERGENCE", styles.title if self.active else styles.title_blurred)
        if self.findings:
            row.add(f" {self.index + 1} of {len(self.findings)}", styles.muted)
            row.add(f"  {self.findings[self.index].kind}", styles.failed)

    def draw_right(self, row: Row, styles: Palette) -> None:
        """Add the keys, with words where there is room."""
        look, wide = look_of(self), self.size.width >= _WIDE_TITLE
        if len(self.findings) > 1:
            both = look.key(DEBUGGER.command("time.error_previous"), DEBUGGER.command("time.error_next"))
            row.add(both, styles.key).add(" next  " if wide else " ", styles.muted)
        row.add(look.key(ESCAPE), styles.key).add(" close" if wide else "", styles.muted)


class DivergencePane(Pane):
    """The divergence that the debugger landed on; it stands in the place of the diff until it is closed."""

    def __init__(self) -> None:
        self.divergence_title = DivergenceTitle("Divergence")
        self.lines = DivergenceView(id="divergence-lines")
        super().__init__(self.divergence_title, self.lines, id="divergence")
        self.findings: Sequence[Finding] = ()
        """The divergences of the replay; empty while none is shown."""
        self.index = 0
        """Which of them is shown."""

    @property
    def finding(self) -> Finding | None:
        """The divergence that is shown."""
        return self.findings[self.index] if self.findings else None

    def needed(self, width: int) -> int:
        """How many rows all of it takes at a width, title included."""
        return 1 + len(self.lines.lay_out(max(1, width - _FREE)))

    def show(self, findings: Sequence[Finding], index: int) -> None:
        """Show one of some divergences; none where there are none."""
        self.findings, self.index = findings, index
        self.divergence_title.findings, self.divergence_title.index = findings, index
        self.divergence_title.refresh()
        self.lines.show(self.finding)
