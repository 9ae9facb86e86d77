"""The key tables, by screen: one declaration for each key gives its binding, footer, help and palette entry."""

from __future__ import annotations

from agent_tt_tui.keymaps.compare import COMPARE, TABLE
from agent_tt_tui.keymaps.debugger import BLAME, CONTEXT, DEBUGGER, FIND, FIND_ALL, WATCHES
from agent_tt_tui.keymaps.dialogs import (
    ASK,
    ASK_TYPING,
    CONFIRM,
    COPY,
    EDIT,
    EDIT_ROW,
    KEYS,
    PALETTE_LIST,
    PICK,
    PROMPT,
    READING,
)
from agent_tt_tui.keymaps.golden import KEEP, TESTS
from agent_tt_tui.keymaps.running import FORK, REPLAY, REPLAYED, RESUME
from agent_tt_tui.keymaps.runs import ABOUT, EMPTY, FIRST, RUNS
from agent_tt_tui.keymaps.shared import LIST, TIMELINE, TREE
from agent_tt_tui.keymaps.statistics import STATISTICS
from agent_tt_tui.keymaps.sweep import SWEEP, SWEEP_FORM

__all__ = [
    "ABOUT",
    "ASK",
    "ASK_TYPING",
    "BLAME",
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
    "KEEP",
    "KEYS",
    "LIST",
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

CONTEXTS = (
    DEBUGGER,
    COMPARE,
    TABLE,
    FORK,
    REPLAY,
    REPLAYED,
    RESUME,
    SWEEP,
    SWEEP_FORM,
    KEEP,
    TESTS,
    STATISTICS,
    EDIT,
    EDIT_ROW,
    ASK,
    RUNS,
    ABOUT,
    FIRST,
    EMPTY,
    PROMPT,
    BLAME,
    CONTEXT,
    FIND,
    WATCHES,
    FIND_ALL,
    PALETTE_LIST,
    PICK,
    COPY,
    CONFIRM,
    KEYS,
    READING,
)
"""Every context that a person meets, for the key table and the test against clashes."""
