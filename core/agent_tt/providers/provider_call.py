"""A model call that a provider was sent, as the conversation that it is."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.providers.reading import recorded_answer, recorded_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt.providers.shapes import Message, OfferedTool


__all__ = ["ProviderCall", "provider_call", "tool_line"]


@dataclass(frozen=True, slots=True)
class ProviderCall:
    """What was asked and answered, whatever language the provider speaks.

    Attributes:
        messages: What the model was sent, as chat messages.
        answer: What it said, in the same form.
        tools: What it was offered.
        parameters: What else it was sent.
        stopped: Why it stopped, in the provider's words.
        error: What went wrong, where the answer is an error.
    """

    messages: Sequence[Wire]
    answer: Sequence[Wire]
    tools: Sequence[OfferedTool]
    parameters: Mapping[str, Wire]
    stopped: str
    error: str = ""


def provider_call(call: Call) -> ProviderCall | None:
    """Read a recorded call; `None` if it is not a request to a model's provider."""
    asked = recorded_call(call.args) if call.kind == "llm" else None
    if asked is None:
        return None
    answer = recorded_answer(asked, call.result)
    return ProviderCall(
        messages=list(_chat(asked.messages)),
        answer=list(_chat(answer.messages)),
        tools=asked.tools,
        parameters=asked.parameters,
        stopped=answer.finish_reason,
        error=answer.error,
    )


def _chat(messages: Iterable[Message]) -> Iterable[Wire]:
    for message in chain.from_iterable(message.parted() for message in messages):
        chat: dict[str, Wire] = {"role": message.role, "content": message.text}
        if message.calls:
            chat["tool_calls"] = [{"id": call.id, "name": call.name, "args": call.arguments} for call in message.calls]
        if message.answers:
            chat["tool_call_id"] = message.answers
        yield chat


def tool_line(tool: OfferedTool) -> tuple[str, str]:
    """A tool's name and what it takes."""
    properties = tool.parameters.get("properties") if isinstance(tool.parameters, dict) else None
    return tool.name, ", ".join(properties)[:200] if isinstance(properties, dict) else ""
