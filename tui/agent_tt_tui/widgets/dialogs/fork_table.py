"""The list of the fork dialog: what the run called with what becomes of it, then everything else that can be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt.codec.text import summary
from agent_tt_tui import format as fmt
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import call_name, show
from agent_tt_tui.viewmodel.running.fork_policy import next_otherwise, source_of, why_fixed
from agent_tt_tui.viewmodel.running.fork_setup import ForkSetup, FormRow, form_rows
from agent_tt_tui.widgets.dialogs.edit_row import edit_row, edit_rows
from agent_tt_tui.widgets.dialogs.fork_form import SHOWN_EDITS

if TYPE_CHECKING:
    from textual.strip import Strip

    from agent_tt.comparing.values.states import Change
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.model import Edit
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.running.fork_setup import Setting

_NAME: Final = 18
_WIDE_NAME: Final = 28
_SEEN: Final = 5
_EXPECTED: Final = 8
_GAP: Final = 2
_WORDS: Final = ("live", "recorded", "stub", "ask", "deny")
_OTHERWISE: Final = {"ask": "you are asked", "deny": "it is denied", "halt": "the fork halts"}
_NOT_HELD: Final = "not held"
_POLICIES: Final = sum(len(word) + 2 for word in _WORDS)
_WRITES: Final = "writes"
_ROOMY: Final = 88
_SETTING: Final = 16


def _columns(width: int) -> tuple[int, int, int, int]:
    """The columns of a name, of `made` and `later`, and where the policies begin, in a row so wide."""
    name = _WIDE_NAME if width >= _ROOMY else _NAME
    room = width - name - _GAP - _POLICIES
    seen, expected = (_SEEN, _EXPECTED) if room >= _SEEN + _EXPECTED else (_SEEN, 0) if room >= _SEEN else (0, 0)
    return name, seen, expected, name + seen + expected + (_GAP if room >= 0 else 0)


class BoundaryTitle(RowWidget):
    """The titles of the list."""

    DEFAULT_CSS = "BoundaryTitle { height: 1; margin: 1 0 0 0; }"

    count: reactive[int] = reactive(0)
    """How many boundaries there are; not all of them may be in view."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the titles."""
        name, seen, expected, policy_at = _columns(columns - 2)
        row = self.new_row().add("BOUNDARY  ", styles.title_blurred).add(fmt.count(self.count), styles.muted)
        row.pad_to(name + 1)
        row.column("made", seen, styles.muted, "right").column("later", expected, styles.muted, "right")
        row.pad_to(policy_at + 2).add("POLICY", styles.title_blurred)
        hint = "in [ ]: chosen"
        if row.cells + 2 + len(hint) > columns - 1:
            return row
        return row.right(self.new_row().add(hint, styles.muted), columns - 1)


