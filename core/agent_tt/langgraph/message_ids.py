"""The ids of messages, recorded: LangGraph and LangChain draw them at random, and a graph's state holds them."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from langchain_core.callbacks import manager

from agent_tt.patching import draw, patched
from agent_tt.recording.lanes.hooks import Patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["same_message_ids"]

_ADD_MESSAGES: Final = "langgraph.graph.message"
"""Gives a message without an id one."""

_NEW_ID: Final[Callable[[], uuid.UUID]] = getattr(manager, "uuid7", uuid.uuid4)


@contextmanager
def same_message_ids(root: str | None) -> Iterator[None]:
    """Record the ids of messages while the block lasts, so that a replay gives the same; also those that code draws.

    Args:
        root: The project's folder.
    """
    # The id of an answer is made of the id of the call of its model.
    owners = (manager.CallbackManager, manager.AsyncCallbackManager)
    patches = [Patch(owner, "on_chat_model_start", _with_drawn_id) for owner in owners]
    with patched("ids", root=root, also=(_ADD_MESSAGES,)):
        try:
            for patch in patches:
                patch.apply()
            yield
        finally:
            for patch in patches:
                patch.undo()


def _with_drawn_id(original: Callable[..., Any]) -> Callable[..., Any]:
    def on_chat_model_start(
        callbacks: Any, serialized: Any, messages: Any, run_id: uuid.UUID | None = None, **options: Any
    ) -> Any:
        if run_id is None:
            run_id = draw("id", "run_id of a chat model", _NEW_ID)
        return original(callbacks, serialized, messages, run_id=run_id, **options)

    return on_chat_model_start
