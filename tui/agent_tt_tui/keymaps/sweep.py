"""The keys of a sweep's matrix, and of the form that begins one."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.shared import CANCEL, CHOOSE, COPY_COMMAND, EVERYWHERE, HELP, JUMP_OPEN, MOVES

SWEEP_OPEN = Command(
    "sweep.open",
    "sweep",
    ("V",),
    "Sweep: fork the run with many values, or open a sweep of it",
    footer="sweep",
    rank=75,
)

SWEEP = Context(
    "Sweep",
    (
        EVERYWHERE,
        Group(
            "Matrix",
            (
                Command(
                    "sweep.previous",
                    "sample(-1)",
                    ("left", "h"),
                    "Go to the previous sample",
                    footer="sample",
                    rank=10,
                    pair="sweep.next",
                ),
                Command("sweep.next", "sample(1)", ("right", "l"), "Go to the next sample"),
                *MOVES,
                replace(CHOOSE, help="Open the run, or choose one where several were begun", footer="open", rank=20),
                Command(
                    "sweep.compare",
                    "compare",
                    ("c",),
                    "Compare the two marked runs, the marked one with this, or this one with what it was forked from",
                    footer="compare",
                    rank=30,
                ),
                Command(
                    "sweep.mark",
                    "mark",
                    ("space",),
                    "Mark the run for comparing; again: unmark it",
                    footer="mark",
                    rank=40,
                ),
                Command(
                    "sweep.outcome",
                    "outcome",
                    ("o",),
                    "Show the next outcome that was asked for",
                    footer="outcome",
                    rank=50,
                ),
            ),
        ),
        Group(
            "Driving it",
            (
                Command(
                    "sweep.stop",
                    "stop",
                    ("S",),
                    "Stop the sweep: running forks are interrupted",
                    footer="stop",
                    rank=5,
                    fleeting=True,
                ),
                Command(
                    "sweep.resume",
                    "resume",
                    ("R",),
                    "Resume the sweep: run what has no outcome yet",
                    footer="resume",
                    rank=6,
                    fleeting=True,
                ),
            ),
        ),
    ),
)

SWEEP_FORM = Context(
    "New sweep",
    (
        Group(
            "New sweep",
            (
                *MOVES,
                replace(CHOOSE, help="Change what this row says", footer="change", rank=20),
                Command(
                    "sweep.vary", "vary", ("a",), "Add an axis: vary something else too", footer="add axis", rank=30
                ),
                Command(
                    "sweep.drop",
                    "drop",
                    ("delete", "backspace"),
                    "Remove what this row says",
                    footer="remove",
                    rank=40,
                ),
                Command("sweep.run", "run", ("F",), "Start the sweep, for real", footer="run", rank=10),
                COPY_COMMAND,
            ),
        ),
        Group("Everywhere", (HELP, JUMP_OPEN, CANCEL)),
    ),
)
"""What is varied, how often, and what it may cost."""
