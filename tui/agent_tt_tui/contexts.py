"""The key tables of every screen."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group

_HELP = Command("app.help", "help", ("?", "f1"), "Show the keys of this screen", footer="help", pinned=True)
_HELP_WHILE_TYPING = replace(_HELP, keys=("f1",))
_PALETTE = Command("app.palette", "app.command_palette", ("ctrl+p",), "Find a command by its name")
_NEXT_PANE = Command("pane.next", "app.focus_next", ("tab",), "Go to the next pane")
_PREVIOUS_PANE = Command("pane.previous", "app.focus_previous", ("shift+tab",), "Go to the previous pane")
_ESCAPE = Command("app.escape", "escape", ("escape",), "Close, cancel or clear what is open")
_BACK = Command("app.back", "back", ("q", "ctrl+q"), "Go back; in the list of runs, quit")
_QUIT = replace(_BACK, help="Quit", footer="quit", rank=80)
_CANCEL = Command("app.escape", "escape", ("escape",), "Close without doing anything", footer="cancel", pinned=True)

EVERYWHERE = Group("Everywhere", (_HELP, _PALETTE, _NEXT_PANE, _PREVIOUS_PANE, _ESCAPE, _BACK))

PANES = Group(
    "Panes",
    (
        Command("pane.zoom", "zoom", ("z",), "Give the pane the whole screen, or take it back", footer="zoom", rank=90),
        Command("pane.grow", "resize_pane(1)", ("+", "="), "Make the pane larger"),
        Command("pane.shrink", "resize_pane(-1)", ("-",), "Make the pane smaller"),
    ),
)

TIME = Group(
    "Time",
    (
        Command(
            "time.previous", "step(-1)", ("left",), "Go to the step before", footer="step", rank=10, pair="time.next"
        ),
        Command("time.next", "step(1)", ("right",), "Go to the step after"),
        Command("time.ten_back", "step(-10)", ("shift+left", "H"), "Go ten steps back"),
        Command("time.ten_on", "step(10)", ("shift+right", "L"), "Go ten steps on"),
        Command("time.first", "first_step", ("home", "0"), "Go to the first step"),
        Command("time.last", "last_step", ("end", "$"), "Go to the last step"),
        Command(
            "time.lane_previous",
            "lane_step(-1)",
            ("<",),
            "Go to the step before in this lane",
            footer="lane",
            rank=15,
            pair="time.lane_next",
            fleeting=True,
        ),
        Command("time.lane_next", "lane_step(1)", (">",), "Go to the step after in this lane"),
        Command(
            "time.write_previous",
            "write(-1)",
            ("[", "W"),
            "Go to where the selected path was last written",
            footer="path",
            rank=20,
            pair="time.write_next",
        ),
        Command("time.write_next", "write(1)", ("]", "w"), "Go to where the selected path is written next"),
        Command(
            "time.error_previous",
            "error(-1)",
            ("{", "X"),
            "Go to the error before; after a replay, to the divergence before",
            footer="error",
            rank=70,
            pair="time.error_next",
        ),
        Command(
            "time.error_next", "error(1)", ("}", "x"), "Go to the error after; after a replay, to the divergence after"
        ),
        Command("time.go_to", "go_to", (":",), "Go to a step by its number"),
        Command("time.mark", "mark", ("m",), "Mark this step with the next free letter, or take the mark away"),
        Command("time.go_to_mark", "go_to_mark", ("'", "M"), "Go to a marked step"),
    ),
)

_MOVES = (
    Command("list.down", "move(1)", ("j", "down"), "Go one row down", scope="widget"),
    Command("list.up", "move(-1)", ("k", "up"), "Go one row up", scope="widget"),
    Command("list.first", "first", ("g",), "Go to the first row", scope="widget"),
    Command("list.last", "last", ("G",), "Go to the last row", scope="widget"),
    Command("list.page_down", "page(1)", ("pagedown",), "Go one screen down", scope="widget"),
    Command("list.page_up", "page(-1)", ("pageup",), "Go one screen up", scope="widget"),
)
_CHOOSE = Command("list.choose", "choose", ("enter",), "Choose the row, or fold and unfold it", scope="widget")

_ENDING = Command(
    "run.ending", "ending", ("i",), "Show how the run ended: error, traceback and output", footer="outcome", rank=55
)

LIST = Context("Lists", (Group("Rows", (*_MOVES, _CHOOSE)),))
"""What every list binds for itself."""

_FOLDING = (
    Command("tree.fold", "fold", ("h",), "Fold the branch; again: go to its parent", scope="widget"),
    Command("tree.unfold", "unfold", ("l",), "Unfold the branch; again: go to its first child", scope="widget"),
)
_TOGGLE = Command("tree.toggle", "choose", ("space",), "Fold or unfold the branch", scope="widget")

TREE = Context("Trees", (Group("Branches", (*_FOLDING, _TOGGLE)),))
"""What the state tree binds besides `LIST`; `space` is not in the debugger's own table, where it plays."""

