"""The keys of the list of runs, and of a store that has none yet."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.contexts.shared import CHOOSE, ENDING, ESCAPE, HELP, MOVES, PALETTE, QUIT, RUN_AGAIN

RUNS = Context(
    "Runs",
    (
        Group(
            "Runs",
            (
                *MOVES,
                replace(CHOOSE, help="Open the run", footer="open", rank=10),
                Command(
                    "runs.compare",
                    "compare",
                    ("c",),
                    "Compare the two selected runs, one with the run under the cursor, or a fork with its original",
                    footer="compare",
                    rank=20,
                ),
                Command("runs.select", "select", ("space",), "Select the run, or not", footer="select", rank=30),
                Command("runs.find", "find", ("/",), "Show only runs that match", footer="find", rank=40),
                Command("runs.sort", "sort", ("s",), "Sort by the next column", footer="sort", rank=50),
                *RUN_AGAIN,
                ENDING,
                Command("runs.add", "add", ("a",), "Add a run: a sample, or your own", footer="add", rank=60),
            ),
        ),
        Group("Everywhere", (HELP, PALETTE, ESCAPE, QUIT)),
    ),
)

EMPTY = Context(
    "No runs yet",
    (
        Group(
            "A first run",
            (
                Command("empty.sample", "sample", ("s",), "Open a sample run", footer="sample", rank=10),
                Command("empty.record", "record", ("r",), "Show how to record your agent", footer="record", rank=20),
                Command("empty.open", "open_file", ("o",), "Open a store by its path", footer="open file", rank=30),
            ),
        ),
        Group("Everywhere", (HELP, PALETTE, QUIT)),
    ),
)
