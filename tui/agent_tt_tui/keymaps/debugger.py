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
    JUMP_OPEN,
    LIVE,
    MOVES,
    PALETTE,
    RUN_AGAIN,
    SUSPEND,
    THEME,
    TIMELINE,
    UP_AND_DOWN,
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
            rank=63,
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
        replace(UP_AND_DOWN[0], footer=""),
        *UP_AND_DOWN[1:],
        CHOOSE,
        *FOLDING,
        Command(
            "columns.open",
            "columns",
            ("C",),
            "Choose the columns of the timeline, and their order",
            footer="columns",
            rank=92,
        ),
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
        Command(
            "range.mark",
            "mark_range",
            ("|",),
            "Begin a range of steps: tokens, cost, time, writes and diff of it; again: end it",
            footer="range",
            rank=82,
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
            "causes.mark",
            "mark_causes",
            ("&",),
            "Mark the steps that fed this one, and those that it fed; again: take the marks away",
            footer="what fed it",
            rank=76,
        ),
        Command("causes.list", "list_causes", ("*",), "List what fed this step, and what it fed; go to one"),
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
            "Find steps, which the timeline narrows to: words, kind:model, error:, took>2s, or ? and a question",
            footer="find",
            rank=60,
        ),
        Command("find.next", "find_next(1)", ("n",), "Go to the next hit"),
        Command("find.previous", "find_next(-1)", ("N",), "Go to the previous hit"),
        Command(
            "edit.value",
            "edit",
            ("e",),
            "Edit the selected value, the message, or what came back of the call",
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
        Command(
            "again.open",
            "ask_again",
            ("Q",),
            "Ask the model again what this call asked, once or many times; in a run of answers, show them",
            footer="ask again",
            rank=67,
            fleeting=True,
        ),
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

LEARN = Group(
    "Learn",
    (
        Command(
            "tour.go",
            "tour",
            ("f2",),
            "Take the tour: what can be done here, one sentence after the other; in the tour: go on",
        ),
    ),
)

_LIVE = Group(LIVE.title, (*LIVE.commands, HOLD))

_EVERYWHERE = Group(
    EVERYWHERE.title,
    tuple(replace(each, footer="pane", rank=25) if each.id == "pane.next" else each for each in EVERYWHERE.commands),
)

DEBUGGER = Context("Debugger", (_EVERYWHERE, PANES, TIME, *TIMELINE.groups, STRUCTURE, ASK_AND_ACT, LEARN, _LIVE))

_ON_A_VALUE = {
    "list.up": (5, "value"),
    "time.write_previous": (20, "path"),
    "edit.value": (22, "edit"),
    "blame.open": (24, "blame"),
    "fork.open": (26, "fork"),
    "pane.next": (28, "pane"),
}

IN_STATE = Context(
    DEBUGGER.title,
    tuple(
        Group(
            group.title,
            tuple(
                replace(each, footer=_ON_A_VALUE[each.id][1], rank=_ON_A_VALUE[each.id][0])
                if each.id in _ON_A_VALUE
                else each
                for each in group.commands
            ),
        )
        for group in DEBUGGER.groups
    ),
)
"""The same keys, in the order of the footer while a value is selected: what is done with it stands first."""

BLAME = Context(
    "Who wrote it",
    (
        Group(
            "Who wrote it",
            (
                *MOVES[2:],
                replace(MOVES[1], keys=("up", "k"), footer="along the way", rank=10, pair="list.down"),
                replace(MOVES[0], keys=("down", "j")),
                replace(CHOOSE, help="Stay at this place; asking again comes back here", footer="stay", rank=20),
                _SENTENCE,
                replace(ESCAPE, help="Go back to the step where you asked", footer="back", pinned=True),
            ),
        ),
        Group("Everywhere", (HELP, PALETTE, JUMP_OPEN, THEME, SUSPEND)),
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
                    "context.against",
                    "against",
                    ("c",),
                    "Compare with another model call than the last one",
                    footer="compare with",
                    rank=55,
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
                replace(
                    ESCAPE,
                    help="Go back from the item in full to the list, and from that to the state",
                    footer="back",
                    pinned=True,
                ),
            ),
        ),
        Group("Everywhere", (HELP, PALETTE, JUMP_OPEN, SUSPEND)),
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
        Group("Everywhere", (HELP, JUMP_OPEN, replace(CANCEL, help="Close", footer="close"))),
    ),
)
"""What is watched in a run."""

COLUMNS_LIST = Context(
    "Columns",
    (
        Group(
            "Columns",
            (
                *MOVES,
                replace(CHOOSE, help="Use these columns, now and from now on", footer="use these", rank=10),
                Command("columns.toggle", "turn", ("space",), "Show the column, or hide it", footer="on, off", rank=20),
                Command(
                    "columns.down",
                    "shift(1)",
                    ("J", "shift+down"),
                    "Move the column down: further to the right",
                    footer="move",
                    rank=30,
                    pair="columns.up",
                ),
                Command("columns.up", "shift(-1)", ("K", "shift+up"), "Move the column up: further to the left"),
                Command(
                    "columns.default",
                    "default",
                    ("0",),
                    "Take those that suit the room, as without a choice",
                    footer="as shipped",
                    rank=40,
                ),
            ),
        ),
        Group("Everywhere", (HELP, JUMP_OPEN, CANCEL)),
    ),
)
"""The columns of the timeline."""

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
                Command(
                    "find.accept",
                    "accept",
                    ("enter",),
                    "Stay at this hit; the timeline stays narrowed",
                    footer="go",
                    rank=20,
                    scope="widget",
                ),
                Command(
                    "find.context_more",
                    "context(1)",
                    ("ctrl+down",),
                    "Show more steps beside each hit",
                    scope="widget",
                ),
                Command(
                    "find.context_fewer",
                    "context(-1)",
                    ("ctrl+up",),
                    "Show fewer steps beside each hit, in the end none",
                    footer="around",
                    rank=60,
                    pair="find.context_more",
                    scope="widget",
                ),
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
                if command.id not in ("find.order", "find.context_more", "find.context_fewer")
            ),
        )
        for group in FIND.groups
    ),
)
"""The same in all runs of a store: hits stand by run, the best first."""
