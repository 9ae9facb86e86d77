"""All contexts, which the help, the configuration and the tables of keys go through."""

from __future__ import annotations

from agent_tt_tui.keymaps.compare import COMPARE, TABLE
from agent_tt_tui.keymaps.debugger import BLAME, COLUMNS_LIST, CONTEXT, DEBUGGER, FIND, FIND_ALL, WATCHES
from agent_tt_tui.keymaps.dialogs import (
    ASK,
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
from agent_tt_tui.keymaps.statistics import STATISTICS
from agent_tt_tui.keymaps.sweep import SWEEP, SWEEP_FORM

__all__ = ["CONTEXTS"]

CONTEXTS = (
    DEBUGGER,
    COMPARE,
    TABLE,
    FORK,
    REPLAY,
    REPLAYED,
    RESUME,
    AGAIN,
    ANSWERS,
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
    COLUMNS_LIST,
    FIND_ALL,
    PALETTE_LIST,
    PICK,
    JUMP,
    LOG,
    COPY,
    CONFIRM,
    KEYS,
    OUTCOME,
    READING,
)
"""Every context that a person meets, for the key table and the test against clashes."""
