"""What a framework keeps in a state for itself is no part of what an agent works on, and is not compared.

LangGraph's checkpointer keeps the versions of channels there, with random digits in them: two states that are equal to
everybody else would never be equal. What is exact (`diff --json`, patches, digests) knows it all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from agent_tt.model.kinds import LANGGRAPH_KEY

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op

__all__ = ["is_bookkeeping", "keeps_order", "without_bookkeeping"]


def is_bookkeeping(path: Path) -> bool:
    """Whether a place of a state lies in what a framework keeps for itself."""
    return path[:1] == (LANGGRAPH_KEY,)


def keeps_order(op: Op) -> bool:
    """Whether an operation only moves a framework's own entry to another place among the keys of a state."""
    return op[:2] == ["o", []] and LANGGRAPH_KEY in cast("list[str]", op[2])


def without_bookkeeping(state: Wire) -> Wire:
    """The state without what a framework keeps for itself; the values are shared."""
    if not isinstance(state, dict) or LANGGRAPH_KEY not in state:
        return state
    return {name: value for name, value in state.items() if name != LANGGRAPH_KEY}
