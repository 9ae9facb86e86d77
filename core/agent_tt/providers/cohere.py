"""Cohere's `POST /v2/chat`: requests like OpenAI's, answers and streams of their own.

Source of the format: the API reference of Cohere, `Chat` and `Chat with streaming`, version 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agent_tt.providers.chat_form import message_of, tokens_of
from agent_tt.providers.loose import items, mapping, text
from agent_tt.providers.openai_chat import chat_call
from agent_tt.providers.provider import Provider, Request
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from agent_tt.providers.bodies import Pieces
    from agent_tt.providers.shapes import Json, ModelCall

__all__ = ["Cohere"]


class Cohere(Provider):
    """Version 2 of the chat; answers and requests are only read."""

    PATHS = ("/v2/chat",)
    MEASURES: ClassVar = {
        "/embed": (frozenset({"texts", "model"}), frozenset({"input", "model"})),  # Ollama's too
        "/rerank": (frozenset({"query", "documents", "model"}),),  # Voyage's and Jina's too
    }

    def read_request(self, request: Request) -> ModelCall | None:
        """Read a request."""
        return chat_call(request.body) if request.messages and "model" in request.body else None

    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: one object, or the events of a stream."""
        answer = _joined(pieces.events) if pieces.streamed else pieces.whole
        message = mapping(answer.get("message"))
        usage = mapping(answer.get("usage"))
        return ModelAnswer(
            messages=(message_of(message),) if message else (),
            turns=(message,) if message else (),
            finish_reason=text(answer.get("finish_reason")),
            tokens=tokens_of(mapping(usage.get("tokens"))),
            id=text(answer.get("id")),
        )


def _joined(events: list[dict[str, Json]]) -> dict[str, Json]:
    """The answer that the events of a stream add up to."""
    answer: dict[str, Json] = {}
    message: dict[str, Json] = {}
    content: list[Json] = []
    calls: list[Json] = []
    for event in events:
        kind, delta = text(event.get("type")), mapping(event.get("delta"))
        piece = mapping(delta.get("message"))
        if kind == "message-start":
            answer["id"] = event.get("id")
            message["role"] = text(piece.get("role")) or "assistant"
        elif kind == "message-end":
            answer |= {name: delta.get(name) for name in ("finish_reason", "usage")}
        elif kind == "tool-plan-delta":
            message["tool_plan"] = text(message.get("tool_plan")) + text(piece.get("tool_plan"))
        elif kind in ("content-start", "content-delta"):
            _add(content, mapping(piece.get("content")), starts=kind == "content-start")
        elif kind in ("tool-call-start", "tool-call-delta"):
            _add(calls, mapping(piece.get("tool_calls")), starts=kind == "tool-call-start")
    message |= {name: given for name, given in (("content", content), ("tool_calls", calls)) if items(given)}
    return {**answer, "message": message}


def _add(parts: list[Json], piece: dict[str, Json], *, starts: bool) -> None:
    """Begin a part of a message, or add to the last one: its texts grow."""
    if starts or not parts:
        parts.append({})
    _grow(mapping(parts[-1]), piece)


def _grow(part: dict[str, Json], piece: dict[str, Json]) -> None:
    for name, value in piece.items():
        before = part.get(name)
        if isinstance(value, dict):
            inner = dict(mapping(before))
            _grow(inner, value)
            part[name] = inner
        elif isinstance(value, str) and isinstance(before, str) and name not in ("type", "id"):
            part[name] = before + value
        else:
            part[name] = value
