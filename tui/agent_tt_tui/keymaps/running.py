"""The keys of the dialogs that run an agent: fork, replay, resume."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.shared import CANCEL, CHOOSE, COPY_COMMAND, HELP, MOVES, NEXT_PANE, PREVIOUS_PANE

FORK = Context(
    "Fork",
    (
        Group(
            "Fork",
            (
                *MOVES,
                Command(
                    "fork.policy_previous",
                    "policy(-1)",
                    ("left",),
                    "Choose the policy to the left, or the choice before",
                    footer="policy",
                    rank=20,
                    pair="fork.policy_next",
                ),
                Command(
                    "fork.policy_next", "policy(1)", ("right",), "Choose the policy to the right, or the next choice"
                ),
                replace(
                    CHOOSE,
                    help="Choose a version; type a value, such as a stub's; of what is recorded: halt or ask",
                    footer="value",
                    rank=25,
                ),
                Command(
                    "fork.reads",
                    "reads",
                    ("e",),
                    "Say that a tool only reads; again: that it writes. Kept for later forks",
                    footer="only reads",
                    rank=27,
                ),
                Command("fork.clear", "clear", ("delete", "backspace"), "Clear the choice", footer="clear", rank=65),
            ),
        ),
        Group(
            "Terms",
            (
                Command("fork.agent", "agent", ("a",), "Run another agent, which you type", footer="agent", rank=30),
                Command(
                    "fork.continue_with",
                    "continue_with",
                    ("c",),
                    "Run no program: a model that you name goes on with the conversation",
                    footer="conversation",
                    rank=33,
                ),
                Command(
                    "fork.more", "fold('rest')", ("m",), "Show all settings; again: hide them", footer="more", rank=35
                ),
                Command(
                    "fork.each", "fold('calls')", ("o",), "Show each call; again: fold them", footer="each", rank=60
                ),
                Command("fork.budget", "budget", ("b",), "Go to the limits", footer="budget", rank=40),
                Command(
                    "fork.rehearse",
                    "rehearse",
                    ("r",),
                    "Rehearse with made-up answers of models; again: ask the models",
                    footer="rehearse",
                    rank=45,
                ),
                Command("fork.name", "name", ("n",), "Name the new run", footer="name", rank=50),
                Command("fork.run", "run", ("F",), "Run the fork", footer="run", rank=10),
                COPY_COMMAND,
            ),
        ),
        Group("Everywhere", (HELP, CANCEL)),
    ),
)

REPLAY = Context(
    "Replay",
    (
        Group(
            "Replay",
            (
                *MOVES[:2],
                Command("replay.run", "run", ("F", "enter"), "Replay the run", footer="replay", rank=10),
                Command(
                    "replay.mode_previous",
                    "mode(-1)",
                    ("left",),
                    "Choose the other mode: halt at the first difference, or observe them all",
                    footer="mode",
                    rank=20,
                    pair="replay.mode_next",
                ),
                Command("replay.mode_next", "mode(1)", ("right",), "Choose the other mode"),
                Command(
                    "replay.arguments",
                    "arguments",
                    ("a",),
                    "Give the agent other arguments than it was recorded with",
                    footer="arguments",
                    rank=30,
                ),
                Command(
                    "replay.agent",
                    "agent",
                    ("A",),
                    "Run another entry point, where the code has moved",
                    footer="moved code",
                    rank=40,
                ),
                COPY_COMMAND,
            ),
        ),
        Group(
            "Everywhere",
            (HELP, NEXT_PANE, PREVIOUS_PANE, replace(CANCEL, help="Stop the replay that runs, else close")),
        ),
    ),
)

REPLAYED = Context(
    "Replayed",
    (
        Group(
            "Replayed",
            (
                *MOVES,
                replace(
                    CHOOSE,
                    help="Go to the step and the call of the divergence",
                    footer="go there",
                    rank=10,
                    fleeting=True,
                ),
                Command("replay.again", "again", ("r", "F"), "Replay once more", footer="replay again", rank=20),
            ),
        ),
        Group("Everywhere", (HELP, NEXT_PANE, PREVIOUS_PANE, replace(CANCEL, help="Close", footer="close"))),
    ),
)
"""What a replay found."""

RESUME = Context(
    "Resume",
    (
        Group(
            "Resume",
            (
                *MOVES[:2],
                Command("resume.run", "run", ("F",), "Resume the run, for real", footer="resume", rank=10),
                Command(
                    "resume.said_previous",
                    "said(-1)",
                    ("left",),
                    "Choose whether the call happened: the choice to the left",
                    footer="did it happen",
                    rank=20,
                    pair="resume.said_next",
                ),
                Command("resume.said_next", "said(1)", ("right",), "The choice to the right"),
                replace(CHOOSE, help="It happened: type its result", footer="result", rank=30),
            ),
        ),
        Group(
            "Everywhere",
            (HELP, NEXT_PANE, PREVIOUS_PANE, replace(CANCEL, help="Stop what was begun, else close")),
        ),
    ),
)
"""What it takes to go on with a run that broke off."""
