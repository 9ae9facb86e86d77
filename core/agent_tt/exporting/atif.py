"""A run as a trajectory in Harbor's interchange format, ATIF 1.5.

What was said is a step each: of the system, of the user, or of the agent, which has its tool calls, what came of them,
and its tokens and cost. Source of the form: <https://harborframework.com/docs/trajectory-format>. What is read back
from such a file (`agent_tt.interop.transcripts.atif`) is that conversation again.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final

import orjson

from agent_tt.errors import UsageError
from agent_tt.exporting.export import Export
from agent_tt.providers.model_talk import ModelTalks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.exporting.export import Exported
    from agent_tt.model import Call, Run
    from agent_tt.protocols import RunSource
    from agent_tt.providers.shapes import Json, Message

__all__ = ["Atif"]

_VERSION: Final = "ATIF-v1.5"
_AGENT: Final = frozenset({"AIMessageChunk", "ai", "assistant", "model"})
_SYSTEM: Final = frozenset({"developer", "system"})
_UNKNOWN: Final = "unknown"
"""The format requires a version of each agent, and a run may have none."""


class Atif(Export):
    """A run as a trajectory."""

    SUFFIXES: ClassVar = (".atif.json",)
    HELP: ClassVar = "A trajectory in Harbor's interchange format, ATIF."
    IS_TEXT: ClassVar = True

    def write(self, exported: Exported, path: Path) -> str | None:
        """Write the run.

        Raises:
            UsageError: there are several, or it has no conversation with a model.
        """
        if len(exported.runs) != 1:
            raise UsageError("a trajectory is one run", hint="Write one file for each.")
        (run,) = exported.runs
        teller = _Teller()
        teller.tell(exported.source, run)
        if not teller.steps:
            raise UsageError(f"{run.name} has no conversation with a model", hint="--jsonl writes any run.")
        path.write_bytes(orjson.dumps(_trajectory(run, teller), option=orjson.OPT_INDENT_2))
        words = [f"{what}: {count:,}" for what, count in sorted(teller.left_out.items()) if count]
        return "left out: " + "; ".join(words) if words else None


def _trajectory(run: Run, teller: _Teller) -> dict[str, Json]:
    agent: dict[str, Json] = {"name": run.name, "version": run.code.version or _UNKNOWN}
    if teller.model:
        agent["model_name"] = teller.model
    final: dict[str, Json] = {
        "total_prompt_tokens": run.tokens_in,
        "total_completion_tokens": run.tokens_out,
        "total_cost_usd": run.cost_usd,
        "total_steps": len(teller.steps),
    }
    steps: list[Json] = [{"step_id": number, **step} for number, step in enumerate(teller.steps, 1)]
    return {
        "schema_version": _VERSION,
        "session_id": run.id,
        "agent": agent,
        "steps": steps,
        "final_metrics": {name: value for name, value in final.items() if value is not None},
    }


class _Teller:
    """Puts the steps together, model call by model call.

    Attributes:
        steps: without their numbers.
        model: the model that was asked first.
        left_out: what the format has no place for, and how often.
    """

    def __init__(self) -> None:
        self.steps: list[dict[str, Json]] = []
        self.model = ""
        self.left_out = Counter[str]()
        self._said: list[Message] = []
        self._asked: dict[str, dict[str, Json]] = {}

    def tell(self, source: RunSource, run: Run) -> None:
        """Tell the conversation of the run's main lane."""
        talks = ModelTalks()
        tools: list[Call] = []
        for step in source.steps(run.id):
            for call in source.calls(run.id, step.number):
                if call.kind == "tool":
                    tools.append(call)
                if call.kind != "llm":
                    continue
                if call.lane != "main" and step.lane != "main":
                    self.left_out["model calls of other agents"] += 1
                    continue
                talk = talks.of(call)
                self._show(talk.shown, call)
                self._answer(talk.said, call)
        for call in tools:  # what no model was shown any more
            place = self._asked.pop(call.facts.answers or "", None)
            if place is not None and call.status != "pending":
                said = call.error.short if call.error is not None else _text(call.result)
                _observe(place, call.facts.answers or "", said)

    def _show(self, shown: Sequence[Message], call: Call) -> None:
        """Tell what a model was shown that was not said before."""
        known = 0
        while known < min(len(shown), len(self._said)) and _is_same(shown[known], self._said[known]):
            known += 1
        if known < len(self._said):
            self.left_out["beginnings of conversations that were told before"] += known == 0
        for message in shown[known:]:
            if message.answers:
                place = self._asked.pop(message.answers, None)
                if place is None:
                    self.left_out["results of no call"] += 1
                else:
                    _observe(place, message.answers, message.text)
            elif message.role in _AGENT:
                self._agent(message, {})
            else:
                source = "system" if message.role in _SYSTEM else "user"
                self.steps.append({**_at(call.started_us), "source": source, "message": message.text})
        self._said = list(shown)

    def _answer(self, said: Sequence[Message], call: Call) -> None:
        facts = call.facts
        metrics: dict[str, Json] = {
            "prompt_tokens": facts.tokens_in,
            "completion_tokens": facts.tokens_out,
            "cached_tokens": facts.tokens_cached,
            "cost_usd": facts.cost_usd,
        }
        model = facts.model or ""
        self.model = self.model or model
        if not said:
            self.left_out["model calls without an answer"] += 1
        for number, message in enumerate(said):
            counted: dict[str, Json] = {
                name: value for name, value in metrics.items() if value is not None and number == 0
            }
            more: dict[str, Json] = {"metrics": counted} if counted else {}
            named: dict[str, Json] = {"model_name": model} if model else {}
            self._agent(message, {**_at(call.ended_us), **named, **more})
        self._said += said

    def _agent(self, message: Message, more: dict[str, Json]) -> None:
        step: dict[str, Json] = {**more, "source": "agent", "message": message.text}
        if message.reasoning:
            step["reasoning_content"] = message.reasoning
        calls: list[Json] = []
        for number, asked in enumerate(message.calls):
            name = asked.id or f"call-{len(self.steps) + 1}-{number + 1}"
            given = asked.arguments
            arguments: Json = given if isinstance(given, dict) else {"text": given}
            calls.append({"tool_call_id": name, "function_name": asked.name, "arguments": arguments})
            self._asked[name] = step
        if calls:
            step["tool_calls"] = calls
        self.steps.append(step)


def _observe(step: dict[str, Json], asked_as: str, said: str) -> None:
    observation = step.setdefault("observation", {"results": []})
    if isinstance(observation, dict) and isinstance(results := observation["results"], list):
        results.append({"source_call_id": asked_as, "content": said})


def _is_same(one: Message, other: Message) -> bool:
    """Whether two messages say the same; thoughts and hidden parts may be left out when they are sent again."""
    return (one.role in _AGENT) == (other.role in _AGENT) and (one.text, one.answers, len(one.calls)) == (
        other.text,
        other.answers,
        len(other.calls),
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _at(microseconds: int | None) -> dict[str, Json]:
    if microseconds is None:
        return {}
    return {"timestamp": datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat()}
