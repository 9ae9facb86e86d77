"""Keys that several screens have, and keys that widgets bind for themselves on any screen."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group

HELP = Command("app.help", "help", ("?", "f1"), "Show the keys of this screen", footer="help", pinned=True)

HELP_WHILE_TYPING = replace(HELP, keys=("f1",))

PALETTE = Command("app.palette", "app.command_palette", ("ctrl+p",), "Find a command, a step or a value by words")

JUMP_OPEN = Command("app.jump", "app.jump", ("ctrl+g",), "Put letters at all rows and tabs; typing them goes there")

THEME = Command("app.theme", "app.choose_theme", ("f4",), "Choose a theme; each is tried as the cursor comes to it")

LOG_OPEN = Command(
    "app.log", "app.show_log", ("!",), "Show what was run from here, what went out, and what can be taken back"
)

SUSPEND = Command(
    "app.suspend", "app.suspend_process", ("ctrl+z",), "Suspend the app; `fg` in the shell brings it back"
)

NEXT_PANE = Command("pane.next", "app.focus_next", ("tab",), "Go to the next pane")

PREVIOUS_PANE = Command("pane.previous", "app.focus_previous", ("shift+tab",), "Go to the previous pane")

ESCAPE = Command("app.escape", "escape", ("escape",), "Close, cancel or clear what is open")

BACK = Command(
    "app.back",
    "back",
    ("q", "ctrl+q"),
    "Go back; in the list of runs, quit",
    footer="back",
    rank=49,
    pinned=True,
)
"""How a screen is left. Pinned, so that nobody has to look for the way out."""

QUIT = replace(BACK, help="Quit", footer="quit")

CANCEL = Command("app.escape", "escape", ("escape",), "Close without doing anything", footer="cancel", pinned=True)

EVERYWHERE = Group(
    "Everywhere", (HELP, PALETTE, JUMP_OPEN, THEME, LOG_OPEN, SUSPEND, NEXT_PANE, PREVIOUS_PANE, ESCAPE, BACK)
)

MOVES = (
    Command("list.down", "move(1)", ("j", "down"), "Go one row down", scope="widget"),
    Command("list.up", "move(-1)", ("k", "up"), "Go one row up", scope="widget"),
    Command("list.first", "first", ("g",), "Go to the first row", scope="widget"),
    Command("list.last", "last", ("G",), "Go to the last row", scope="widget"),
    Command("list.page_down", "page(1)", ("pagedown",), "Go one screen down", scope="widget"),
    Command("list.page_up", "page(-1)", ("pageup",), "Go one screen up", scope="widget"),
)

UP_AND_DOWN = (
    replace(MOVES[1], keys=("up", "k"), footer="row", rank=15, pair="list.down"),
    replace(MOVES[0], keys=("down", "j")),
    *MOVES[2:],
)
"""The same, named in the footer where a list is all that there is."""

CHOOSE = Command("list.choose", "choose", ("enter",), "Choose the row, or fold and unfold it", scope="widget")

ENDING = Command(
    "run.ending", "ending", ("i",), "Show how the run ended: error, traceback and output", footer="outcome", rank=55
)

ABOUT_RUN = Command(
    "run.about", "about", ("A",), "Show and change names, tags, facts and notes of the run", footer="about", rank=92
)

ANSWER = Command(
    "live.answer",
    "answer",
    ("Y",),
    "Decide about a call that waits for approval",
    footer="answer",
    rank=4,
    fleeting=True,
)

STOP = Command("live.stop", "stop", ("S",), "Stop this run, whoever started it", footer="stop", rank=5, fleeting=True)

HOLD = Command(
    "live.hold",
    "hold",
    ("Z",),
    "Hold the agent before its next call, or let it go on",
    footer="hold",
    rank=8,
    fleeting=True,
)

LIVE = Group(
    "While it runs",
    (
        ANSWER,
        Command("live.follow", "follow", ("F",), "Follow the newest step", footer="follow", rank=6, fleeting=True),
        STOP,
    ),
)

RUN_AGAIN = (
    Command(
        "replay.open",
        "replay",
        ("r",),
        "Replay the run offline, or show what a replay found",
        footer="replay",
        rank=65,
    ),
    Command(
        "resume.open",
        "resume",
        ("R",),
        "Resume the run, which crashed or was interrupted",
        footer="resume",
        rank=7,
        fleeting=True,
    ),
)
"""Running a recorded agent again, from wherever a run is at hand."""


COPY_COMMAND = Command(
    "command.copy", "copy_command", ("y",), "Copy the command that does the same", footer="as command", rank=70
)
"""Of every dialog and screen that does what a command does, too."""

LIST = Context("Lists", (Group("Rows", (*MOVES, CHOOSE)),))
"""The keys of every list."""

FOLDING = (
    Command("tree.fold", "fold", ("h",), "Fold the branch; again: go to its parent", scope="widget"),
    Command("tree.unfold", "unfold", ("l",), "Unfold the branch; again: go to its first child", scope="widget"),
)

TOGGLE = Command("tree.toggle", "choose", ("space",), "Fold or unfold the branch", scope="widget")

TREE = Context("Trees", (Group("Branches", (*FOLDING, TOGGLE)),))
"""Further keys of the state tree, which is a list too; `space` plays elsewhere in the debugger."""

TIMELINE = Context(
    "Timeline",
    (Group("Timeline", (Command("time.play", "play", ("space",), "Play the run, or pause it", scope="widget"),)),),
)
"""A further key of the timeline, which is a list too."""
