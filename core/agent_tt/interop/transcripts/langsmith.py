"""Runs of LangSmith as its API and its SDK give them, and as exports have them: in a list, in lines, or under `runs`.

| field | is |
|---|---|
| `run_type` | `llm` or `chat_model` a model call, `tool` a tool; others are not told where one of these is |
| `parent_run_id`, or `child_runs` around it | the run around it |
| `trace_id` | the trace, which is what is a run here |
| `inputs`, `outputs` | what LangChain, or OpenAI's or Anthropic's client, was given and gave; in tables JSON in texts |
| `prompt_tokens`, `completion_tokens`, `total_cost` | usage, which the runs around repeat; else that of the answer |

Messages of LangChain, plain or as constructors with `kwargs`, are shown in the form of OpenAI's chats.

Source of the format: `Run` in `langsmith.schemas`, `dumpd` of `langchain_core.load`, LangSmith's "Run data format".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.spans import ModelWork, Span, ToolWork, parsed, tell_trace
from agent_tt.interop.transcripts.telling import micros
from agent_tt.model import ErrorInfo
from agent_tt.providers.loose import amount, count, dicts, first_line, items, mapping, parse, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_langsmith"]

_ROLES: Final = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "chat": "user", "function": "tool"}
_MODELS: Final = "model_name", "model", "ls_model_name"
_ID_LENGTH: Final = 36
_MODEL_RUNS: Final = "llm", "chat_model"
_READ: Final = "input_tokens", "prompt_tokens"
_WROTE: Final = "output_tokens", "completion_tokens"


def read_langsmith(document: Document) -> Sequence[Transcript] | None:
    """Read runs of LangSmith as runs, one for each trace; None where the document has another format."""
    if document.lines:
        listed = [line.value for line in document.lines] if _is_run(document.lines[0].value) else []
    else:
        whole = mapping(document.value)
        listed = _sent(whole) or (
            dicts(whole["runs"]) if "runs" in whole else [whole] if whole else dicts(document.value)
        )
    if not listed or not all(map(_is_run, listed)):
        return None
    waiting = [(run, "", "") for run in listed]
    traces: dict[str, dict[str, Span]] = {}
    while waiting:
        run, parent, trace = waiting.pop()
        span = _span(run, parent, trace)
        traces.setdefault(span.trace, {})[span.id] = span
        waiting += [(child, span.id, span.trace) for child in dicts(run.get("child_runs")) if _is_run(child)]
    return [tell_trace(trace, spans, "LangSmith") for trace, spans in traces.items()]


def _sent(whole: dict[str, Json]) -> list[dict[str, Json]]:
    """Runs as clients send them: `post` as they begin, and under the same ids in `patch` what they came to."""
    runs: dict[str, dict[str, Json]] = {}
    for run in (*dicts(whole.get("post")), *dicts(whole.get("patch"))):
        named = text(run.get("id")) or text(run.get("dotted_order"))[-_ID_LENGTH:]  # which ends in it
        runs[named] = runs.get(named, {}) | {key: value for key, value in run.items() if value is not None}
    return list(runs.values())


def _is_run(run: dict[str, Json]) -> bool:
    return bool(text(run.get("run_type")) and text(run.get("id"))) and "start_time" in run


def _span(run: dict[str, Json], parent: str, trace: str) -> Span:
    error = text(run.get("error"))
    metadata = mapping(mapping(parsed(run.get("extra"))).get("metadata"))
    span = Span(
        id=text(run["id"]),
        trace=text(run.get("trace_id")) or trace or text(run["id"]),
        parent=text(run.get("parent_run_id")) or parent,
        name=text(run.get("name")),
        start_us=micros(run.get("start_time")),
        end_us=micros(run.get("end_time")),
        says={key: run[key] for key in ("tags", "session_id", "session_name", "status") if run.get(key)} | metadata,
        error=ErrorInfo("Error", error) if error else None,
    )
    given, came = mapping(parsed(run.get("inputs"))), mapping(parsed(run.get("outputs")))
    if run["run_type"] in _MODEL_RUNS:
        said = _said(came)
        span.does = ModelWork(_shown(given), said, _answer(run, metadata, given, came))
    elif run["run_type"] == "tool":
        result = came.get("output", came)
        message = _inner(result)
        content = message.get("content") if "tool_call_id" in message else result
        if message.get("status") == "error" and span.error is None:
            span.error = ErrorInfo("tool:ToolError", text(content))
        arguments = given.get("input", given)
        asked_as = text(message.get("tool_call_id")) or text(mapping(parsed(run.get("extra"))).get("tool_call_id"))
        span.does = ToolWork(span.name, parsed(arguments), parsed(content), asked_as)
    return span


# ---------------------------------------------------------------- messages


def _shown(given: dict[str, Json]) -> list[dict[str, Json]]:
    """What a model was shown: of a batch of one the conversation."""
    listed = items(given.get("messages"))
    if len(listed) == 1 and isinstance(listed[0], list):
        listed = listed[0]
    if not listed:
        prompts = items(given.get("prompts")) or [given.get("input", given.get("prompt"))]
        return [{"role": "user", "content": each} for each in prompts if isinstance(each, str)]
    system = given.get("system")  # of Anthropic's client, beside the messages
    first: list[dict[str, Json]] = [{"role": "system", "content": system}] if system else []
    return first + [_turn(each, "user") for each in dicts(listed)]


def _said(came: dict[str, Json]) -> list[dict[str, Json]]:
    """What it said, in whichever form its client gave it."""
    generated = items(came.get("generations"))
    batch = generated[0] if generated and isinstance(generated[0], list) else generated
    found = dicts(batch) or dicts(came.get("choices"))
    if found:
        one = found[0]
        message = mapping(one.get("message"))
        return [_turn(message, "assistant")] if message else [{"role": "assistant", "content": one.get("text")}]
    listed = dicts(came.get("messages")) or dicts(came.get("output"))
    if listed:
        return [_turn(each, "assistant") for each in listed]
    message = mapping(came.get("output")) or mapping(came.get("message")) or came
    if "content" in _inner(message):
        return [_turn(message, "assistant")]
    words = came.get("output")
    return [{"role": "assistant", "content": words}] if isinstance(words, str) else []


def _inner(value: Json) -> dict[str, Json]:
    """What a message of LangChain holds, plain or as a constructor."""
    message = mapping(value)
    return mapping(message.get("kwargs")) or mapping(message.get("data")) or message


def _turn(message: dict[str, Json], role: str) -> dict[str, Json]:
    """A message as a turn of a chat; one that is in a provider's form stays as it is."""
    inner = _inner(message)
    kind = text(inner.get("type")) or text(message.get("type"))
    named = text(inner.get("role")) or _ROLES.get(kind, kind if kind in ("system", "tool") else "")
    if not named and kind not in ("", "constructor", "message"):  # an item of Responses
        return message
    kept: dict[str, Json] = {key: inner[key] for key in ("content", "name", "tool_call_id", "status") if inner.get(key)}
    turn: dict[str, Json] = {"role": named or role, "content": None, **kept}
    called = dicts(inner.get("tool_calls")) or dicts(mapping(inner.get("additional_kwargs")).get("tool_calls"))
    if called:
        turn["tool_calls"] = [_called(call) for call in called]
        content = turn["content"]
        if isinstance(content, list):  # Anthropic's blocks say the same once more
            turn["content"] = [block for block in content if mapping(block).get("type") != "tool_use"]
    return turn


