"""The list of the fork dialog: what runs, the edits, what becomes of calls that write, and what else can be chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt_tui import format as fmt
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.keymaps import FORK
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import call_name, clean, cut_start, show
from agent_tt_tui.text import width as columns_of
from agent_tt_tui.viewmodel.running.fork_form import FormRow, form_sections
from agent_tt_tui.viewmodel.running.fork_policy import next_otherwise, source_of, why_fixed
from agent_tt_tui.viewmodel.running.fork_setup import ForkSetup
from agent_tt_tui.widgets.dialogs.edit_row import edit_row, edit_rows
from agent_tt_tui.widgets.dialogs.fork_cost import SECTION, none_writes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.running.fork_form import Fold
    from agent_tt_tui.viewmodel.running.fork_setup import Setting

_NAME: Final = 18
_WIDE_NAME: Final = 28
_CALLS: Final = 18
_GAP: Final = 2
_WORDS: Final = ("live", "recorded", "stub", "ask", "deny")
_OTHERWISE: Final = {"ask": "you are asked", "deny": "it is denied", "halt": "the fork halts"}
_NOT_HELD: Final = "not held"
_POLICIES: Final = sum(len(word) + 2 for word in _WORDS)
_ROOMY: Final = 88
_SETTING: Final = 16
_ENTRY: Final = 32


def _columns(width: int) -> tuple[int, int, int]:
    """The columns of a name and of how often it was called, and where the policies begin, in a row so wide."""
    name = _WIDE_NAME if width >= _ROOMY else _NAME
    room = width - name - _GAP - _POLICIES
    calls = min(_CALLS, room) if room >= len("99×") else 0
    return name, calls, name + calls + (_GAP if room >= 0 else 0)


class ForkTable(RowList[FormRow]):
    """What the fork does, and what can be chosen of it."""

    HELP = "What the fork does: left and right choose, enter types a value, del takes a choice back."

    def __init__(self) -> None:
        super().__init__()
        self._plan: ForkPlan | None = None
        self._setup = ForkSetup(0)
        self._sections: list[list[FormRow]] = []
        self._is_spaced = False
        self.unfolded: frozenset[Fold] = frozenset()
        """What is shown row by row although it is as nobody decided otherwise."""

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

    def show(self, plan: ForkPlan | None, setup: ForkSetup, runs: Sequence[FormRow]) -> None:
        """Show a plan, what was chosen and the rows that say what runs; the cursor stays at what it is on."""
        here = self.current if self._plan is not None else None
        self._plan, self._setup = plan, setup
        edits = edit_rows(plan.edits) if plan is not None else []
        self._sections = form_sections(plan, setup, runs, edits, self.unfolded)
        self._lay_out(here)

    def fit(self, room: int) -> bool:
        """Take so many rows, with blank ones between the sections where there are enough; whether all rows fit."""
        rows = sum(map(len, self._sections))
        is_spaced = rows + len(self._sections) - 1 <= room
        self.styles.max_height = max(1, room)
        if is_spaced != self._is_spaced:
            self._is_spaced = is_spaced
            self._lay_out(self.current)
        return rows <= room

    def _lay_out(self, here: FormRow | None) -> None:
        before = len(self.rows)
        blank = [FormRow()] if self._is_spaced else []
        spaced = [row for section in self._sections for row in (*blank, *section)]
        self.rows = spaced[len(blank) :]
        if len(self.rows) != before:
            self.refresh(layout=True)
        self.refresh_lines_data()
        self.move_to(self._place_of(here))

    def _place_of(self, here: FormRow | None) -> int:
        """Where a row stands now; else where the first does of which something can be chosen."""
        first = next((index for index, row in enumerate(self.rows) if row.can_be_reached and row.edit is None), 0)
        if here is None or not here.can_be_reached:
            return first
        if (was := here.boundary) is not None:
            places = [
                (row.boundary.effect != was.effect, index)  # another effect may have been said of it
                for index, row in enumerate(self.rows)
                if row.boundary is not None and (row.boundary.kind, row.boundary.name) == (was.kind, was.name)
            ]
            return min(places)[1] if places else first
        entry = here.version.entry if here.version is not None else None
        for index, row in enumerate(self.rows):
            if row == here or (entry is not None and row.version is not None and row.version.entry == entry):
                return index
        return first

    def go_to(self, setting_id: str) -> None:
        """Put the cursor on a setting, where there is that one."""
        rows = (i for i, row in enumerate(self.rows) if row.setting is not None and row.setting.id == setting_id)
        at = next(rows, None)
        if at is not None:
            self.move_to(at)

    def can_point_at(self, index: int) -> bool:
        """Whether the cursor stops at a row."""
        return self.rows[index].can_be_reached

    def action_move(self, rows: int) -> None:
        """Move the cursor by so many rows that it can stop at."""
        reached = [index for index, row in enumerate(self.rows) if row.can_be_reached]
        if not reached:
            return
        at = reached.index(self.cursor) if self.cursor in reached else 0
        self.move_to(reached[max(0, min(len(reached) - 1, at + rows))])
        if self.cursor == reached[0]:
            self.reveal(0)

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
        elif shown.version is not None:
            self._version(row, shown, width, styles)
        else:
            self._said(row, shown, width, styles)
        return row.strip(width)

    def _said(self, row: Row, shown: FormRow, width: int, styles: Palette) -> None:
        """A title with what stands beside it, or a row that only says something."""
        look, (command, does) = look_of(self), shown.key
        glyphs, keys = look.glyphs, Row(look.glyphs.cut)
        if command:
            keys.add("  ").add(look.key(FORK.command(command)), styles.key).add(f" {does}", styles.muted)
        room = width - keys.cells
        if shown.path:
            row.pad_to(4).add("in ", styles.muted)
            row.add(cut_start(clean(shown.path), max(1, room - row.cells), glyphs.cut), styles.text)
        elif shown.title == "Writes" and not shown.said:
            row.column("WRITES", SECTION, styles.title_blurred)
            none_writes(row, self._plan, room, styles, glyphs)
        elif shown.title:
            row.column(shown.title.upper(), SECTION, styles.title_blurred)
            row.upto(show(shown.said.replace(UNICODE.cut, glyphs.cut), room, glyphs.cut), room, styles.muted)
        else:
            row.pad_to(4).upto(show(shown.said.replace(UNICODE.cut, glyphs.cut), room, glyphs.cut), room, styles.muted)
        if keys.cells:
            row.right(keys, width)

    def _version(self, row: Row, shown: FormRow, width: int, styles: Palette) -> None:
        version, glyphs = shown.version, look_of(self).glyphs
        if version is None:
            return
        mark = "" if version.is_only else f"({glyphs.picked if version.is_chosen else ' '}) "
        # Where there is little room, what is said of the versions comes before the blanks between them.
        remarks = [2 + columns_of(each.version.remark) for each in self.rows if each.version is not None]
        entries = [columns_of(clean(each.version.entry)) for each in self.rows if each.version is not None]
        name = min(_ENTRY, max(_NAME, width // 2))
        name = min(name, max(*entries, width - 4 - len(mark) - max(remarks), 0))
        row.pad_to(2).add(mark, styles.strong if version.is_chosen else styles.faint)
        style = styles.strong if version.is_chosen else styles.text
        row.add(cut_start(clean(version.entry), width - row.cells, glyphs.cut), style)
        row.pad_to(2 + len(mark) + name).add("  ")
        if version.is_changed:
            row.upto(f"{glyphs.differs} {version.remark}", width, styles.changed_mark)
        else:
            row.upto(version.remark, width, styles.muted)

    def _boundary(self, row: Row, entry: Boundary, width: int, styles: Palette) -> None:
        glyphs, plan = look_of(self).glyphs, self._plan
        kind = entry.kind if entry.kind == "llm" else "write" if entry.effect == "write" else "read"
        name, calls, policy_at = _columns(width)
        row.add(f"{kind_glyph(kind, glyphs)} ", styles.model if kind == "llm" else styles.text)
        row.column(
            call_name(entry.name, name - 3, glyphs.cut),
            name - 2,
            styles.strong if styles.on_cursor_row else styles.text,
        )
        row.column(_called(entry, glyphs), calls, styles.muted)
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
        """Who said so, where somebody did and there is room."""
        source = "" if entry.rule.source == "default" else source_of(entry)
        if source and len(source) <= width - row.cells - 2:
            row.right(Row(look_of(self).glyphs.cut).add(source, styles.yours), width)

    def _more(self, row: Row, entry: Boundary, width: int, styles: Palette) -> None:
        """What is given in place of a call, or what follows where nothing is recorded."""
        rule, glyphs = entry.rule, look_of(self).glyphs
        row.pad_to(4)
        if rule.word == "recorded":
            row.add(f"where nothing recorded answers, {_OTHERWISE[rule.otherwise]}", styles.muted)
            does = str(next_otherwise(entry))
        else:
            given = rule.error if rule.error is not None else summary(rule.value, max(8, width - 34))
            verb = "stub raises " if rule.error is not None else "stub returns "
            row.add(verb, styles.muted).add(show(given, max(8, width - row.cells - 14), glyphs.cut), styles.text)
            does = "edit"
        row.add("   ").add(look_of(self).key(FORK.command("list.choose")), styles.key).add(f" {does}", styles.muted)

    def _setting(self, row: Row, setting: Setting, width: int, styles: Palette) -> None:
        look, text = look_of(self), self._setup.text(setting)
        glyphs = look.glyphs
        row.add("  ").column(setting.label, _SETTING, styles.strong if styles.on_cursor_row else styles.muted)
        if text:
            row.add(f"{glyphs.edited} ", styles.yours)
        shown = text or self._default(setting)
        row.add(show(shown, max(8, width - row.cells - 16), glyphs.cut), styles.strong if text else styles.faint)
        if not styles.on_cursor_row:
            return
        keys = Row(glyphs.cut)
        if setting.kind == "choice":
            both = look.key(FORK.command("fork.policy_previous"), FORK.command("fork.policy_next"))
            keys.add(both, styles.key).add(" choose", styles.muted)
        else:
            keys.add(look.key(FORK.command("list.choose")), styles.key)
            keys.add(" add" if setting.kind == "list" else " type", styles.muted)
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


def _called(entry: Boundary, glyphs: Glyphs) -> str:
    """How often the run called it, and how often after the step that is forked."""
    if not entry.seen:
        return "not called so far"
    later = f"{glyphs.about} {fmt.count(entry.expected)} later" if entry.expected else "none later"
    return f"{fmt.count(entry.seen)}{glyphs.times}, {later}"
