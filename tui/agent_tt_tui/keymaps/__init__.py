"""The key tables, by screen: one declaration for each key gives its binding, footer, help and palette entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._lazy import lazily

if TYPE_CHECKING:
    from agent_tt_tui.keymaps.compare import COMPARE, TABLE
    from agent_tt_tui.keymaps.contexts import CONTEXTS
    from agent_tt_tui.keymaps.debugger import BLAME, COLUMNS_LIST, CONTEXT, DEBUGGER, FIND, FIND_ALL, IN_STATE, WATCHES
    from agent_tt_tui.keymaps.dialogs import (
        ASK,
        ASK_TYPING,
        CONFIRM,
        COPY,
        EDIT,
        EDIT_ROW,
        JUMP,
        KEYS,
        LOG,
        OUTCOME,
        PALETTE_LIST,
        PICK,
        PROMPT,
        READING,
    )
    from agent_tt_tui.keymaps.golden import KEEP, TESTS
    from agent_tt_tui.keymaps.running import AGAIN, ANSWERS, FORK, REPLAY, REPLAYED, RESUME
    from agent_tt_tui.keymaps.runs import ABOUT, EMPTY, FIRST, RUNS
    from agent_tt_tui.keymaps.shared import LIST, TIMELINE, TREE
    from agent_tt_tui.keymaps.statistics import STATISTICS
    from agent_tt_tui.keymaps.sweep import SWEEP, SWEEP_FORM

__all__ = [
    "ABOUT",
    "AGAIN",
    "ANSWERS",
    "ASK",
    "ASK_TYPING",
    "BLAME",
    "COLUMNS_LIST",
    "COMPARE",
    "CONFIRM",
    "CONTEXT",
    "CONTEXTS",
    "COPY",
    "DEBUGGER",
    "EDIT",
    "EDIT_ROW",
    "EMPTY",
    "FIND",
    "FIND_ALL",
    "FIRST",
    "FORK",
    "IN_STATE",
    "JUMP",
    "KEEP",
    "KEYS",
    "LIST",
    "LOG",
    "OUTCOME",
    "PALETTE_LIST",
    "PICK",
    "PROMPT",
    "READING",
    "REPLAY",
    "REPLAYED",
    "RESUME",
    "RUNS",
    "STATISTICS",
    "SWEEP",
    "SWEEP_FORM",
    "TABLE",
    "TESTS",
    "TIMELINE",
    "TREE",
    "WATCHES",
]

_TABLES: Final = {
    "compare": "COMPARE TABLE",
    "debugger": "BLAME COLUMNS_LIST CONTEXT DEBUGGER FIND FIND_ALL IN_STATE WATCHES",
    "dialogs": "ASK ASK_TYPING CONFIRM COPY EDIT EDIT_ROW JUMP KEYS LOG OUTCOME PALETTE_LIST PICK PROMPT READING",
    "golden": "KEEP TESTS",
    "running": "AGAIN ANSWERS FORK REPLAY REPLAYED RESUME",
    "runs": "ABOUT EMPTY FIRST RUNS",
    "shared": "LIST TIMELINE TREE",
    "statistics": "STATISTICS",
    "sweep": "SWEEP SWEEP_FORM",
    "contexts": "CONTEXTS",
}
"""The module of each table; it is imported when the table is first used."""

__getattr__ = lazily(
    __name__, {name: f"{__name__}.{home}" for home, names in _TABLES.items() for name in names.split()}
)
