"""What the OpenAI Agents SDK keeps: the state of a run that was interrupted, and traces as it exports them.

| file | is |
|---|---|
| what `RunState.to_json()` gives | a run; each answer a step, in the name of the agent that gave it |
| what `Trace.export` and `Span.export` give, in lines, in a list or under `data` | a run for each trace |

A run that waits for a person to allow a tool is "interrupted", and that call has no result. Spans of the Responses API
(`response`) are exported without what was asked and answered: such a trace has tokens, tools and times, and no words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.spans import AgentWork, ModelWork, Remark, Span, ToolWork, parsed, tell_trace
from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.model import ErrorInfo, Usage
from agent_tt.model.facts import RunFacts
from agent_tt.providers.chat_form import tokens_of
from agent_tt.providers.loose import count, dicts, items, mapping, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.reading import kept_answer
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import ToldStep, Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_openai_agents"]

_SYSTEM: Final = "OpenAI Agents SDK"
_FACTS: Final[tuple[str, ...]] = ("current_turn", "max_turns", "conversation_id", "previous_response_id")
_LOOP: Final = "task", "turn"
"""Spans of the SDK's own loop, exported as `custom` ones."""


def read_openai_agents(document: Document) -> Sequence[Transcript] | None:
    """Read a saved state or traces of the OpenAI Agents SDK as runs; None where the document has another format."""
    whole = mapping(document.value)
    if "$schemaVersion" in whole and "original_input" in whole and isinstance(whole.get("model_responses"), list):
        return [_State(whole, document.path.stem).told()]
    exported = [line.value for line in document.lines] or dicts(whole.get("data", document.value))
    spans = [
        each for each in exported if each.get("object") == "trace.span" and isinstance(each.get("span_data"), dict)
    ]
    if not spans:
        return None
    names = {
        text(each.get("id")): text(each.get("workflow_name")) for each in exported if each.get("object") == "trace"
    }
    traces: dict[str, dict[str, Span]] = {}
    for each in spans:
        span = _span(each)
        traces.setdefault(span.trace, {})[span.id] = span
    return [tell_trace(trace, told, _SYSTEM, names.get(trace, "")) for trace, told in traces.items()]


# ---------------------------------------------------------------- states of runs


class _State:
    """The state of one run."""

    def __init__(self, state: dict[str, Json], stem: str) -> None:
        self._state = state
        self._trace = mapping(state.get("trace"))
        self._teller = Teller(text(self._trace.get("id")) or stem, _SYSTEM)
        self._responses = dicts(state.get("model_responses"))
        self._made_by = {
            _key(item): number
            for number, response in enumerate(self._responses)
            for item in dicts(response.get("output"))
        }
        self._told: set[int] = set()

    def told(self) -> Transcript:
        """Tell it."""
        main, state = self._teller.main, self._state
        asked = state.get("original_input")
        for turn in _turns(asked):
            main.turn(turn)
        for item in dicts(state.get("session_items", state.get("generated_items"))):
            self._item(item)
        for number in range(len(self._responses)):  # of which no item was kept
            self._answer(number)
        context = mapping(state.get("context"))
        if context.get("context") is not None:
            main.beside["context"] = wire(context["context"])
        is_waiting = mapping(state.get("current_step")).get("type") == "next_step_interruption"
        if is_waiting and self._teller.steps:
            self._teller.steps[-1].status = "interrupted"
        facts = {key: wire(state[key]) for key in _FACTS if state.get(key) is not None}
        title = text(self._trace.get("workflow_name"))
        if title:
            facts |= RunFacts.title.entry(title)
        return self._teller.done(
            status="interrupted" if is_waiting else "unknown",
            usage=_usage(mapping(context.get("usage"))),
            metadata=facts,
        )

    def _item(self, item: dict[str, Json]) -> None:
        main, raw = self._teller.main, mapping(item.get("raw_item"))
        number = self._made_by.get(_key(raw))
        main.agent = text(mapping(item.get("agent")).get("name")) or main.agent
        if item.get("type") == "tool_approval_item":
            main.note(item)
        elif number is not None:
            self._answer(number)
        elif raw:
            main.turn(raw)
        else:
            main.note(item)

    def _answer(self, number: int) -> ToldStep | None:
        if number in self._told:
            return None
        self._told.add(number)
        response = self._responses[number]
        output = dicts(response.get("output"))
        counted = mapping(response.get("usage"))
        usage: dict[str, Json] = {
            key: (items(value) or [None])[0] if key.endswith("_details") else value  # the SDK writes lists of one
            for key, value in counted.items()
            if count(counted.get("requests")) != 0  # nothing was counted
        }
        whole: dict[str, Json] = {"id": response.get("response_id"), "output": [*output], "usage": usage}
        answer = kept_answer("openai-responses", whole)
        main = self._teller.main
        step = main.turn(output[0] if output else {"role": "assistant", "content": None}, answer=answer)
        for item in output[1:]:
            main.add(item)
        return step


def _key(item: dict[str, Json]) -> str:
    """What tells an item of an answer from others."""
    named = text(item.get("call_id")) or text(item.get("id"))
    return f"{text(item.get('type'))} {named}" if named else str(sorted(item.items(), key=str))


def _usage(usage: dict[str, Json]) -> Usage | None:
    """What the run counted in all: agents that were run as tools too."""
    if not count(usage.get("requests")):
        return None
    return Usage(count(usage.get("input_tokens")), count(usage.get("output_tokens")))


# ---------------------------------------------------------------- traces


def _span(exported: dict[str, Json]) -> Span:
    data, failed = mapping(exported.get("span_data")), mapping(exported.get("error"))
    error = ErrorInfo("Error", text(failed.get("message"))) if failed else None
    span = Span(
        id=text(exported.get("id")),
        trace=text(exported.get("trace_id")),
        parent=text(exported.get("parent_id")),
        name=text(data.get("name")) or text(data.get("type")),
        start_us=micros(exported.get("started_at")),
        end_us=micros(exported.get("ended_at")),
        says=mapping(exported.get("metadata")),
        error=error,
    )
    kind = text(data.get("type"))
    if kind == "agent":
        span.does = AgentWork(span.name)
    elif kind == "function":
        span.does = ToolWork(span.name, parsed(data.get("input")), data.get("output"))
    elif kind in ("generation", "response"):
        span.does = ModelWork(_turns(data.get("input")), _turns(data.get("output")), _counted(data, error))
    elif not (kind == "custom" and data.get("name") in _LOOP):
        span.does = Remark(data)
    return span


def _turns(value: Json) -> list[dict[str, Json]]:
    return [{"role": "user", "content": value}] if isinstance(value, str) else dicts(value)


def _counted(data: dict[str, Json], error: ErrorInfo | None) -> ModelAnswer:
    model, tokens = text(data.get("model")), tokens_of(mapping(data.get("usage")))
    return ModelAnswer(
        model=model,
        tokens=tokens,
        cost_usd=cost_of(model, tokens),
        error=error.short if error is not None else "",
        id=text(data.get("response_id")),
    )