def _called(call: dict[str, Json]) -> Json:
    if "function" in call:
        return call
    function: Json = {"name": call.get("name"), "arguments": call.get("args")}
    return {"id": call.get("id"), "type": "function", "function": function}


# ---------------------------------------------------------------- usage


def _answer(
    run: dict[str, Json], metadata: dict[str, Json], given: dict[str, Json], came: dict[str, Json]
) -> ModelAnswer:
    batch = items(came.get("generations"))
    one = (dicts(batch[0] if batch and isinstance(batch[0], list) else batch) or [{}])[0]
    message, told = _inner(one.get("message")), mapping(came.get("llm_output"))
    about = mapping(message.get("response_metadata"))
    holders = (about, told, came, given, mapping(mapping(parsed(run.get("extra"))).get("invocation_params")), metadata)
    model = next((text(each[key]) for each in holders for key in _MODELS if text(each.get(key))), "")
    usages = (run, mapping(message.get("usage_metadata")), mapping(came.get("usage_metadata")),
              mapping(told.get("token_usage")), mapping(came.get("usage")))  # fmt: skip
    usage = next((each for each in usages if any(count(each.get(key)) is not None for key in (*_READ, *_WROTE))), {})
    read, wrote = ([count(usage[key]) for key in keys if count(usage.get(key)) is not None] for keys in (_READ, _WROTE))
    details = mapping(usage.get("input_token_details")) or mapping(usage.get("prompt_token_details"))
    tokens = Tokens(
        input=read[0] if read else None,
        output=wrote[0] if wrote else None,
        cached=count(details.get("cache_read")) or 0,
    )
    total = run.get("total_cost")
    cost = amount(parse(total) if isinstance(total, str) else total)
    return ModelAnswer(
        model=model,
        finish_reason=text(about.get("finish_reason"))
        or text(mapping(one.get("generation_info")).get("finish_reason")),
        tokens=tokens,
        cost_usd=cost_of(model, tokens) if cost is None else cost,
        error=first_line(text(run.get("error"))),
    )
