"""A small screen with two panes, for tests of what all screens share."""

from textual.strip import Strip

from agent_tt_tui.app import AgentTT
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState, Pane, PaneTitle
from agent_tt_tui.dialog import ConfirmDialog
from agent_tt_tui.glyphs import UNICODE, Glyphs
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import Look, look_of
from agent_tt_tui.palette import Palette
from agent_tt_tui.row import Row
from agent_tt_tui.screen import CommandScreen


class Numbers(LineView):
    """Numbered lines, which remember which of them were drawn."""

    def __init__(self, count: int, name: str) -> None:
        super().__init__(id=name)
        self.count = count
        self.drawn: list[int] = []

    @property
    def line_count(self) -> int:
        return self.count

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        self.drawn.append(index)
        glyphs = look_of(self).glyphs
        row = Row(glyphs.cut).column(str(index), 4, styles.text, "right").add(" ")
        row.add(glyphs.reads, styles.text).add(
            f" line {index}", styles.strong if styles.on_cursor_row else styles.muted
        )
        return row.right(Row(glyphs.cut).add("203 ms", styles.muted), width).strip(width)


class TwoPanes(CommandScreen[None]):
    CONTEXT = DEBUGGER
    DEFAULT_CSS = "TwoPanes #body { layout: horizontal; height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.confirmed: bool | None = None

    def compose(self):
        from textual.containers import Container

        facts = (Fact("20.1 s"), Fact("4,210 tok", 4), Fact("$0.002", 3), Fact("agents.refund_desk:main", 2))
        yield HeaderRow(
            HeaderState("refund-loop", UNICODE.failed, "failed", "failed", "search_docs timed out", 21, facts=facts)
        )
        with Container(id="body"):
            yield Pane(PaneTitle("Timeline", hint="21 steps"), Numbers(1000, "left"))
            yield Pane(PaneTitle("State"), Numbers(5, "right"), classes="ground")
        yield self.footer()

    def blocked(self, command_id: str) -> str | None:
        return "this run has nothing to compare with" if command_id == "compare.open" else None

    def action_step(self, steps: int) -> None:
        self.steps += steps

    def action_edit(self) -> None:
        self.app.push_screen(ConfirmDialog("Leave", "Two edits are pending. Drop them?"), self._answered)

    def action_find(self) -> None:
        raise ValueError("boom")

    def _answered(self, answer: bool | None) -> None:
        self.confirmed = answer


def two_panes(
    glyphs: Glyphs = UNICODE, theme: str = "tt-dark", keymap: dict[str, str] | None = None, **options
) -> AgentTT:
    return AgentTT(TwoPanes, look=Look(theme=theme, glyphs=glyphs, keymap=keymap or {}), **options)


def screen_text(app: AgentTT) -> list[str]:
    """The rows of the screen as a person reads them, without trailing blanks."""
    return ["".join(segment.text for segment in strip).rstrip() for strip in app.screen._compositor.render_strips()]
