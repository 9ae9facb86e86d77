"""Trajectories in the Agent Trajectory Interchange Format (ATIF) of Harbor, versions 1.x.

An object with `schema_version`, `agent` and `steps`. A step has a `source` (`system`, `user` or `agent`), a `message`,
and of an agent `tool_calls`, what came of them as `observation.results`, and `metrics`. Turns are shown in the form of
OpenAI's chats; whatever else stands in a step stays in its turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.chat import beside
from agent_tt.interop.transcripts.telling import Teller, micros
from agent_tt.model import Usage
from agent_tt.providers.loose import amount, count, dicts, items, mapping, text
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_atif"]

_ROLES: Final = {"agent": "assistant", "user": "user", "system": "system"}
_SHOWN: Final = ("source", "message", "tool_calls", "observation", "metrics", "timestamp")


def read_atif(document: Document) -> Sequence[Transcript] | None:
    """See `agent_tt.interop.transcripts.source.Format`."""
    whole = mapping(document.value)
    if not text(whole.get("schema_version")).startswith("ATIF"):
        return None
    agent = mapping(whole.get("agent"))
    name = text(agent.get("name"))
    teller = Teller(text(whole.get("session_id")) or document.path.stem, f"{name} (ATIF)" if name else "ATIF")
    model = text(agent.get("model_name"))
    for step in dicts(whole.get("steps")):
        _tell(teller, step, model)
    final = mapping(whole.get("final_metrics"))
    totals = [count(final.get(f"total_{name}_tokens")) for name in ("prompt", "completion")]
    cost = amount(final.get("total_cost_usd"))
    usage = None if totals == [None, None] and cost is None else Usage(totals[0], totals[1], cost)
    return [teller.done(model=model or None, usage=usage, metadata=beside(whole, "steps", "session_id"))]


def _tell(teller: Teller, step: dict[str, Json], model: str) -> None:
    lane, at_us = teller.main, micros(step.get("timestamp"))
    role = _ROLES.get(text(step.get("source")), "user")
    turn: dict[str, Json] = {"role": role, "content": step.get("message")}
    turn |= {key: value for key, value in step.items() if key not in _SHOWN}
    asked: list[Json] = [
        {"id": call.get("tool_call_id"), "type": "function",
         "function": {"name": call.get("function_name"), "arguments": call.get("arguments")}}
        for call in dicts(step.get("tool_calls"))
    ]  # fmt: skip
    if asked:
        turn["tool_calls"] = asked
    if role != "assistant":
        lane.turn(turn, at_us)
        return
    metrics = mapping(step.get("metrics"))
    tokens = Tokens(
        input=count(metrics.get("prompt_tokens")),
        output=count(metrics.get("completion_tokens")),
        cached=count(metrics.get("cached_tokens")) or 0,
    )
    named = text(step.get("model_name")) or model
    lane.turn(turn, at_us, answer=ModelAnswer(model=named, tokens=tokens, cost_usd=amount(metrics.get("cost_usd"))))
    for result in items(mapping(step.get("observation")).get("results")):
        given = mapping(result)
        rest = {key: value for key, value in given.items() if key not in ("source_call_id", "content")}
        answered: dict[str, Json] = {"role": "tool", "tool_call_id": given.get("source_call_id")}
        if text(given.get("source_call_id")):
            lane.turn({**answered, "content": given.get("content"), **rest}, at_us)
        else:
            lane.add({"role": "user", "content": given.get("content"), **rest}, at_us)
