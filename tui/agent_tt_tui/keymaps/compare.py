"""The keys of the comparison of two runs, and of one with many."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.golden import GOLDEN
from agent_tt_tui.keymaps.shared import ANSWER, CHOOSE, COPY_COMMAND, ENDING, ESCAPE, EVERYWHERE, LIVE, MOVES, STOP

COMPARE = Context(
    "Compare",
    (
        EVERYWHERE,
        Group(
            "Compare",
            (
                Command(
                    "compare.previous",
                    "pair(-1)",
                    ("left",),
                    "Go to the previous pair",
                    footer="pair",
                    rank=10,
                    pair="compare.next",
                ),
                Command("compare.next", "pair(1)", ("right",), "Go to the next pair"),
                Command("compare.first", "end_pair(-1)", ("home", "0"), "Go to the first pair"),
                Command("compare.last", "end_pair(1)", ("end", "$"), "Go to the last pair"),
                Command(
                    "compare.difference_previous",
                    "difference(-1)",
                    ("{", "X"),
                    "Go to the previous difference",
                    footer="difference",
                    rank=20,
                    pair="compare.difference_next",
                ),
                Command("compare.difference_next", "difference(1)", ("}", "x"), "Go to the next difference"),
                Command("pane.zoom", "zoom", ("z",), "Zoom the steps or the state; again: show all panes"),
                replace(ENDING, help="Show how both runs ended: error, traceback and output", rank=45),
                Command("compare.swap", "swap", ("s",), "Swap the two sides", footer="swap", rank=40),
                Command(
                    "compare.only",
                    "only_differences",
                    ("o",),
                    "Show only what differs; again: every pair, then fold what is the same",
                    footer="only differences",
                    rank=50,
                ),
                Command(
                    "compare.inline",
                    "inline",
                    ("v",),
                    "Show A above B; again: beside each other, where there is room",
                    footer="above, beside",
                    rank=55,
                ),
                replace(CHOOSE, help="Open the run at this step", footer="open here", rank=30),
                replace(GOLDEN[0], help="Keep the second run as a test (a golden)", rank=60),
                replace(GOLDEN[1], rank=70),
                replace(COPY_COMMAND, rank=80),
            ),
        ),
        Group("Rows", MOVES),
        LIVE,
    ),
)

TABLE = Context(
    "Table",
    (
        Group(
            EVERYWHERE.title,
            tuple(
                replace(each, help="Stop reading, and go back") if each is ESCAPE else each
                for each in EVERYWHERE.commands
            ),
        ),
        Group(
            "Table",
            (
                *MOVES,
                replace(CHOOSE, help="Compare the run with the base, side by side", footer="compare", rank=10),
                Command("table.open", "open", ("o",), "Open the run", footer="open", rank=20),
                Command("table.sort", "sort", ("s",), "Sort by the next column", footer="sort", rank=30),
                replace(ENDING, rank=40),
            ),
        ),
        Group(LIVE.title, (ANSWER, STOP)),
    ),
)
"""One run against many."""
