"""One turn of a conversation, in whichever provider's form it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.providers.anthropic import turn_messages as anthropic_messages
from agent_tt.providers.bedrock import turn_messages as bedrock_messages
from agent_tt.providers.gemini import turn_messages as gemini_messages
from agent_tt.providers.loose import dicts, text
from agent_tt.providers.openai_chat import message_of
from agent_tt.providers.openai_responses import item_messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.providers.shapes import Json, Message

__all__ = ["answered_ids", "asked_ids", "messages_of_turn", "results_only", "without_nulls"]

_ITEMS: Final = ("message", "reasoning")
_BEDROCK: Final = frozenset({"toolUse", "toolResult", "reasoningContent"})
_ANTHROPIC: Final = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"})


def messages_of_turn(turn: Json) -> tuple[Message, ...]:
    """Read one turn, told by its shape; empty where it is none. Never raises.

    A turn that carries results of tools beside other things is several messages.
    """
    if not isinstance(turn, dict):
        return ()
    kind, blocks = text(turn.get("type")), dicts(turn.get("content"))
    if isinstance(turn.get("parts"), list):
        return tuple(gemini_messages(turn))
    if kind in _ITEMS or kind.endswith(("_call", "_call_output")):
        return tuple(item_messages([turn]))
    if any(text(block.get("type")) in _ANTHROPIC for block in blocks):
        return tuple(anthropic_messages(turn))
    if any(not _BEDROCK.isdisjoint(block) for block in blocks):
        return tuple(bedrock_messages(turn))
    return (message_of(turn),) if "role" in turn and ("content" in turn or "tool_calls" in turn) else ()


def asked_ids(turns: Iterable[Json]) -> set[str]:
    """The ids of the tool calls that turns ask for."""
    return {call.id for turn in turns for message in messages_of_turn(turn) for call in message.calls if call.id}


def answered_ids(turns: Iterable[Json]) -> set[str]:
    """The ids of the tool calls whose results turns give, beside other things or not."""
    return {message.answers for turn in turns for message in messages_of_turn(turn) if message.answers}


def results_only(turn: Json) -> set[str]:
    """The ids of the tool calls whose results a turn gives, where it gives nothing else."""
    found = [message.answers for message in messages_of_turn(turn)]
    return set(found) if all(found) else set()


def without_nulls(turn: Json) -> Json:
    """A turn without what is null: some clients send that, others leave it out."""
    if isinstance(turn, dict):
        return {key: without_nulls(value) for key, value in turn.items() if value is not None}
    return [without_nulls(item) for item in turn] if isinstance(turn, list) else turn
