"""Keys that widgets bind for themselves, on whichever screen they are."""

from __future__ import annotations

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.shared import CHOOSE, MOVES

LIST = Context("Lists", (Group("Rows", (*MOVES, CHOOSE)),))
"""What every list binds for itself."""

FOLDING = (
    Command("tree.fold", "fold", ("h",), "Fold the branch; again: go to its parent", scope="widget"),
    Command("tree.unfold", "unfold", ("l",), "Unfold the branch; again: go to its first child", scope="widget"),
)

TOGGLE = Command("tree.toggle", "choose", ("space",), "Fold or unfold the branch", scope="widget")

TREE = Context("Trees", (Group("Branches", (*FOLDING, TOGGLE)),))
"""What the state tree binds besides `LIST`; `space` is not in the debugger's own table, where it plays."""

TIMELINE = Context(
    "Timeline",
    (Group("Timeline", (Command("time.play", "play", ("space",), "Play the run, or pause it", scope="widget"),)),),
)
"""What the timeline binds besides `LIST`."""
