"""The keys of the dialogs that run an agent (fork, replay, resume), and of those that ask a model again."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.shared import (
    CANCEL,
    CHOOSE,
    COPY_COMMAND,
    ENDING,
    EVERYWHERE,
    HELP,
    JUMP_OPEN,
    MOVES,
    NEXT_PANE,
    PREVIOUS_PANE,
    STOP,
    UP_AND_DOWN,
)

FORK = Context(
    "Fork",
    (
        Group(
            "Fork",
            (
                *UP_AND_DOWN,
                Command(
                    "fork.policy_previous",
                    "policy(-1)",
                    ("left",),
                    "Choose the policy to the left, or the choice before",
                    footer="policy",
                    rank=20,
                    pair="fork.policy_next",
                    fleeting=True,
                ),
                Command(
                    "fork.policy_next", "policy(1)", ("right",), "Choose the policy to the right, or the next choice"
                ),
                replace(
                    CHOOSE,
                    help="Choose a version; type a value, such as a stub's; of what is recorded: halt or ask",
                    footer="change",
                    rank=25,
                    fleeting=True,
                ),
                Command(
                    "fork.reads",
                    "reads",
                    ("e",),
                    "Say that a tool only reads; again: that it writes. Kept for later forks",
                    footer="only reads",
                    rank=27,
                    fleeting=True,
                ),
                Command(
                    "fork.clear",
                    "clear",
                    ("delete", "backspace"),
                    "Clear the choice",
                    footer="clear",
                    rank=65,
                    fleeting=True,
                ),
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
        Group("Everywhere", (HELP, JUMP_OPEN, CANCEL)),
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
            (HELP, JUMP_OPEN, NEXT_PANE, PREVIOUS_PANE, replace(CANCEL, help="Stop the replay that runs, else close")),
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
        Group("Everywhere", (HELP, JUMP_OPEN, NEXT_PANE, PREVIOUS_PANE, replace(CANCEL, help="Close", footer="close"))),
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
            (HELP, JUMP_OPEN, NEXT_PANE, PREVIOUS_PANE, replace(CANCEL, help="Stop what was begun, else close")),
        ),
    ),
)
"""What it takes to go on with a run that broke off."""

AGAIN = Context(
    "Ask again",
    (
        Group(
            "Ask again",
            (
                Command("again.send", "send", ("F",), "Send the request, for real", footer="send", rank=10),
                Command(
                    "again.fewer",
                    "times(-1)",
                    ("left",),
                    "Ask one time less",
                    footer="times",
                    rank=20,
                    pair="again.more",
                ),
                Command("again.more", "times(1)", ("right",), "Ask one time more"),
                Command("again.edit", "edit", ("e", "enter"), "Edit the request, as JSON", footer="edit", rank=30),
                Command("again.model", "model", ("m",), "Ask another model", footer="model", rank=40),
                Command(
                    "again.key",
                    "key_variable",
                    ("k",),
                    "Name the variable that holds the key for this server",
                    footer="key",
                    rank=50,
                ),
                Command(
                    "again.clear",
                    "clear",
                    ("delete", "backspace"),
                    "Ask once more what was recorded, without edits",
                    footer="as recorded",
                    rank=60,
                    fleeting=True,
                ),
                COPY_COMMAND,
            ),
        ),
        Group("Everywhere", (HELP, JUMP_OPEN, CANCEL)),
    ),
)
"""What a recorded call asked, before it is sent again."""

ANSWERS = Context(
    "Answers",
    (
        EVERYWHERE,
        Group(
            "Answers",
            (
                *MOVES,
                replace(CHOOSE, help="Open the answer in the debugger", footer="open", rank=20),
                Command(
                    "answers.again",
                    "ask_again",
                    ("Q",),
                    "Ask the model once more, with the same edits",
                    footer="ask again",
                    rank=30,
                ),
                STOP,
                ENDING,
                COPY_COMMAND,
            ),
        ),
    ),
)
"""The answers to a call that was asked again, beside the recorded one."""