class ForkTable(RowList[FormRow]):
    """What the run called, and what else can be chosen."""

    HELP = "What the fork does: left and right choose, enter types a value, del takes a choice back."

    def __init__(self) -> None:
        super().__init__(form_rows(None))
        self._plan: ForkPlan | None = None
        self._setup = ForkSetup(0)

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """What the run called."""
        return self._plan.boundary if self._plan is not None else ()

    @property
    def boundary(self) -> Boundary | None:
        """What the run called, in the row under the cursor."""
        row = self.current
        return row.boundary if row is not None else None

    @property
    def setting(self) -> Setting | None:
        """What else can be chosen in the row under the cursor."""
        row = self.current
        return row.setting if row is not None else None

    def show(self, plan: ForkPlan | None, setup: ForkSetup) -> None:
        """Show a plan and what was chosen; the cursor stays at what it is on."""
        here, before = self.current if self._plan is not None else None, len(self.rows)
        self._plan, self._setup = plan, setup
        self.rows = form_rows(plan, _listed_edits(plan))
        if len(self.rows) != before:
            self.refresh(layout=True)
        self.refresh_lines_data()
        if here is not None and here.boundary is not None:
            was = here.boundary
            places = [
                (row.boundary.effect != was.effect, index)  # another effect may have been said of it
                for index, row in enumerate(self.rows)
                if row.boundary is not None and (row.boundary.kind, row.boundary.name) == (was.kind, was.name)
            ]
            self.move_to(min(places)[1] if places else 0)
        else:
            self.move_to(next((index for index, row in enumerate(self.rows) if row == here), 0))

    def go_to(self, setting_id: str) -> None:
        """Put the cursor on a setting, where there is that one."""
        rows = (i for i, row in enumerate(self.rows) if row.setting is not None and row.setting.id == setting_id)
        at = next(rows, None)
        if at is not None:
            self.move_to(at)

    def action_move(self, rows: int) -> None:
        """Move the cursor by so many lines; titles are passed over."""
        super().action_move(rows)
        if self.current is not None and self.current.title:
            super().action_move(1 if rows > 0 else -1)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one row."""
        shown, glyphs = self.rows[index], look_of(self).glyphs
        row = Row(glyphs.cut)
        if shown.edit is not None:
            row.join(edit_row(*shown.edit, width, styles, glyphs))
        elif shown.setting is not None:
            self._setting(row, shown.setting, width, styles)
        elif shown.boundary is not None and shown.more:
            self._more(row, shown.boundary, width, styles)
        elif shown.boundary is not None:
            self._boundary(row, shown.boundary, width, styles)
        else:
            row.add(shown.title.upper(), styles.title_blurred)
        return row.strip(width)

    def _boundary(self, row: Row, entry: Boundary, width: int, styles: Palette) -> None:
        glyphs, plan = look_of(self).glyphs, self._plan
        kind = entry.kind if entry.kind == "llm" else "write" if entry.effect == "write" else "read"
        name, seen, expected, policy_at = _columns(width)
        row.add(f"{kind_glyph(kind, glyphs)} ", styles.model if kind == "llm" else styles.text)
        row.column(
            call_name(entry.name, name - 3, glyphs.cut),
            name - 2,
            styles.strong if styles.on_cursor_row else styles.text,
        )
        row.column(fmt.count(entry.seen) if entry.seen else glyphs.interrupted, seen, styles.muted, "right")
        row.column(
            f"{glyphs.about} {fmt.count(entry.expected)}" if entry.expected else "", expected, styles.text, "right"
        )
        row.pad_to(policy_at)
        if plan is not None and why_fixed(plan, entry) is not None:
            row.add(" as its caller" if entry.follows_caller else "[mock]", styles.muted)
            return
        words, chosen = _words(entry)
        for word in words if policy_at + _POLICIES <= width else (chosen,):
            if word != chosen:
                row.add(f" {word} ", styles.faint)
            else:
                row.add(f"[{word}]", styles.failed if word in ("deny", _NOT_HELD) else styles.strong)
        self._tail(row, entry, width, styles)

    def _tail(self, row: Row, entry: Boundary, width: int, styles: Palette) -> None:
        """Who said so, and that it writes, as far as there is room: what somebody said goes first."""
        writes = (_WRITES, styles.changed_mark) if entry.effect == "write" else ("", styles.changed_mark)
        source = (source_of(entry), styles.faint if entry.rule.source == "default" else styles.yours)
        said = entry.rule.source != "default"
        room = width - row.cells - 1
        tail = Row(look_of(self).glyphs.cut)
        if len(_WRITES) + 2 + len("environ") <= room:
            tail.column(writes[0], len(_WRITES) + 2, writes[1]).column(source[0], len("environ"), source[1])
        else:
            text, style = source if said or not writes[0] else writes
            tail.add(text if len(text) <= room else "", style)
        if tail.cells:
            row.right(tail, width)

    def _more(self, row: Row, entry: Boundary, width: int, styles: Palette) -> None:
        """What is given in place of a call, or what follows where nothing is recorded."""
        rule, glyphs = entry.rule, look_of(self).glyphs
        row.pad_to(4)
        if rule.word == "recorded":
            row.add(f"where nothing recorded answers, {_OTHERWISE[rule.otherwise]}", styles.muted)
            key, does = "enter", str(next_otherwise(entry))
        else:
            given = rule.error if rule.error is not None else summary(rule.value, max(8, width - 34))
            verb = "stub raises " if rule.error is not None else "stub returns "
            row.add(verb, styles.muted).add(show(given, max(8, width - row.cells - 14), glyphs.cut), styles.text)
            key, does = "enter", "edit"
        row.add("   ").add(key, styles.key).add(f" {does}", styles.muted)

    def _setting(self, row: Row, setting: Setting, width: int, styles: Palette) -> None:
        glyphs, text = look_of(self).glyphs, self._setup.text(setting)
        row.add("  ").column(setting.label, _SETTING, styles.strong if styles.on_cursor_row else styles.muted)
        if text:
            row.add(f"{glyphs.edited} ", styles.yours)
        shown = text or self._default(setting)
        row.add(show(shown, max(8, width - row.cells - 16), glyphs.cut), styles.strong if text else styles.faint)
        if not styles.on_cursor_row:
            return
        keys = Row(glyphs.cut)
        if setting.kind == "choice":
            keys.add(glyphs.arrows[0] + glyphs.arrows[1], styles.key).add(" choose", styles.muted)
        else:
            keys.add("enter", styles.key).add(" add" if setting.kind == "list" else " type", styles.muted)
        row.right(keys, width)

    def _default(self, setting: Setting) -> str:
        if setting.id == "by" and self._plan is not None:
            return f"{self._plan.by} ({setting.default})"
        return setting.default


def _words(entry: Boundary) -> tuple[tuple[str, ...], str]:
    """What can be chosen for a row, and what is: a tool whose calls a fork cannot hold can only be let run."""
    if entry.is_held:
        return _WORDS, entry.policy
    return ("live", _NOT_HELD), "live" if entry.policy == "live" else _NOT_HELD


def _listed_edits(plan: ForkPlan | None) -> list[tuple[Edit, Change]]:
    """The changes that are listed here, because there are more of them than stand above."""
    edits = edit_rows(plan.edits) if plan is not None else []
    return edits if len(edits) > SHOWN_EDITS else []
