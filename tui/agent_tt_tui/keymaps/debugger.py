"""The keys of the debugger."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.golden import GOLDEN
from agent_tt_tui.keymaps.shared import (
    ABOUT_RUN,
    CANCEL,
    CHOOSE,
    ENDING,
    ESCAPE,
    EVERYWHERE,
    FOLDING,
    HELP,
    HELP_WHILE_TYPING,
    HOLD,
    LIVE,
    MOVES,
    PALETTE,
    RUN_AGAIN,
    SUSPEND,
    THEME,
    TIMELINE,
)
from agent_tt_tui.keymaps.sweep import SWEEP_OPEN

_SENTENCE = Command(
    "blame.words",
    "words",
    (";",),
    "Ask who wrote one sentence of the text whose writer is shown",
    footer="one sentence",
    rank=30,
    fleeting=True,
)

PANES = Group(
    "Panes",
    (
        Command("pane.zoom", "zoom", ("z",), "Zoom the pane; again: show all panes", footer="zoom", rank=90),
        Command("pane.grow", "resize_pane(1)", ("+", "="), "Make the pane larger"),
        Command("pane.shrink", "resize_pane(-1)", ("-",), "Make the pane smaller"),
    ),
)

TIME = Group(
    "Time",
    (
        Command(
            "time.previous", "step(-1)", ("left",), "Go to the previous step", footer="step", rank=10, pair="time.next"
        ),
        Command("time.next", "step(1)", ("right",), "Go to the next step"),
        Command("time.ten_back", "step(-10)", ("shift+left", "H"), "Go ten steps back"),
        Command("time.ten_on", "step(10)", ("shift+right", "L"), "Go ten steps on"),
        Command("time.first", "first_step", ("home", "0"), "Go to the first step"),
        Command("time.last", "last_step", ("end", "$"), "Go to the last step"),
        Command(
            "time.lane_previous",
            "lane_step(-1)",
            ("<",),
            "Go to the previous step in this lane",
            footer="lane",
            rank=15,
            pair="time.lane_next",
            fleeting=True,
        ),
        Command("time.lane_next", "lane_step(1)", (">",), "Go to the next step in this lane"),
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
            "Go to the previous error; after a replay, to the previous divergence",
            footer="error",
            rank=70,
            pair="time.error_next",
        ),
        Command(
            "time.error_next", "error(1)", ("}", "x"), "Go to the error after; after a replay, to the divergence after"
        ),
        Command("time.break_previous", "break(-1)", ("K",), "Go back to the previous stop at a breakpoint"),
        Command(
            "time.break_next",
            "break(1)",
            ("J",),
            "Go on to the next stop at a breakpoint",
            footer="breakpoint",
            rank=12,
            pair="time.break_previous",
            fleeting=True,
        ),
        Command(
            "time.edge_previous",
            "edge(-1)",
            ("(",),
            "Go back to where the expression began or stopped holding",
            footer="begins, stops",
            rank=64,
            pair="time.edge_next",
            fleeting=True,
        ),
        Command("time.edge_next", "edge(1)", (")",), "Go on to where the expression begins or stops holding"),
        Command("time.go_to", "go_to", (":",), "Go to a step: a number, +3, @1m30s, a name, errors, calls NAME"),
        Command("time.mark", "mark", ("m",), "Mark this step with the next free letter; again: remove the mark"),
        Command("time.go_to_mark", "go_to_mark", ("'", "M"), "Go to a marked step"),
    ),
)

STRUCTURE = Group(
    "Structure",
    (
        *MOVES,
        CHOOSE,
        *FOLDING,
        Command("view.wrap", "wrap", ("v",), "Wrap long values, or cut them"),
        Command("view.copy", "copy", ("y",), "Copy the path, the value or the key"),
        Command("tab.state", "tab(1)", ("1",), "Show the state"),
        Command("tab.call", "tab(2)", ("2",), "Show the call"),
        Command("tab.context", "tab(3)", ("3",), "Show the context: what each model call was sent, and from where"),
        Command("tab.messages", "tab(4)", ("4",), "Show the messages"),
        Command("tab.raw", "tab(5)", ("5",), "Show the state as it was recorded"),
        Command("call.previous", "call(-1)", (",",), "Go to the previous call in this step; of models in Context"),
        Command("call.next", "call(1)", (".",), "Go to the next call in this step; of models in Context"),
    ),
)

ASK_AND_ACT = Group(
    "Ask and act",
    (
        Command("diff.base", "diff_base", ("d",), "Compare against the next base", footer="diff against", rank=80),
        Command(
            "state.pending",
            "apply_pending",
            ("ctrl+w",),
            "Apply pending writes of LangGraph to the state of this step; again: show it as it was kept",
            footer="pending writes",
            rank=81,
            fleeting=True,
        ),
        Command("diff.other", "diff_other", ("D",), "Compare against any state of any run, also of another file"),
        Command(
            "blame.open",
            "blame",
            ("b",),
            "Show who wrote the selected value, and what caused it; again: close it, and stay at this step",
            footer="blame",
            rank=62,
        ),
        _SENTENCE,
        Command(
            "odd.open",
            "odd",
            ("O",),
            "List oddities of the run: loops, retries, slow and costly steps; go to each",
            footer="oddities",
            rank=75,
            fleeting=True,
        ),
        Command(
            "watch.open",
            "watches",
            ("B",),
            "List watches: expressions that are marked where they hold, and breakpoints",
            footer="watches",
            rank=63,
        ),
        Command(
            "find.open",
            "find",
            ("/",),
            "Find text in this run; after ?, the steps at which a question holds",
            footer="find",
            rank=60,
        ),
        Command("find.next", "find_next(1)", ("n",), "Go to the next hit"),
        Command("find.previous", "find_next(-1)", ("N",), "Go to the previous hit"),
        Command(
            "edit.value",
            "edit",
            ("e",),
            "Edit the selected value, the message, or what came back of the call that is shown",
            footer="edit",
            rank=30,
        ),
        Command("edit.state", "edit_state", ("E",), "Edit the whole state in $EDITOR"),
        Command("edit.undo", "undo_edit", ("u",), "Undo the last edit"),
        Command("edit.undo_all", "undo_edits", ("U",), "Undo all edits"),
        Command(
            "edit.remove",
            "remove",
            ("delete", "backspace"),
            "Remove the selected value or message; in the list of pending edits, the edit",
        ),
        Command("edit.insert", "insert", ("a",), "Insert a value: into a list, or a new key", footer="insert", rank=93),
        Command("edit.move", "move_value", ("p",), "Move the selected value to another path", footer="move", rank=94),
        Command(
            "edit.mute",
            "mute",
            ("s",),
            "Mute this step, as if it had never happened; again: take that back",
            footer="mute step",
            rank=95,
        ),
        Command("fork.open", "fork", ("f",), "Fork: run the agent on from this step", footer="fork", rank=40),
        Command(
            "compare.open", "compare", ("c",), "Compare with another run, or with all forks", footer="compare", rank=50
        ),
        *RUN_AGAIN,
        SWEEP_OPEN,
        *GOLDEN,
        Command("pdb.open", "pdb", ("P",), "Open pdb in the agent, at this step of a replay", footer="pdb", rank=85),
        replace(ENDING, footer=""),
        replace(
            ABOUT_RUN, help="Show and change what is written down about the run and this state: names, facts, notes"
        ),
        Command(
            "run.export",
            "export",
            ("ctrl+e",),
            "Export the run as a file that others can read: a page, Markdown, a picture of this screen",
            footer="export",
            rank=91,
        ),
        Command("run.kin", "kin", ("o",), "Open a fork that starts here, or the run that this one was forked from"),
    ),
)

_LIVE = Group(LIVE.title, (*LIVE.commands, HOLD))

DEBUGGER = Context("Debugger", (EVERYWHERE, PANES, TIME, *TIMELINE.groups, STRUCTURE, ASK_AND_ACT, _LIVE))

BLAME = Context(
    "Who wrote it",
    (
        Group(
            "Who wrote it",
            (
                *MOVES[2:],
                replace(MOVES[1], keys=("up", "k"), footer="along the way", rank=10, pair="list.down"),
                replace(MOVES[0], keys=("down", "j")),
                replace(CHOOSE, help="Stay at the place that is shown; b comes back here", footer="stay", rank=20),
                _SENTENCE,
                replace(ESCAPE, help="Go back to the step where you asked", footer="back", pinned=True),
            ),
        ),
        Group("Everywhere", (HELP, PALETTE, THEME, SUSPEND)),
    ),
)
"""The list of a value's way back, beside the other keys of the debugger."""

