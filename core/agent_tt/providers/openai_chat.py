"""OpenAI's chat completions, which many hosts speak: Azure, OpenRouter, Mistral, vLLM, Ollama, ….

Source of the format: the API reference of OpenAI, `POST /chat/completions`, and its client's types.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt._pattern import lazy_re
from agent_tt.providers.chat_form import chat_calls, message_of, tokens_of
from agent_tt.providers.loose import amount, boolean, count, dicts, items, mapping, text, without
from agent_tt.providers.provider import CLOUD_PATHS, Provider, Request
from agent_tt.providers.shapes import ModelAnswer, ModelCall, OfferedTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.providers.bodies import Pieces
    from agent_tt.providers.shapes import Json, Message, Reply

__all__ = ["OpenAIChat"]

_SPEAKERS: Final = ("system", "developer")
_LIMITS: Final = ("max_tokens", "max_completion_tokens")
_AGENTS: Final = "/agents/completions"
"""Mistral's."""
_AZURE_VECTORS: Final = lazy_re(r"/deployments/[^/]+/embeddings$")


class OpenAIChat(Provider):
    """Chat completions: a list of messages, and an answer that is one more of them."""

    PATHS = ("/chat/completions", _AGENTS, "/chat", "/invocations", *CLOUD_PATHS)
    STREAM_END = "data: [DONE]\n\n"
    MEASURES: ClassVar = {
        "/embeddings": (frozenset({"input", "model"}), frozenset({"texts", "model"})),  # Azure's too, Voyage, Mistral
        "/moderations": (frozenset({"input"}),),
    }

    def read_request(self, request: Request) -> ModelCall | None:
        """Read a request; hosts differ in where they name the model, and in whether they stream unless told not to."""
        if not request.messages:
            return None
        call = chat_call(request.body)
        if request.cloud is not None:
            return replace(call, model=request.cloud[0], streamed=request.cloud[1])
        if request.path.endswith(("/chat/completions", _AGENTS)):
            agent = text(request.body.get("agent_id"))
            return replace(call, model=agent) if agent else call
        if request.last == "invocations":
            return call if request.hosted_model else None
        if request.last != "chat":
            return None
        if "model" in request.body:  # Ollama streams unless it is told not to
            return replace(call, streamed=request.body.get("stream") is not False)
        model = text(request.body.get("model_id"))  # watsonx
        return replace(call, model=model) if model else None

    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: one object, or the chunks of a stream."""
        answer = _joined(pieces.events) if pieces.streamed else pieces.whole
        choices = dicts(answer.get("choices"))
        messages = [mapping(choice.get("message")) for choice in choices]
        if not choices and isinstance(answer.get("message"), dict):  # Ollama's own form
            messages = [mapping(answer.get("message"))]
        reasons = [text(choice.get("finish_reason")) for choice in choices] or [text(answer.get("done_reason"))]
        usage = mapping(answer.get("usage")) or mapping(mapping(answer.get("x_groq")).get("usage")) or answer
        charged = usage.get("cost")  # in US dollars: OpenRouter, and Perplexity in parts
        return ModelAnswer(
            messages=tuple(message_of(message) for message in messages if message),
            turns=tuple(messages[:1]),
            model=text(answer.get("model")) or text(answer.get("model_id")),
            finish_reason=next((reason for reason in reasons if reason), ""),
            tokens=tokens_of(usage),
            cost_usd=amount(mapping(charged).get("total_cost") if isinstance(charged, dict) else charged),
            tier=text(answer.get("service_tier")),
            id=text(answer.get("id")),
        )

    def read_turn(self, turn: dict[str, Json]) -> Sequence[Message] | None:
        """Read a message; what has a role and a content is one."""
        return (message_of(turn),) if "role" in turn and ("content" in turn or "tool_calls" in turn) else None

    def measures(self, request: Request) -> bool:
        """As of others; Azure names the model in the path."""
        is_azure = _AZURE_VECTORS.search(request.path) is not None and "input" in request.body
        return is_azure or super().measures(request)

    def with_system(self, body: Mapping[str, Json], prompt: str) -> dict[str, Json] | None:
        """The first message is the system's, or becomes so."""
        return {**body, "messages": with_first(items(body.get("messages")), prompt)}

    def parameter(self, body: Mapping[str, Json], name: str) -> tuple[str, ...]:
        """The limit has two names; newer models take only the second."""
        return (next((key for key in _LIMITS if key in body), name),) if name == "max_tokens" else (name,)

    def write_answer(
        self, call: ModelCall, recorded: dict[str, Json], answer: ModelAnswer, reply: Reply
    ) -> dict[str, Json] | None:
        """One choice, whose message says it; of Ollama's own form the message alone."""
        if "choices" not in recorded and isinstance(recorded.get("message"), dict):
            asked: list[Json] = [{"function": {"name": name, "arguments": given}} for _, name, given in reply.calls]
            own = {**mapping(recorded["message"]), "content": reply.text}
            own.pop("tool_calls", None)
            return {**recorded, "message": {**own, "tool_calls": asked} if asked else own}
        first = mapping(next(iter(items(recorded.get("choices"))), None))
        message: dict[str, Json] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = chat_calls(reply)
        choice: dict[str, Json] = {**first, "index": 0, "message": message, "finish_reason": _reason(reply)}
        return {**completion_head(call, answer, "chat.completion"), **recorded, "choices": [choice]}

    def write_stream(self, call: ModelCall, answer: ModelAnswer, reply: Reply) -> Sequence[dict[str, Json]] | None:
        """A chunk that says it, one with the reason, and one with what was counted."""
        head = completion_head(call, answer, "chat.completion.chunk")
        delta: dict[str, Json] = {"role": "assistant", "content": reply.text or (None if reply.calls else "")}
        if reply.calls:
            delta["tool_calls"] = [{"index": index, **one} for index, one in enumerate(dicts(chat_calls(reply)))]
        chunks: list[dict[str, Json]] = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _reason(reply)}]},
        ]
        if answer.tokens.input is not None:
            read, wrote = answer.tokens.input, answer.tokens.output or 0
            usage: Json = {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
            chunks.append({**head, "choices": [], "usage": usage})
        return chunks


def with_first(turns: list[Json], prompt: str) -> list[Json]:
    """A conversation whose first message is the system's, and says `prompt`."""
    if is_system(turns):
        return [{**mapping(turns[0]), "content": prompt}, *turns[1:]]
    return [{"role": "system", "content": prompt}, *turns]


def is_system(turns: list[Json]) -> bool:
    """Whether the first message is the system's."""
    return bool(turns) and text(mapping(turns[0]).get("role")) in _SPEAKERS


def completion_head(call: ModelCall, answer: ModelAnswer, kind: str) -> dict[str, Json]:
    """What answers of OpenAI begin with."""
    return {"id": answer.id or "edited", "object": kind, "created": 0, "model": answer.model or call.model}


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def chat_call(body: dict[str, Json]) -> ModelCall:
    """Read a request with `messages`."""
    tools = [*_tools(body.get("tools")), *_tools(body.get("functions"))]
    return ModelCall(
        model=text(body.get("model")),
        streamed=boolean(body.get("stream")),
        messages=tuple(message_of(message) for message in dicts(body.get("messages"))),
        tools=tuple(tools),
        parameters=without(body, "model", "messages", "tools", "functions"),
        conversation={"messages": items(body.get("messages"))},
        turns="messages",
    )


def _tools(offered: Json) -> list[OfferedTool]:
    tools = []
    for tool in dicts(offered):
        inner = mapping(tool.get("function")) or mapping(tool.get("custom")) or tool
        name = text(inner.get("name"))
        shown = name or text(tool.get("type"))
        tools.append(OfferedTool(shown, text(inner.get("description")), inner.get("parameters"), is_hosted=not name))
    return tools


# ---------------------------------------------------------------- streams


def _joined(chunks: list[dict[str, Json]]) -> dict[str, Json]:
    """The answer that the chunks of a stream add up to, as it would have come in one piece."""
    answer: dict[str, Json] = {}
    choices: dict[int, dict[str, Json]] = {}
    for chunk in chunks:
        answer.update(without(chunk, "choices", "message"))
        for position, piece in enumerate(dicts(chunk.get("choices"))):
            number = count(piece.get("index"))
            choice = choices.setdefault(position if number is None else number, {"message": {}})
            message = mapping(choice["message"])
            _add(message, mapping(piece.get("delta")) or mapping(piece.get("message")))
            if piece.get("finish_reason") is not None:
                choice["finish_reason"] = piece["finish_reason"]
        if isinstance(chunk.get("message"), dict):
            own: Json = answer.setdefault("message", {})
            _add(mapping(own), mapping(chunk["message"]))
    if choices:
        answer["choices"] = [choices[number] for number in sorted(choices)]
    return answer


def _add(message: dict[str, Json], delta: dict[str, Json]) -> None:
    """Put a piece of a message where it belongs: texts grow, tool calls are found by their index."""
    for key, value in delta.items():
        before = message.get(key)
        if key == "tool_calls":
            calls = items(message.setdefault("tool_calls", []))
            _add_calls(calls, dicts(value))
        elif isinstance(value, str) and isinstance(before, str) and key != "role":
            message[key] = before + value
        elif key == "function_call" and isinstance(value, dict) and isinstance(before, dict):
            _add(before, value)
        elif isinstance(value, list | str) and isinstance(before, list | str) and key != "role":
            message[key] = _together(_parts(before), _parts(value))
        elif key == "audio" and isinstance(value, dict) and isinstance(before, dict):
            _add(before, value)
        elif value is not None or key not in message:
            message[key] = value


def _parts(content: list[Json] | str) -> list[Json]:
    """Content as a list of parts: of one message, some pieces may be text and others lists."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def _together(before: list[Json], more: list[Json]) -> list[Json]:
    """Two lists of parts as one; texts that meet are one text."""
    found = list(before)
    for part in more:
        last = mapping(found[-1]) if found else {}
        if last.get("type") == "text" == mapping(part).get("type"):
            found[-1] = {**last, "text": text(last.get("text")) + text(mapping(part).get("text"))}
        else:
            found.append(part)
    return found


def _add_calls(calls: list[Json], pieces: list[dict[str, Json]]) -> None:
    for piece in pieces:
        number = count(piece.get("index"))
        if number is None or number > len(calls):
            number = len(calls)
        if number == len(calls):
            calls.append({})
        call = mapping(calls[number])
        for key, value in piece.items():
            if isinstance(value, dict):
                inner: Json = call.setdefault(key, {})
                _add(mapping(inner), value)
            elif key != "index" and value is not None:
                call[key] = value
