"""The keys of the dialogs that ask something, or show something."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.shared import (
    CANCEL,
    CHOOSE,
    COPY_COMMAND,
    HELP,
    HELP_WHILE_TYPING,
    JUMP_OPEN,
    MOVES,
    NEXT_PANE,
    PREVIOUS_PANE,
    UP_AND_DOWN,
)

EDIT = Context(
    "Edit",
    (
        Group(
            "Edit",
            (
                Command("edit.keep", "keep", ("ctrl+s",), "Keep this edit", footer="keep", rank=10, priority=True),
                Command(
                    "edit.recorded",
                    "recorded",
                    ("ctrl+r",),
                    "Reset to the recorded value",
                    footer="as recorded",
                    rank=20,
                    priority=True,
                ),
                Command(
                    "edit.editor",
                    "editor",
                    ("ctrl+e",),
                    "Edit in $EDITOR",
                    footer="open in $EDITOR",
                    rank=30,
                    priority=True,
                ),
                Command(
                    "edit.other",
                    "other",
                    ("ctrl+t",),
                    "Edit another part of an answer: its text, its tool calls, or an error to raise",
                    footer="other form",
                    rank=15,
                    fleeting=True,
                    priority=True,
                ),
                Command(
                    "edit.part",
                    "part",
                    ("ctrl+l",),
                    "Choose one value inside it to edit, also inside JSON text",
                    footer="one value",
                    rank=16,
                    fleeting=True,
                    priority=True,
                ),
            ),
        ),
        Group("Everywhere", (replace(CANCEL, footer="drop"), HELP_WHILE_TYPING, NEXT_PANE, PREVIOUS_PANE)),
    ),
)

EDIT_ROW = Context(
    "Edit in the row",
    (
        Group(
            "Edit",
            (
                Command("row.keep", "keep", ("enter",), "Keep this edit", footer="keep", rank=10, priority=True),
                Command(
                    "row.next",
                    "next",
                    ("tab",),
                    "Keep this edit, and edit the next value",
                    footer="keep, next value",
                    rank=20,
                    priority=True,
                ),
                Command(
                    "row.more",
                    "cursor_up",
                    ("up",),
                    "Add one to a number, a day to a date; turn over a truth value; move the caret up in a text",
                    footer="one more, less",
                    rank=30,
                    pair="row.less",
                    scope="widget",
                    fleeting=True,
                ),
                Command(
                    "row.less",
                    "cursor_down",
                    ("down",),
                    "Take one from a number, a day from a date; turn over a truth value; move the caret down in a text",
                    scope="widget",
                ),
                Command(
                    "row.other",
                    "other",
                    ("ctrl+t",),
                    "Keep it as the type that it reads as, not as the recorded type",
                    footer="keep as another type",
                    rank=15,
                    fleeting=True,
                    priority=True,
                ),
                Command(
                    "row.recorded",
                    "recorded",
                    ("ctrl+r",),
                    "Reset to the recorded value",
                    footer="as recorded",
                    rank=40,
                    priority=True,
                ),
                Command(
                    "row.dialog",
                    "dialog",
                    ("ctrl+l",),
                    "Edit it in the dialog, which shows what was recorded and what changes",
                    footer="in the dialog",
                    rank=60,
                    priority=True,
                ),
                Command(
                    "row.editor",
                    "editor",
                    ("ctrl+e",),
                    "Edit it in $EDITOR",
                    footer="in $EDITOR",
                    rank=50,
                    priority=True,
                ),
            ),
        ),
        Group("Everywhere", (replace(CANCEL, footer="drop"), HELP_WHILE_TYPING)),
    ),
)

ASK = Context(
    "Ask",
    (
        Group(
            "What becomes of the call",
            (
                Command("ask.run", "run", ("F",), "Run it, with the arguments as they stand", footer="run", rank=10),
                Command("ask.give", "give", ("g",), "Give the agent a value instead", footer="give value", rank=30),
                Command("ask.error", "error", ("x",), "Raise an error in the agent instead", footer="error", rank=40),
                Command("ask.refuse", "refuse", ("d",), "Refuse it: the agent is told", footer="refuse", rank=35),
            ),
        ),
        Group(
            "Of an agent that is held",
            (Command("ask.state", "state", ("s",), "Change the state first: PATH=VALUE", footer="state", rank=25),),
        ),
        Group(
            "Its arguments",
            (
                Command("ask.edit", "edit", ("e",), "Edit the arguments", footer="edit", rank=20),
                Command(
                    "ask.done",
                    "done",
                    ("ctrl+s",),
                    "Finish typing; nothing is sent yet",
                    footer="done typing",
                    rank=5,
                    fleeting=True,
                    priority=True,
                ),
                Command(
                    "ask.recorded",
                    "recorded",
                    ("ctrl+r",),
                    "Reset to the arguments of the agent",
                    footer="reset",
                    rank=50,
                    priority=True,
                ),
                Command(
                    "ask.editor",
                    "editor",
                    ("ctrl+e",),
                    "Edit the arguments in $EDITOR",
                    footer="open in $EDITOR",
                    rank=60,
                    priority=True,
                ),
            ),
        ),
        Group(
            "Everywhere",
            (
                replace(CANCEL, help="Stop typing; otherwise leave the call waiting", footer="later"),
                HELP,
                NEXT_PANE,
                PREVIOUS_PANE,
            ),
        ),
    ),
)
"""A call of a running fork that waits for a decision."""

_ASK = {command.id: command for command in ASK.commands}

ASK_TYPING = Context(
    "Ask",
    (
        Group("Its arguments", tuple(_ASK[f"ask.{name}"] for name in ("done", "recorded", "editor"))),
        Group(
            "Everywhere",
            (
                replace(CANCEL, help="Stop typing; the arguments stay as typed", footer="stop typing"),
                HELP_WHILE_TYPING,
            ),
        ),
    ),
)
"""The same while its arguments are typed: what the footer says then."""

PROMPT = Context(
    "Prompt",
    (
        Group(
            "Prompt",
            (
                Command("prompt.accept", "accept", ("enter",), "Accept what was typed", footer="go", rank=10),
                CANCEL,
                HELP_WHILE_TYPING,
            ),
        ),
    ),
)
"""A dialog that asks for one line of text."""

PALETTE_LIST = Context(
    "Palette",
    (
        Group(
            "Palette",
            (
                Command("palette.do", "accept", ("enter",), "Do what is chosen", footer="do it", rank=10),
                Command(
                    "palette.up", "move(-1)", ("up",), "Go one row up", footer="choose", rank=20, pair="palette.down"
                ),
                Command("palette.down", "move(1)", ("down",), "Go one row down"),
                Command("palette.page_up", "page(-1)", ("pageup",), "Go one screen up"),
                Command("palette.page_down", "page(1)", ("pagedown",), "Go one screen down"),
                Command(
                    "palette.group",
                    "group",
                    ("tab",),
                    "Go to the next group",
                    footer="next group",
                    rank=30,
                    priority=True,
                ),
            ),
        ),
        Group("Everywhere", (replace(CANCEL, help="Close", footer="close"), HELP_WHILE_TYPING)),
    ),
)

PICK = Context(
    "Choose",
    (
        Group(
            "Choose",
            (*UP_AND_DOWN, replace(CHOOSE, help="Choose this row", footer="choose", rank=10), HELP, JUMP_OPEN, CANCEL),
        ),
    ),
)
"""A dialog that asks for one of several."""

JUMP = Context(
    "Jump", (Group("Jump", (HELP_WHILE_TYPING, replace(CANCEL, help="Stay where you were", footer="stay here"))),)
)
"""Letters at the rows and tabs of the screen below."""

LOG = Context(
    "Log",
    (
        Group(
            "Log",
            (
                *MOVES,
                replace(CHOOSE, help="Open the run", footer="open", rank=10),
                replace(COPY_COMMAND, help="Copy the command"),
                HELP,
                JUMP_OPEN,
                replace(CANCEL, help="Close", footer="close"),
            ),
        ),
    ),
)
"""What was run from the app."""

OUTCOME = Context(
    "Outcome",
    (
        Group(
            "Outcome",
            (
                *MOVES,
                Command(
                    "outcome.copy",
                    "copy_text",
                    ("y",),
                    "Copy all that it says: error, effects, traceback, output",
                    footer="copy",
                    rank=10,
                ),
                HELP,
                JUMP_OPEN,
                replace(CANCEL, keys=("escape", "q"), help="Close", footer="close"),
            ),
        ),
    ),
)
"""How runs ended."""

COPY = Context(
    "Copy",
    (
        Group(
            "Copy",
            (
                Command("copy.path", "copy('path')", ("p",), "Copy the path", footer="copy path", rank=10),
                Command("copy.value", "copy('value')", ("v",), "Copy the value", footer="copy value", rank=20),
                Command("copy.key", "copy('key')", ("k",), "Copy the key", footer="copy key", rank=30),
                CANCEL,
            ),
        ),
    ),
)
"""What may follow the key that copies."""

CONFIRM = Context(
    "Confirm",
    (
        Group(
            "Confirm",
            (
                Command("confirm.yes", "answer(True)", ("y",), "Yes, do it", footer="yes", rank=10),
                Command("confirm.no", "answer(False)", ("n", "escape"), "No, leave it", footer="no", rank=20),
            ),
        ),
    ),
)

KEYS = Context(
    "Help",
    (
        Group(
            "Help",
            (
                *MOVES,
                Command("help.find", "find", ("/",), "Find a key, a sign or words", footer="find", rank=10),
                Command("app.escape", "escape", ("escape", "q", "?", "f1"), "Close", footer="close", pinned=True),
            ),
        ),
    ),
)
"""The keys of a screen, and what its signs mean."""

READING = Context(
    "Reading",
    (
        Group(
            "Reading",
            (
                *MOVES,
                Command("app.escape", "escape", ("escape", "q", "?", "f1"), "Close", footer="close", pinned=True),
            ),
        ),
    ),
)
"""A dialog that is only read."""