CONTEXT = Context(
    "Context",
    (
        Group(
            "Context",
            (
                *MOVES[2:],
                replace(MOVES[1], keys=("up", "k"), footer="item", rank=20, pair="list.down"),
                replace(MOVES[0], keys=("down", "j")),
                replace(CHOOSE, help="Read the item in full, or open what is folded", footer="in full", rank=30),
                *FOLDING,
                Command(
                    "context.previous",
                    "model_call(-1)",
                    (",",),
                    "Go to the previous model call",
                    footer="model call",
                    rank=10,
                    pair="context.next",
                    scope="widget",
                ),
                Command("context.next", "model_call(1)", (".",), "Go to the next model call", scope="widget"),
                Command(
                    "context.origin",
                    "origin",
                    ("b",),
                    "Go to where the item came from",
                    footer="where from",
                    rank=40,
                    scope="widget",
                ),
                Command(
                    "context.fork",
                    "fork_without",
                    ("f",),
                    "Fork the run without the item",
                    footer="fork without",
                    rank=50,
                    scope="widget",
                ),
                Command(
                    "context.by_size",
                    "by_size",
                    ("s",),
                    "Put the largest items first; again: from top to bottom",
                    footer="by size",
                    rank=60,
                    scope="widget",
                ),
                replace(ESCAPE, help="Go back from the item in full to the list", footer="back", pinned=True),
            ),
        ),
        Group("Everywhere", (HELP, PALETTE, SUSPEND)),
    ),
)
"""The list of what a model call was sent, beside the other keys of the debugger."""

