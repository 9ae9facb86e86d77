"""Changes of a state, each on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.comparing.values.edit_leaves import edit_changes
from agent_tt.comparing.values.words import compare_words
from agent_tt_tui.cli.terminal import Cell
from agent_tt_tui.text import cut, cut_start, width
from agent_tt_tui.viewmodel.values.difftext import CUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.state_diff import StateDiff
    from agent_tt.comparing.values.states import Change
    from agent_tt.model import Edit
    from agent_tt_tui.cli.terminal import Role, Terminal
    from agent_tt_tui.viewmodel.values.difftext import DiffLine

_CONTEXT = 16
"""Characters of what is the same that are shown on either side of a changed word."""

_WIDE = 1_000
_LONG = 40
"""Texts from this length on are compared by word; shorter ones are shown whole."""

_ROLES: Final[dict[str, Role]] = {
    "add": "well",
    "remove": "failed",
    "change": "changed",
    "move": "changed",
    "reorder": "changed",
}


_PIECES: Final[dict[str, Role]] = {
    "path": "strong",
    "muted": "muted",
    "to": "muted",
    "new": "well",
    "added": "well",
    "removed": "failed",
    "failed": "failed",
}
"""The pieces of a diff's rows as the roles of a terminal."""


def print_changes(terminal: Terminal, changes: Sequence[Change]) -> None:
    """Write changes, one a line."""
    for change in changes:
        terminal.line(*change_line(terminal, change))


def print_rows(terminal: Terminal, rows: Sequence[DiffLine]) -> None:
    """Write the rows of a diff; without colours removed words are in `[-…-]`, added ones in `{+…+}`."""
    glyphs = terminal.glyphs
    signs: dict[str, Cell] = {
        "+": Cell(glyphs.added, "well"),
        "-": Cell(glyphs.removed, "failed"),
        "~": Cell(glyphs.changed, "changed"),
    }
    for row in rows:
        # Beside an arrow, and where the whole value came or went, nothing has to be told apart.
        plain = terminal.colour or row.sign in ("+", "-") or any(role == "to" for _, role in row.pieces)
        cells: list[Cell | str] = [signs[row.sign] if row.sign else "", " " * (row.indent - bool(row.sign))]
        left = terminal.columns - row.indent
        for said, role in row.pieces:
            text = said.replace(CUT, glyphs.cut)
            if role == "to":
                text = f" {glyphs.to} "
            elif role in ("added", "removed") and not plain:
                text = f"[-{text}-]" if role == "removed" else f"{{+{text}+}}"
            text = cut(text, max(left, 0), glyphs.cut) if row.sign or row.indent == 0 else text
            left -= width(text)
            cells.append(Cell(text, _PIECES.get(role, "text")))
        terminal.line(*cells)


def print_states(terminal: Terminal, found: StateDiff, names: tuple[str, str], new: Wire) -> None:
    """Write what differs between two states.

    Args:
        terminal: where it is written.
        found: what differs.
        names: how the states are called.
        new: the second state.
    """
    from agent_tt.comparing.values.echoes import without_echoes
    from agent_tt_tui.viewmodel.values.difflines import DiffRows

    terminal.line(terminal.safe(f"{names[0]} {terminal.glyphs.to} {names[1]}"))
    if not found.differ:
        but = [*(["what is ignored"] if found.ignored else []), *(["the order of keys"] if found else [])]
        terminal.line(f"The states are equal but for {' and '.join(but)}." if but else "The states are equal.")
    shown = without_echoes(found.old, new, found)
    print_rows(terminal, DiffRows(shown, nested=True).lay_out(terminal.columns))
    if len(shown) < len(found):
        more = f"{len(found) - len(shown)} more are left out (LangGraph's own, null, order of keys, spaces): --json"
        terminal.line(Cell(more, "muted"))
    for remark in found.remarks():
        terminal.line(Cell(terminal.safe(remark), "muted"))


def changes_of(edits: Iterable[Edit]) -> list[Change]:
    """What people's edits change, value by value."""
    return [change for edit in edits for change in edit_changes(edit)]


def change_line(terminal: Terminal, change: Change) -> list[Cell | str]:
    """`~ messages[3].content  old → new`, as much as fits on one line."""
    glyphs = terminal.glyphs
    mark = {"add": glyphs.added, "remove": glyphs.removed}.get(change.op, glyphs.changed)
    room = terminal.columns - 5
    # What is long loses its beginning: its end names the value that changed.
    path = cut_start(terminal.safe(change.path or "(everything)"), max(room // 2, room - _needed(change)), glyphs.cut)
    left = room - width(path)
    head: list[Cell | str] = [Cell(f"{mark} ", _ROLES[change.op]), Cell(path, "strong"), "  "]
    return head + _values(terminal, change, left)


def _needed(change: Change) -> int:
    """Columns that short values of a change take; of long ones, which take what there is, as many as a screen has."""
    shown = [summary(value, _LONG) for value in (change.old, change.new)]
    return sum(map(width, shown)) + 3 if max(map(len, shown)) < _LONG else _WIDE


def _values(terminal: Terminal, change: Change, columns: int) -> list[Cell | str]:
    if change.op == "add":
        return [Cell(terminal.short(summary(change.new, columns), columns), "well")]
    if change.op == "remove":
        return [Cell(terminal.short(summary(change.old, columns), columns), "failed")]
    if change.op == "move":
        return [f"was at {terminal.short(change.old_path or '', columns - 7)}"]
    if change.op == "reorder":
        return [f"other order of {change.of or 'keys'}"]
    old, new = change.old, change.new
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > _LONG:
        return _words(terminal, old, new, columns)
    half = max(8, (columns - 3) // 2)
    return [
        Cell(terminal.short(summary(old, half), half), "failed"),
        f" {terminal.glyphs.to} ",
        Cell(terminal.short(summary(new, half), half), "well"),
    ]


def _words(terminal: Terminal, old: str, new: str, columns: int) -> list[Cell | str]:
    """The changed words with a little of what stands around them, in brackets so that no colour is needed."""
    cells: list[Cell | str] = []
    segments = compare_words(old, new)
    for index, segment in enumerate(segments):
        if columns <= 1:
            break
        text = segment.text
        role: Role = "muted"
        if segment.kind == "same" and len(text) > 2 * _CONTEXT:
            before = "" if index == 0 else text[:_CONTEXT]
            after = "" if index == len(segments) - 1 else text[-_CONTEXT:]
            text = f"{before}{terminal.glyphs.cut}{after}"
        elif segment.kind == "removed":
            text, role = f"[-{text[:columns]}-]", "failed"
        elif segment.kind == "added":
            text, role = f"{{+{text[:columns]}+}}", "well"
        piece = terminal.short(text, columns)
        columns -= width(piece)
        cells.append(Cell(piece, role))
    return cells
