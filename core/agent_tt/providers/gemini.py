"""Google's Gemini: `generateContent` and `streamGenerateContent`, of the Gemini API and of Vertex AI.

Source of the format: the API reference of Gemini, `models.generateContent`. The API takes names in camel case and, as
every Google API, in snake case too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt._pattern import lazy_re
from agent_tt.providers.chat_form import compact, note
from agent_tt.providers.loose import count, dicts, items, mapping, text, without
from agent_tt.providers.provider import Provider, Request
from agent_tt.providers.shapes import Asked, Json, Message, ModelAnswer, ModelCall, OfferedTool, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.providers.bodies import Pieces
    from agent_tt.providers.shapes import Reply

__all__ = ["Gemini"]

_ADDRESS: Final = lazy_re(r"/models/([^/:]+):(stream)?[gG]enerateContent$")
_MEASURED: Final = tuple(frozenset({key}) for key in ("content", "contents", "requests", "generateContentRequest"))
_TOP: Final = frozenset({"tools", "toolConfig", "safetySettings", "cachedContent", "labels", "generationConfig"})
"""Parameters that stand beside the conversation, not in `generationConfig`."""
_INSTRUCTION, _INSTRUCTION_TOO = "systemInstruction", "system_instruction"


class Gemini(Provider):
    """Contents of parts; the address names the model, and a stream brings objects of the form of a whole answer."""

    PATHS = ("enerateContent",)
    MEASURES: ClassVar = dict.fromkeys((":embedContent", ":batchEmbedContents", ":countTokens"), _MEASURED)

    def read_request(self, request: Request) -> ModelCall | None:
        """Read a request; its address says the model and whether the answer is streamed."""
        named, body = _ADDRESS.search(request.path), request.body
        if named is None or "contents" not in body:
            return None
        instruction = body.get("systemInstruction", body.get("system_instruction"))
        system = _messages(mapping(instruction), "system") if isinstance(instruction, dict) else []
        conversation: dict[str, Json] = {} if instruction is None else {"systemInstruction": instruction}
        given = body.get("contents")
        turns = [given] if isinstance(given, dict) else dicts(given)
        conversation["contents"] = list[Json](turns)
        return ModelCall(
            model=named[1],
            streamed=named[2] is not None,
            messages=(*system, *(read for turn in turns for read in _messages(turn, "user"))),
            tools=tuple(tool for group in dicts(body.get("tools")) for tool in _tools(group)),
            parameters=without(body, "contents", "systemInstruction", "system_instruction", "tools", "model"),
            conversation=conversation,
            turns="contents",
        )

    def read_answer(self, pieces: Pieces) -> ModelAnswer:
        """Read an answer: one object, or the pieces of a stream, which have the same form."""
        answer, parts, reason, role = dict[str, "Json"](), list[dict[str, "Json"]](), "", "model"
        searches = 0
        for piece in pieces.events:
            answer.update(without(piece, "candidates"))
            for candidate in dicts(piece.get("candidates"))[:1]:
                content = mapping(candidate.get("content"))
                role = text(content.get("role")) or role
                for part in dicts(content.get("parts")):
                    _add(parts, part)
                reason = text(candidate.get("finishReason", candidate.get("finish_reason"))) or reason
                grounds = mapping(candidate.get("groundingMetadata", candidate.get("grounding_metadata")))
                searches = max(searches, len(items(grounds.get("webSearchQueries", grounds.get("web_search_queries")))))
        usage = mapping(answer.get("usageMetadata", answer.get("usage_metadata")))
        blocked = text(mapping(answer.get("promptFeedback")).get("blockReason"))
        turn: dict[str, Json] = {"role": role, "parts": list[Json](parts)}
        return ModelAnswer(
            messages=tuple(_messages(turn, "assistant")) if parts else (),
            turns=(turn,) if parts else (),
            model=text(answer.get("modelVersion", answer.get("model_version"))),
            finish_reason=reason or blocked,
            tokens=replace(_tokens(usage), services=searches),
            error=text(mapping(answer.get("error")).get("message")),
            id=text(answer.get("responseId")),
        )

    def read_turn(self, turn: dict[str, Json]) -> Sequence[Message] | None:
        """Read a turn with parts."""
        return _messages(turn) if isinstance(turn.get("parts"), list) else None

    def measures(self, request: Request) -> bool:
        """As of others; what stands before the colon is a model."""
        return "/models/" in request.path and super().measures(request)

    def with_system(self, body: Mapping[str, Json], prompt: str) -> dict[str, Json] | None:
        """The instruction has parts, too."""
        return {**body, _key(_INSTRUCTION, body): {"parts": [{"text": prompt}]}}

    def parameter(self, body: Mapping[str, Json], name: str) -> tuple[str, ...]:
        """Names in snake case are taken too; most stand in `generationConfig`."""
        del body
        known = camel_case("max_output_tokens" if name == "max_tokens" else name)
        return (known,) if known in _TOP else ("generationConfig", known)

    def with_conversation(
        self, body: Mapping[str, Json], before: Mapping[str, Json], after: Mapping[str, Json]
    ) -> dict[str, Json]:
        """As of others; the instruction keeps the name that it has."""
        known = [{_key(key, body): value for key, value in conversation.items()} for conversation in (before, after)]
        return super().with_conversation(body, *known)

    def write_answer(
        self, call: ModelCall, recorded: dict[str, Json], answer: ModelAnswer, reply: Reply
    ) -> dict[str, Json] | None:
        """One candidate with a part for the text and one for each call."""
        parts: list[Json] = [{"text": reply.text}] if reply.text or not reply.calls else []
        parts += [{"functionCall": {"name": name, "args": given}} for _, name, given in reply.calls]
        turn: Json = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        return {"modelVersion": answer.model or call.model, **recorded, "candidates": [turn]}


def camel_case(name: str) -> str:
    """A name of Google's or Amazon's, that may be written in snake case."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _key(key: str, body: Mapping[str, Json]) -> str:
    return _INSTRUCTION_TOO if key == _INSTRUCTION and _INSTRUCTION_TOO in body else key