WATCHES = Context(
    "Watches",
    (
        Group(
            "Watches",
            (
                *MOVES,
                replace(CHOOSE, help="Go through the steps at which it holds", footer="go", rank=10),
                Command("watch.add", "add", ("a",), "Add an expression to watch", footer="add", rank=20),
                Command(
                    "watch.break",
                    "break",
                    ("b",),
                    "Make it a breakpoint; again: only watch it",
                    footer="break",
                    rank=30,
                ),
                Command("watch.edit", "edit", ("e",), "Change the expression", footer="edit", rank=40),
                Command("watch.name", "name", ("n",), "Name it, beside its letter", footer="name", rank=50),
                Command("watch.off", "off", ("x",), "Turn the watch off, or on again", footer="on, off", rank=60),
                Command(
                    "watch.remove",
                    "remove",
                    ("delete", "backspace"),
                    "Remove the watch",
                    footer="remove",
                    rank=70,
                ),
            ),
        ),
        Group("Everywhere", (HELP, replace(CANCEL, help="Close", footer="close"))),
    ),
)
"""What is watched in a run."""

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
                    "Go to the previous hit",
                    footer="hit",
                    rank=10,
                    pair="find.hit_next",
                    scope="widget",
                ),
                Command("find.accept", "accept", ("enter",), "Stay at this hit", footer="go", rank=20, scope="widget"),
                Command(
                    "find.field",
                    "field(1)",
                    ("tab",),
                    "Search something else: all, the state, what was asked, answers, errors, names",
                    footer="where",
                    rank=30,
                    scope="widget",
                ),
                Command("find.field_back", "field(-1)", ("shift+tab",), "The same, going back", scope="widget"),
                Command(
                    "find.regex",
                    "regex",
                    ("ctrl+r",),
                    "Search for a pattern, or for words again",
                    footer="regex",
                    rank=40,
                    scope="widget",
                ),
                Command(
                    "find.order",
                    "order",
                    ("ctrl+o",),
                    "Show hits in the order of the steps, or the best first",
                    footer="order",
                    rank=50,
                    scope="widget",
                ),
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
        Group("Everywhere", (HELP_WHILE_TYPING, PALETTE, THEME, SUSPEND)),
    ),
)
"""The line that a search is typed into, in the debugger."""

FIND_ALL = Context(
    "Find in all runs",
    tuple(
        replace(
            group,
            commands=tuple(
                replace(command, help="Open the run at this hit", footer="open")
                if command.id == "find.accept"
                else replace(command, help="Go back to the list of runs")
                if command.id == "find.close"
                else command
                for command in group.commands
                if command.id != "find.order"
            ),
        )
        for group in FIND.groups
    ),
)
"""The same in all runs of a store: hits stand by run, the best first."""
