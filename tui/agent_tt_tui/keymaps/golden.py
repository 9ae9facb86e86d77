"""The keys of tests: a run kept as one (a golden), and those that are kept."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.shared import CANCEL, CHOOSE, EVERYWHERE, HELP, JUMP_OPEN, MOVES

GOLDEN = (
    Command("golden.keep", "keep", ("t",), "Keep the run as a test (a golden)", footer="keep as test", rank=66),
    Command("golden.open", "tests", ("T",), "Show the tests that are kept, and run them", footer="tests", rank=87),
)
"""Wherever a run is at hand."""

KEEP = Context(
    "Keep as test",
    (
        Group(
            "Keep as test",
            (
                *MOVES,
                replace(CHOOSE, help="Keep the run as a test, with the rules that are on", footer="keep", rank=10),
                Command("keep.toggle", "turn", ("space",), "Turn the rule on or off", footer="on, off", rank=20),
                Command("keep.edit", "edit", ("e",), "Change what this row says", footer="edit", rank=30),
                Command("keep.add", "add", ("a",), "Add a rule: choose its kind", footer="add rule", rank=40),
                Command("keep.remove", "remove", ("delete", "backspace"), "Remove the rule", footer="remove", rank=70),
                Command("keep.file", "file", ("v",), "Show the file as it will be written", footer="file", rank=50),
                Command("keep.copy", "copy", ("y",), "Copy the command that does the same", footer="copy", rank=60),
                Command(
                    "keep.replace",
                    "replace",
                    ("r",),
                    "Replace the test of this name; again: do not",
                    footer="replace",
                    rank=65,
                ),
            ),
        ),
        Group("Everywhere", (HELP, JUMP_OPEN, CANCEL)),
    ),
)

TESTS = Context(
    "Tests",
    (
        EVERYWHERE,
        Group(
            "Tests",
            (
                *MOVES,
                replace(CHOOSE, help="Open the kept run and the new one side by side", footer="open both", rank=10),
                Command("tests.run", "run", ("r",), "Run the test: the agent as it is now", footer="run", rank=20),
                Command("tests.run_all", "run_all", ("R",), "Run all tests", footer="run all", rank=30),
                Command(
                    "tests.watch",
                    "watch",
                    ("w",),
                    "Run tests again whenever a file that they run is saved; again: watch no more",
                    footer="watch",
                    rank=35,
                ),
                Command(
                    "tests.watch_live",
                    "watch_live",
                    ("W",),
                    "Watch so, and make calls for real that nothing recorded answers, where the policy lets them",
                ),
                Command(
                    "tests.failing_previous",
                    "failing(-1)",
                    ("{", "X"),
                    "Go to the previous test that does not pass",
                    footer="not passed",
                    rank=60,
                    pair="tests.failing_next",
                ),
                Command("tests.failing_next", "failing(1)", ("}", "x"), "Go to the next test that does not pass"),
                Command(
                    "tests.update",
                    "update",
                    ("u",),
                    "Show how rules that failed would have to be, and change them so on a yes",
                    footer="update",
                    rank=40,
                ),
                Command("tests.copy", "copy", ("y",), "Copy the command that opens both runs", footer="copy", rank=50),
            ),
        ),
    ),
)
"""The tests that are kept, with what came of them."""