def _messages(turn: dict[str, Json], role: str = "user") -> list[Message]:
    """One turn; results of tools are messages of their own before the rest.

    Args:
        turn: the turn.
        role: who speaks where the turn does not say; `system` for the instruction.
    """
    given = text(turn.get("role"))
    role = "assistant" if given == "model" else "system" if role == "system" else given or role
    said: list[str] = []
    thoughts: list[str] = []
    calls: list[Asked] = []
    results: list[Message] = []
    for part in dicts(turn.get("parts")):
        call = mapping(part.get("functionCall", part.get("function_call")))
        result = mapping(part.get("functionResponse", part.get("function_response")))
        if call:
            calls.append(Asked(text(call.get("id")), text(call.get("name")), call.get("args")))
        elif result:
            answer = result.get("response")
            plain = mapping(answer).get("result", mapping(answer).get("output", answer))
            shown = plain if isinstance(plain, str) else compact(plain)
            results.append(Message("tool", shown, answers=text(result.get("id")) or text(result.get("name"))))
        elif isinstance(part.get("text"), str):
            (thoughts if part.get("thought") is True else said).append(text(part["text"]))
        else:
            said.append(_note(part))
    found = list(results)
    if said or thoughts or calls or not results:
        found.append(Message(role, "\n".join(said), "\n".join(thoughts), tuple(calls)))
    return found


def _note(part: dict[str, Json]) -> str:
    kind = next((name for name in part if name not in ("thoughtSignature", "thought")), "part")
    words = {"inlineData": "data", "inline_data": "data", "fileData": "file", "file_data": "file"}
    inner = mapping(part.get(kind))
    if kind in ("executableCode", "codeExecutionResult"):
        return text(inner.get("code")) or text(inner.get("output"))
    return note(words.get(kind, kind), inner)


def _tools(group: dict[str, Json]) -> list[OfferedTool]:
    declared = dicts(group.get("functionDeclarations", group.get("function_declarations")))
    tools = [
        OfferedTool(
            text(tool.get("name")),
            text(tool.get("description")),
            tool.get("parameters", tool.get("parametersJsonSchema")),
        )
        for tool in declared
    ]
    own = [
        OfferedTool(name, is_hosted=name not in ("computerUse", "computer_use"))
        for name in group
        if name not in ("functionDeclarations", "function_declarations")
    ]
    return tools + own


def _tokens(usage: dict[str, Json]) -> Tokens:
    """Gemini counts thoughts apart from the candidates; here they are part of the output, as they are in its prices."""
    read = count(usage.get("promptTokenCount", usage.get("prompt_token_count")))
    tools = count(usage.get("toolUsePromptTokenCount")) or 0
    thoughts = count(usage.get("thoughtsTokenCount", usage.get("thoughts_token_count"))) or 0
    wrote = count(usage.get("candidatesTokenCount", usage.get("candidates_token_count")))
    details = [*items(usage.get("promptTokensDetails")), *items(usage.get("candidatesTokensDetails"))]
    sound = sum(count(row.get("tokenCount")) or 0 for row in dicts(details) if text(row.get("modality")) == "AUDIO")
    return Tokens(
        input=None if read is None else read + tools,
        output=None if wrote is None and not thoughts else (wrote or 0) + thoughts,
        cached=count(usage.get("cachedContentTokenCount", usage.get("cached_content_token_count"))) or 0,
        reasoning=thoughts,
        audio=sound,
    )


def _add(parts: list[dict[str, Json]], part: dict[str, Json]) -> None:
    """Put a part after the others; texts that follow one another in a stream are one text."""
    last = parts[-1] if parts else {}
    if (
        isinstance(part.get("text"), str)
        and isinstance(last.get("text"), str)
        and last.get("thought") == part.get("thought")
    ):
        parts[-1] = {**last, **part, "text": text(last["text"]) + text(part["text"])}
    else:
        parts.append(part)