TIMELINE = Context(
    "Timeline",
    (Group("Timeline", (Command("time.play", "play", ("space",), "Play the run, or pause it", scope="widget"),)),),
)
"""What the timeline binds besides `LIST`."""

STRUCTURE = Group(
    "Structure",
    (
        *_MOVES,
        _CHOOSE,
        *_FOLDING,
        Command("view.wrap", "wrap", ("v",), "Wrap long values, or cut them"),
        Command("view.copy", "copy", ("y",), "Copy the path, the value or the key"),
        Command("tab.state", "tab(1)", ("1",), "Show the state"),
        Command("tab.call", "tab(2)", ("2",), "Show the call"),
        Command("tab.messages", "tab(3)", ("3",), "Show the messages"),
        Command("tab.raw", "tab(4)", ("4",), "Show the state as it was recorded"),
        Command("call.previous", "call(-1)", (",",), "Go to the call before in this step"),
        Command("call.next", "call(1)", (".",), "Go to the call after in this step"),
    ),
)

ASK_AND_ACT = Group(
    "Ask and act",
    (
        Command("diff.base", "diff_base", ("d",), "Compare against the next base", footer="diff against", rank=80),
        Command("find.open", "find", ("/",), "Find text in this run", footer="find", rank=60),
        Command("find.next", "find_next(1)", ("n",), "Go to the next hit"),
        Command("find.previous", "find_next(-1)", ("N",), "Go to the hit before"),
        Command("edit.value", "edit", ("e",), "Edit the selected value", footer="edit", rank=30),
        Command("edit.state", "edit_state", ("E",), "Edit the whole state in $EDITOR"),
        Command("edit.undo", "undo_edit", ("u",), "Undo the last edit"),
        Command("edit.undo_all", "undo_edits", ("U",), "Undo all edits"),
        Command("edit.remove", "remove", ("delete", "backspace"), "Remove the selected value from the state"),
        Command("fork.open", "fork", ("f",), "Run on from this step", footer="fork", rank=40),
        Command("compare.open", "compare", ("c",), "Compare with another run", footer="compare", rank=50),
        Command(
            "replay.open",
            "replay",
            ("r",),
            "Replay the run offline, or show what a replay found",
            footer="replay",
            rank=65,
        ),
        replace(_ENDING, footer=""),
    ),
)

LIVE = Group(
    "While it runs",
    (
        Command("live.follow", "follow", ("F",), "Follow the newest step", footer="follow", rank=6, fleeting=True),
        Command(
            "live.stop", "stop", ("S",), "Stop the run that was started here", footer="stop", rank=5, fleeting=True
        ),
    ),
)

DEBUGGER = Context("Debugger", (EVERYWHERE, PANES, TIME, *TIMELINE.groups, STRUCTURE, ASK_AND_ACT, LIVE))

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
                    "Go to the pair before",
                    footer="pair",
                    rank=10,
                    pair="compare.next",
                ),
                Command("compare.next", "pair(1)", ("right",), "Go to the pair after"),
                Command("compare.first", "end_pair(-1)", ("home", "0"), "Go to the first pair"),
                Command("compare.last", "end_pair(1)", ("end", "$"), "Go to the last pair"),
                Command(
                    "compare.difference_previous",
                    "difference(-1)",
                    ("{", "X"),
                    "Go to the difference before",
                    footer="difference",
                    rank=20,
                    pair="compare.difference_next",
                ),
                Command("compare.difference_next", "difference(1)", ("}", "x"), "Go to the difference after"),
                Command("pane.zoom", "zoom", ("z",), "Give the steps or the state the whole screen, or take it back"),
                replace(_ENDING, help="Show how both runs ended: error, traceback and output", rank=45),
                Command("compare.swap", "swap", ("s",), "Swap the two sides", footer="swap", rank=40),
                Command(
                    "compare.only", "only_differences", ("o",), "Show only what differs", footer="differences", rank=50
                ),
                replace(_CHOOSE, help="Open the run at this step", footer="open here", rank=30),
            ),
        ),
        Group("Rows", _MOVES),
        LIVE,
    ),
)

