"""The keys of the list of runs, and of a store that has none yet."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.golden import GOLDEN
from agent_tt_tui.keymaps.shared import (
    ABOUT_RUN,
    ANSWER,
    CANCEL,
    CHOOSE,
    ENDING,
    ESCAPE,
    HELP,
    HOLD,
    JUMP_OPEN,
    LOG_OPEN,
    MOVES,
    PALETTE,
    QUIT,
    RUN_AGAIN,
    STOP,
    SUSPEND,
    THEME,
)
from agent_tt_tui.keymaps.statistics import STATISTICS_OPEN

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
                    "Compare the selected runs, one with the run under the cursor, or a fork with its original",
                    footer="compare",
                    rank=20,
                ),
                Command(
                    "runs.compare_forks",
                    "compare_forks",
                    ("C",),
                    "Compare the run with all that was forked from it; on a sweep, with its runs",
                    footer="forks",
                    rank=24,
                    fleeting=True,
                ),
                Command(
                    "runs.select", "select", ("space",), "Select the run; again: deselect it", footer="select", rank=30
                ),
                Command("runs.find", "find", ("/",), "Show only runs that match", footer="filter", rank=40),
                Command(
                    "runs.search",
                    "search",
                    ("ctrl+f",),
                    "Search all runs; asking twice for the filter does the same",
                    footer="find",
                    rank=47,
                ),
                Command("runs.sort", "sort", ("s",), "Sort by the next column", footer="sort", rank=50),
                *RUN_AGAIN,
                Command(
                    "sweep.open", "sweeps", ("V",), "Open a sweep of the run under the cursor", footer="sweeps", rank=75
                ),
                *GOLDEN,
                STATISTICS_OPEN,
                ENDING,
                ANSWER,
                STOP,
                HOLD,
                Command("runs.add", "add", ("a",), "Add a run: a sample, or your own", footer="add", rank=45),
                Command("runs.tag", "tag", ("#",), "Tag the run, or the selected ones", footer="tag", rank=65),
                Command(
                    "runs.delete",
                    "delete",
                    ("delete", "backspace"),
                    "Delete the run, or the selected ones, with what was forked from them; asks first",
                    footer="delete",
                    rank=82,
                ),
                Command(
                    "runs.pin",
                    "pin",
                    ("p",),
                    "Pin the run, so that it cannot be archived or deleted; again: unpin it",
                    footer="pin",
                    rank=84,
                ),
                Command(
                    "runs.archive",
                    "archive",
                    ("x",),
                    "Archive the run and its forks; again: unarchive them",
                    footer="archive",
                    rank=86,
                ),
                Command(
                    "runs.archived", "archived", ("v",), "Show archived runs too, or not", footer="archived", rank=94
                ),
                Command(
                    "runs.rename", "rename", ("n",), "Rename the run, and its forks with it", footer="name", rank=88
                ),
                ABOUT_RUN,
            ),
        ),
        Group("Everywhere", (HELP, PALETTE, JUMP_OPEN, THEME, LOG_OPEN, SUSPEND, ESCAPE, QUIT)),
    ),
)

ABOUT = Context(
    "About",
    (
        Group(
            "About",
            (
                *MOVES,
                replace(CHOOSE, help="Change what this row says, or go to its step", footer="change", rank=10),
                Command(
                    "about.note",
                    "note",
                    ("a",),
                    "Write a note about the run, or about the state of this row",
                    footer="note",
                    rank=20,
                ),
                Command("about.fact", "fact", ("f",), "Add a fact: ticket, purpose, anything", footer="fact", rank=30),
                Command("about.name", "name", ("n",), "Rename the run, or name the state", footer="name", rank=40),
                Command("about.tags", "tags", ("#",), "Change the run's tags", footer="tags", rank=50),
                Command(
                    "about.remove",
                    "remove",
                    ("delete", "backspace"),
                    "Remove what this row says",
                    footer="remove",
                    rank=60,
                ),
            ),
        ),
        Group("Everywhere", (HELP, JUMP_OPEN, replace(CANCEL, help="Close", footer="close"))),
    ),
)
"""What was written down about a run."""

FIRST = Context(
    "First page",
    (
        Group(
            "First page",
            (
                *MOVES,
                replace(
                    CHOOSE, help="Open the session without copying it, or what the row is of", footer="open", rank=10
                ),
                Command(
                    "first.copy",
                    "copy",
                    ("y",),
                    "Copy the session, or the selected ones, into the store; again: what is new in it",
                    footer="copy into the store",
                    rank=20,
                ),
                Command(
                    "first.select",
                    "select",
                    ("space",),
                    "Select the session; again: deselect it",
                    footer="select",
                    rank=30,
                ),
                Command("first.compare", "compare", ("c",), "Compare two selected sessions", footer="compare", rank=40),
                Command("first.find", "find", ("/",), "Show only what says these words", footer="filter", rank=50),
                Command(
                    "first.others",
                    "others",
                    ("o",),
                    "Show all sessions of other folders, or only the newest",
                    footer="all folders",
                    rank=60,
                ),
            ),
        ),
        Group("Everywhere", (HELP, PALETTE, JUMP_OPEN, THEME, LOG_OPEN, SUSPEND, ESCAPE, QUIT)),
    ),
)
"""What there is to look at on this machine."""

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
        Group("Everywhere", (HELP, PALETTE, THEME, SUSPEND, QUIT)),
    ),
)
