"""OpenAI's completions without a chat; also Ollama's `generate` and models on Bedrock that take a prompt.

Source of the format: the API reference of OpenAI, `POST /completions`, and its client's types.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.providers.chat_form import text_of, tokens_of
from agent_tt.providers.loose import boolean, dicts, items, mapping, text, without
from agent_tt.providers.openai_chat import completion_head
from agent_tt.providers.provider import CLOUD_PATHS, Provider, Request
from agent_tt.providers.shapes import Message, ModelAnswer, ModelCall, Tokens

if TYPE_CHECKING:
    from agent_tt.providers.bodies import Pieces
    from agent_tt.providers.shapes import Json, Reply

__all__ = ["OpenAICompletions"]

_REASONS: Final = ("finish_reason", "done_reason", "stop_reason")


class OpenAICompletions(Provider):
    """Completions: a prompt, and the text that goes on from it."""

    PATHS = ("/completions", "/api/generate", *CLOUD_PATHS)
    STREAM_END = "data: [DONE]\n\n"

    def read_request(self, request: Request) -> ModelCall | None:
        """Read a request with a `prompt`."""
        body = request.body
        if request.cloud is not None:
            is_asked = not request.messages and isinstance(body.get("prompt"), str)
            return replace(_call(body), model=request.cloud[0], streamed=request.cloud[1]) if is_asked else None
        if "prompt" not in body:
            return None
        if request.last == "completions":
            return _call(body) if "model" in body or request.hosted_model else None
        is_asked = request.last == "generate" and "model" in body
        return replace(_call(body), streamed=body.get("stream") is not False) if is_asked else None

    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: one object, or the chunks of a stream."""
        chunks = pieces.events
        choices = [choice for chunk in chunks for choice in dicts(chunk.get("choices"))[:1] or [chunk]]
        said = "".join(_completed(choice) for choice in choices)
        thought = "".join(text(choice.get("thinking")) for choice in choices)
        reasons = [text(choice.get(name)) for choice in choices for name in _REASONS]
        counted = [tokens_of(mapping(chunk.get("usage")) or chunk) for chunk in chunks]
        usages = [found for found in counted if found.input]
        return ModelAnswer(
            messages=(Message("assistant", said, thought),) if said or thought else (),
            turns=(said,) if said else (),
            model=next((text(chunk.get("model")) for chunk in chunks if chunk.get("model")), ""),
            finish_reason=next((reason for reason in reasons if reason), ""),
            tokens=usages[-1] if usages else Tokens(),
            tier=next((text(chunk["service_tier"]) for chunk in reversed(chunks) if chunk.get("service_tier")), ""),
            id=next((text(chunk.get("id")) for chunk in chunks if chunk.get("id")), ""),
        )

    def write_answer(
        self, call: ModelCall, recorded: dict[str, Json], answer: ModelAnswer, reply: Reply
    ) -> dict[str, Json] | None:
        """One choice, whose text says it; calls of tools it cannot say."""
        said: dict[str, Json] = {"index": 0, "text": reply.text, "finish_reason": "stop", "logprobs": None}
        return {**completion_head(call, answer, "text_completion"), **recorded, "choices": [said]}


def _call(body: dict[str, Json]) -> ModelCall:
    prompt, system = body.get("prompt"), text(body.get("system"))
    said = prompt if isinstance(prompt, str) else "\n".join(text(part) for part in items(prompt))
    return ModelCall(
        model=text(body.get("model")),
        streamed=boolean(body.get("stream")),
        messages=(*((Message("system", system),) if system else ()), Message("user", said)),
        parameters=without(body, "model", "prompt", "system"),
        conversation={"prompt": prompt} if not system else {"system": system, "prompt": prompt},
    )


def _completed(choice: dict[str, Json]) -> str:
    """The text of a choice: OpenAI's and Mistral's words for it; Ollama's and Llama's, who have no choices."""
    inner = mapping(choice.get("message")) or mapping(choice.get("delta"))
    found = (choice.get("text"), text_of(inner.get("content")), choice.get("response"), choice.get("generation"))
    return next((text(said) for said in found if text(said)), "")
