"""Trajectories in the Agent Trajectory Interchange Format (ATIF) of Harbor, versions 1.x.

An object with `schema_version`, `agent` and `steps`. A step has a `source` (`system`, `user` or `agent`), a `message`,
and of an agent `tool_calls`, what came of them as `observation.results`, and `metrics`. Turns are shown in the form of
OpenAI's chats; whatever else stands in a step stays in its turn.

| in a step | is |
|---|---|
| `llm_call_count` 0 | the program acted without asking a model |
| `is_copied_context` | it was said in another trajectory: part of the conversation, nothing that was done here |
| `subagent_trajectory_ref` | one of `subagent_trajectories`, which has a lane; files that it names are not opened |
| `extra.context_management`, a compaction that replaces | the conversation before it is dropped |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.chat import beside
from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.model import NO_USAGE, Usage
from agent_tt.providers.loose import amount, count, dicts, mapping, text
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.telling import Lane
    from agent_tt.interop.transcripts.transcript import ToldStep, Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_atif"]

_ROLES: Final = {"agent": "assistant", "user": "user", "system": "system"}
_SHOWN: Final = ("source", "message", "tool_calls", "observation", "metrics", "timestamp")
_REFERENCES: Final = "subagent_trajectory_ref"
_NAMES: Final = "trajectory_id", "session_id"
_MOST_LEVELS: Final = 8


def read_atif(document: Document) -> Sequence[Transcript] | None:
    """Read a trajectory in ATIF as a run; None where the document has another format."""
    whole = mapping(document.value)
    if not text(whole.get("schema_version")).startswith("ATIF"):
        return None
    name = text(mapping(whole.get("agent")).get("name"))
    named = next(filter(None, (text(whole.get(key)) for key in ("session_id", "trajectory_id"))), document.path.stem)
    teller = Teller(named, f"{name} (ATIF)" if name else "ATIF")
    telling = _Telling(teller)
    telling.trajectory(whole, teller.main)
    final = mapping(whole.get("final_metrics"))
    totals = [count(final.get(f"total_{name}_tokens")) for name in ("prompt", "completion")]
    cost = amount(final.get("total_cost_usd"))
    usage = None if totals == [None, None] and cost is None else Usage(totals[0], totals[1], cost) + telling.inside
    model = text(mapping(whole.get("agent")).get("model_name")) or None
    metadata = beside(whole, "steps", "session_id", "subagent_trajectories")
    return [teller.done(model=model, usage=usage, metadata=metadata)]


class _Telling:
    """Tells a trajectory, and those of sub-agents that stand in it.

    Attributes:
        inside: what the sub-agents' answers cost, which the sums of the whole leave out.
    """

    def __init__(self, teller: Teller) -> None:
        self.teller = teller
        self.inside = NO_USAGE
        self._names: dict[str, int] = {}

    def trajectory(self, whole: dict[str, Json], lane: Lane, level: int = 0) -> None:
        """Tell a trajectory in a lane; those that it refers to where it does, others at its end."""
        model = text(mapping(whole.get("agent")).get("model_name"))
        waiting = dicts(whole.get("subagent_trajectories")) if level < _MOST_LEVELS else []
        for step in dicts(whole.get("steps")):
            told = self._step(step, model, lane)
            if level:
                self.inside += told.usage if told else NO_USAGE
            results = dicts(mapping(step.get("observation")).get("results"))
            for reference in (each for result in results for each in dicts(result.get(_REFERENCES))):
                named = {text(reference.get(key)) for key in _NAMES} - {""}
                begun = [each for each in waiting if text(each.get(_NAMES[0])) in named]
                begun = begun or [each for each in waiting if {text(each.get(key)) for key in _NAMES} & named]
                for each in begun[:1]:
                    waiting.remove(each)
                    self.trajectory(each, self._lane(each, told), level + 1)
        for each in waiting:
            self.trajectory(each, self._lane(each, None), level + 1)

    def _lane(self, whole: dict[str, Json], parent: ToldStep | None) -> Lane:
        agent = text(mapping(whole.get("agent")).get("name"))
        name = agent or "sub-agent"
        self._names[name] = self._names.get(name, 0) + 1
        if self._names[name] > 1:
            name = f"{name} {self._names[name]}"
        return self.teller.lane(name, agent=agent or None, parent=parent)

    def _step(self, step: dict[str, Json], model: str, lane: Lane) -> ToldStep | None:
        at_us = micros(step.get("timestamp"))
        role = _ROLES.get(text(step.get("source")), "user")
        called, results = dicts(step.get("tool_calls")), dicts(mapping(step.get("observation")).get("results"))
        turn: dict[str, Json] = {"role": role, "content": step.get("message")}
        turn |= {key: value for key, value in step.items() if key not in _SHOWN}
        asked: list[Json] = [
            {"id": call.get("tool_call_id"), "type": "function",
             "function": {"name": call.get("function_name"), "arguments": call.get("arguments")}}
            for call in called
        ]  # fmt: skip
        if asked:
            turn["tool_calls"] = asked
        managed = mapping(mapping(step.get("extra")).get("context_management"))
        if managed.get("type") == "compaction" and managed.get("boundary") == "replace":
            kept: list[Wire] = [
                wire({"role": "user", "content": each["content"]}) for each in results if each.get("content")
            ]
            told: ToldStep | None = lane.begin_anew("compaction", kept or [wire(turn)], at_us)
            lane.note(step)
            return told
        if step.get("is_copied_context") is True:  # it was said in another trajectory
            told = lane.add(turn, at_us)
        elif role != "assistant":
            told = lane.turn(turn, at_us)
        elif step.get("llm_call_count") == 0:  # the program did it without asking a model
            told = lane.step(", ".join(text(call.get("function_name")) for call in called[:3]) or "agent", at_us)
            for call in called:
                given = wire(call.get("arguments"))
                lane.ask(told, text(call.get("function_name")), given, text(call.get("tool_call_id")), at_us)
            lane.add(turn, at_us)
        else:
            told = lane.turn(turn, at_us, answer=_answer(step, model))
        for result in results:
            self._came(result, called, lane, at_us, is_copied=step.get("is_copied_context") is True)
        return told

    def _came(
        self, result: dict[str, Json], called: list[dict[str, Json]], lane: Lane, at_us: int | None, *, is_copied: bool
    ) -> None:
        """Add an observation. Where the step made one call, it is that call's result, with or without its id."""
        rest = {key: value for key, value in result.items() if key not in ("source_call_id", "content")}
        asked_as = text(result.get("source_call_id"))
        if not asked_as and len(called) == 1:
            asked_as = text(called[0].get("tool_call_id"))
        if "content" not in result and _REFERENCES in result:
            lane.note(result)
        elif asked_as and not is_copied:
            answered: dict[str, Json] = {"role": "tool", "tool_call_id": asked_as}
            lane.turn({**answered, "content": result.get("content"), **rest}, at_us)
        else:
            lane.add({"role": "user", "content": result.get("content"), **rest}, at_us)


def _answer(step: dict[str, Json], model: str) -> ModelAnswer:
    metrics = mapping(step.get("metrics"))
    tokens = Tokens(
        input=count(metrics.get("prompt_tokens")),
        output=count(metrics.get("completion_tokens")),
        cached=count(metrics.get("cached_tokens")) or 0,
    )
    named = text(step.get("model_name")) or model
    return ModelAnswer(model=named, tokens=tokens, cost_usd=amount(metrics.get("cost_usd")))