FORK = Context(
    "Fork",
    (
        Group(
            "Fork",
            (
                *_MOVES[:2],
                Command(
                    "fork.policy_previous",
                    "policy(-1)",
                    ("left",),
                    "Choose the policy to the left",
                    footer="policy",
                    rank=20,
                    pair="fork.policy_next",
                ),
                Command("fork.policy_next", "policy(1)", ("right",), "Choose the policy to the right"),
                Command(
                    "fork.agent", "agent", ("a",), "Run another agent, or another version", footer="agent", rank=30
                ),
                Command("fork.name", "name", ("n",), "Name the new run", footer="name", rank=40),
                Command("fork.run", "run", ("F",), "Run the fork", footer="run", rank=10),
            ),
        ),
        Group("Everywhere", (_HELP, _CANCEL)),
    ),
)

REPLAY = Context(
    "Replay",
    (
        Group(
            "Replay",
            (
                *_MOVES[:2],
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
            ),
        ),
        Group(
            "Everywhere",
            (_HELP, _NEXT_PANE, _PREVIOUS_PANE, replace(_CANCEL, help="Stop the replay that runs, else close")),
        ),
    ),
)

REPLAYED = Context(
    "Replayed",
    (
        Group(
            "Replayed",
            (
                *_MOVES,
                replace(
                    _CHOOSE,
                    help="Go to the step and the call of the divergence",
                    footer="go there",
                    rank=10,
                    fleeting=True,
                ),
                Command("replay.again", "again", ("r", "F"), "Replay once more", footer="replay again", rank=20),
            ),
        ),
        Group("Everywhere", (_HELP, _NEXT_PANE, _PREVIOUS_PANE, replace(_CANCEL, help="Close", footer="close"))),
    ),
)
"""What a replay found."""

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
                    "Start again from the recorded value",
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
            ),
        ),
        Group("Everywhere", (replace(_CANCEL, footer="drop"), _HELP_WHILE_TYPING, _NEXT_PANE, _PREVIOUS_PANE)),
    ),
)

RUNS = Context(
    "Runs",
    (
        Group(
            "Runs",
            (
                *_MOVES,
                replace(_CHOOSE, help="Open the run", footer="open", rank=10),
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
                _ENDING,
                Command("runs.add", "add", ("a",), "Add a run: a sample, or your own", footer="add", rank=60),
            ),
        ),
        Group("Everywhere", (_HELP, _PALETTE, _ESCAPE, _QUIT)),
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
        Group("Everywhere", (_HELP, _PALETTE, _QUIT)),
    ),
)

PROMPT = Context(
    "Prompt",
    (
        Group(
            "Prompt",
            (
                Command("prompt.accept", "accept", ("enter",), "Take what was typed", footer="go", rank=10),
                _CANCEL,
                _HELP_WHILE_TYPING,
            ),
        ),
    ),
)
"""A dialog that asks for one line of text."""

FIND = Context(
    "Find",
    (
        Group(
            "Find",
            (
                Command("find.hit_next", "hit(1)", ("down",), "Go to the next hit", scope="widget"),
                Command(
                    "find.hit_previous",
                    "hit(-1)",
                    ("up",),
                    "Go to the hit before",
                    footer="hit",
                    rank=10,
                    pair="find.hit_next",
                    scope="widget",
                ),
                Command("find.accept", "accept", ("enter",), "Stay at this hit", footer="go", rank=20, scope="widget"),
                Command(
                    "find.close",
                    "close",
                    ("escape",),
                    "Go back to the step where the search began",
                    footer="back",
                    pinned=True,
                    scope="widget",
                ),
            ),
        ),
        Group("Everywhere", (_HELP_WHILE_TYPING, _PALETTE)),
    ),
)
"""The line that a search is typed into, in the debugger."""

PICK = Context(
    "Choose",
    (
        Group(
            "Choose",
            (*_MOVES, replace(_CHOOSE, help="Take the row under the cursor", footer="take", rank=10), _HELP, _CANCEL),
        ),
    ),
)
"""A dialog that asks for one of several."""

COPY = Context(
    "Copy",
    (
        Group(
            "Copy",
            (
                Command("copy.path", "copy('path')", ("p",), "Copy the path", footer="copy path", rank=10),
                Command("copy.value", "copy('value')", ("v",), "Copy the value", footer="copy value", rank=20),
                Command("copy.key", "copy('key')", ("k",), "Copy the key", footer="copy key", rank=30),
                _CANCEL,
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

READING = Context(
    "Help",
    (
        Group(
            "Help",
            (
                *_MOVES,
                Command("app.escape", "escape", ("escape", "q", "?", "f1"), "Close", footer="close", pinned=True),
            ),
        ),
    ),
)
"""A dialog that is only read."""

CONTEXTS = (DEBUGGER, COMPARE, FORK, REPLAY, REPLAYED, EDIT, RUNS, EMPTY, PROMPT, FIND, PICK, COPY, CONFIRM, READING)
"""Every context that a person meets, for the key table and the test against clashes."""
