"""The dialog that shows what a replay found: the verdict, each divergence, and what else is worth knowing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt_tui.chrome import PaneTitle
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import REPLAYED
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, show
from agent_tt_tui.viewmodel.running.replayed import remark_lines, verdict
from agent_tt_tui.widgets.dialogs.divergence_views import DivergenceList, DivergenceView
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from agent_tt.replaying.report import ReplayReport
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.values.pieces import TextLine

_TALL_FROM: Final = 30
_LOW_BELOW: Final = 24


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants after a replay.

    Attributes:
        index: The divergence to go to; None for none.
        again: Whether to replay once more.
    """

    index: int | None = None
    again: bool = False


class VerdictRows(RowWidget):
    """How the replay went, and below it how the agent ended."""

    DEFAULT_CSS = "VerdictRows { height: 2; }"

    def __init__(self, report: ReplayReport) -> None:
        super().__init__()
        self._verdict = verdict(report)

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        row, glyphs, said = self.new_row(), look_of(self).glyphs, self._verdict
        if y == 0:
            row.add(f"{said.glyph(glyphs)} ", getattr(styles, said.role))
            return row.add(show(said.text, columns - row.cells, glyphs.cut), styles.strong)
        return row.add("  ").add(show(said.detail, columns - 2, glyphs.cut), styles.muted)


class RemarkView(TextView):
    """What else is worth knowing of a replay."""

    QUIET = True
    HELP = "Notes on the replay, and what the agent printed."

    def __init__(self, report: ReplayReport) -> None:
        super().__init__(id="replay-remarks")
        self._report = report

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out the notes, and what the agent failed with and printed."""
        return list(remark_lines(self._report, columns, look_of(self).glyphs))


class ReplayedDialog(Dialog[Wish]):
    """Shows what a replay found; returns which divergence to go to, or that it is wanted again."""

    CONTEXT = REPLAYED
    AUTO_FOCUS = "DivergenceList"
    HELP = "What a replay found: enter goes to a divergence, r replays again, esc closes."

    def __init__(self, report: ReplayReport, index: int = 0) -> None:
        """Show a report.

        Args:
            report: What was found.
            index: The divergence to select.
        """
        super().__init__(classes="" if report.is_faithful else "tall")
        self._report, self._index = report, index

    def compose_content(self) -> ComposeResult:
        """Yield the verdict, the divergences with all that is known of the selected one, and the remarks."""
        report = self._report
        mode = "observe" if report.observed else "halt"
        yield DialogTitle("Replay", detail=report.run_name, hint=mode)
        yield VerdictRows(report)
        if report.divergences:
            yield DivergenceList(report.divergences)
            yield PaneTitle("Divergence", id="one-divergence-title")
            yield DivergenceView(id="one-divergence")
        yield RemarkView(report)

    def on_mount(self) -> None:
        """Select the divergence."""
        remarks = self.query_one(RemarkView)
        remarks.display = bool(remarks.lay_out(80))
        if self._report.divergences:
            self.query_one(DivergenceList).move_to(self._index)
            self._show_finding(self._index)

    def on_resize(self, event: events.Resize) -> None:
        """Give up blank rows where there are few."""
        self.set_class(event.size.height < _TALL_FROM, "short")
        self.set_class(event.size.height < _LOW_BELOW, "low")

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Show the divergence under the cursor."""
        if isinstance(message.view, DivergenceList) and 0 <= message.index < len(self._report.divergences):
            self._show_finding(message.index)

    def _show_finding(self, index: int) -> None:
        finding = self._report.divergences[index]
        title = self.query_one("#one-divergence-title", PaneTitle)
        title.detail = f"{index + 1} of {len(self._report.divergences)}  {clean(finding.kind)}"
        self.query_one(DivergenceView).show(finding)

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Go to the divergence under the cursor."""
        if isinstance(message.view, DivergenceList):
            self.dismiss(Wish(index=message.index))

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id == "list.choose" and not self._report.divergences:
            return "no call differs: there is nowhere to go"
        return None

    def action_again(self) -> None:
        """Replay once more."""
        self.dismiss(Wish(again=True))
