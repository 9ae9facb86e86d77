"""OpenAI's Realtime API: events over a WebSocket, of which `response.create` asks the model.

What the answer is made of was sent in messages before it: the session's settings and the items of the conversation. The
server may also begin an answer by itself, when it has heard a person speak; nothing asks for that one.

Source of the format: the API reference of OpenAI, client and server events of Realtime, and its client's types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agent_tt.providers.loose import count, dicts, mapping, text, without
from agent_tt.providers.openai_responses import messages_of, offered_tool
from agent_tt.providers.provider import Provider, Request
from agent_tt.providers.shapes import Json, Message, ModelAnswer, ModelCall, Tokens

if TYPE_CHECKING:
    from agent_tt.providers.bodies import Pieces

__all__ = ["OpenAIRealtime"]

_DONE = "response.done"


class OpenAIRealtime(Provider):
    """Realtime: what was said since the answer before belongs to the question."""

    PATHS = ("/realtime",)
    ENDS: ClassVar = frozenset({_DONE})
    TALKS: ClassVar = frozenset(
        {
            "session.update",
            "conversation.item.create",
            "conversation.item.delete",
            "conversation.item.retrieve",
            "conversation.item.truncate",
            "input_audio_buffer.append",
            "input_audio_buffer.clear",
            "input_audio_buffer.commit",
            "output_audio_buffer.clear",
            "response.cancel",
        }
    )
    GATHERED: ClassVar = frozenset({"session.update", "conversation.item.create"})

    def read_request(self, request: Request) -> None:
        """No request over HTTP asks its models."""
        del request

    def read_message(self, request: Request) -> ModelCall | None:
        """Read a message."""
        body = request.body
        if text(body.get("type")) != "response.create":
            return None
        response, session = mapping(body.get("response")), dict[str, Json]()
        turns = dicts(response.get("input"))
        for event in dicts(body.get("said")):
            session |= mapping(event.get("session"))
            turns += [mapping(event["item"])] if isinstance(event.get("item"), dict) else []
        asked: dict[str, Json] = {**session, **response}
        instructions = text(asked.get("instructions"))
        return ModelCall(
            model=text(asked.get("model")) or request.query.get("model", ""),
            streamed=True,
            messages=(*([Message("system", instructions)] if instructions else []), *messages_of(turns)),
            tools=tuple(offered_tool(tool) for tool in dicts(asked.get("tools"))),
            parameters=without(asked, "model", "input", "instructions", "tools"),
        )

    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: the last event holds the whole; of one that broke off, the items that were complete."""
        events = pieces.events
        whole = next((mapping(event.get("response")) for event in events if text(event.get("type")) == _DONE), None)
        done = [event for event in events if text(event.get("type")) == "response.output_item.done"]
        output = [mapping(event.get("item")) for event in done] if whole is None else dicts(whole.get("output"))
        answer = whole or {}
        details = mapping(answer.get("status_details"))
        complaint = next((mapping(event.get("error")) for event in events if text(event.get("type")) == "error"), {})
        usage = mapping(answer.get("usage"))
        read = mapping(usage.get("input_token_details"))
        return ModelAnswer(
            messages=tuple(messages_of(output)),
            turns=tuple(output),
            finish_reason=text(details.get("reason")) or text(answer.get("status")),
            tokens=Tokens(
                input=count(usage.get("input_tokens")),
                output=count(usage.get("output_tokens")),
                cached=count(read.get("cached_tokens")) or 0,
            ),
            error=text(mapping(details.get("error")).get("message")) or text(complaint.get("message")),
            id=text(answer.get("id")),
        )
