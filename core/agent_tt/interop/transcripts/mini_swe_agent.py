"""Trajectories of mini-swe-agent from version 1: an object with `info`, `messages` and `trajectory_format`.

A message carries in `extra` what the program did with it: of an answer the `actions` that it ran and the `response`
with its usage, of a result the `returncode`. In text mode actions and results have no ids: results follow in order.
Older files are a mere list of messages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.chat import beside
from agent_tt.interop.transcripts.telling import Teller, answer, micros, wire
from agent_tt.model import ErrorInfo, Usage
from agent_tt.providers.loose import amount, dicts, mapping, text
from agent_tt.providers.reading import kept_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import ToldCall, Transcript
    from agent_tt.model import RunStatus
    from agent_tt.providers.shapes import Json

__all__ = ["ended", "read_mini_swe_agent"]

_TOOL: Final = "bash"


def read_mini_swe_agent(document: Document) -> Sequence[Transcript] | None:
    """Read a trajectory of mini-swe-agent as a run; None where the document has another format."""
    whole = mapping(document.value)
    if not text(whole.get("trajectory_format")).startswith("mini-swe-agent"):
        return None
    info = mapping(whole.get("info"))
    teller = Teller(document.path.name.removesuffix(".json").removesuffix(".traj"), "mini-swe-agent")
    waiting: list[ToldCall] = []
    for message in dicts(whole.get("messages")):
        waiting = _tell(teller, message, waiting)
    status, error = ended(text(info.get("exit_status")))
    cost = amount(mapping(info.get("model_stats")).get("instance_cost"))
    transcript = teller.done(status=status, error=error, metadata=beside(info, "config"))
    if all(step.usage.cost_usd is None for step in transcript.steps) and cost is not None:
        transcript.usage = Usage(cost_usd=cost)
    return [transcript]


def ended(exit_status: str) -> tuple[RunStatus, ErrorInfo | None]:
    """How a run ended that says `submitted`, or why it was stopped; unknown where it says nothing."""
    if not exit_status:
        return "unknown", None
    if exit_status.lower().startswith("submitted"):
        return "succeeded", None
    return "failed", ErrorInfo(exit_status, "the agent was stopped before it submitted")


def _tell(teller: Teller, message: dict[str, Json], waiting: list[ToldCall]) -> list[ToldCall]:
    """Tell a message; give the calls without an id whose results have not come yet."""
    lane, added = teller.main, mapping(message.get("extra"))
    at_us = micros(added.get("timestamp"))
    if message.get("role") == "assistant":
        given = kept_answer("openai-chat", added.get("response"))
        cost = amount(added.get("cost"))
        step = lane.turn(message, at_us, answer=given if cost is None else replace(given, cost_usd=cost))
        if step is None or any(call.kind == "tool" for call in step.calls):
            return []
        actions = [action.get("command") for action in dicts(added.get("actions"))]
        return [lane.ask(step, _TOOL, {"command": wire(action)}, at_us=at_us) for action in actions]
    failed = bool(text(added.get("exception_info"))) or added.get("returncode") not in (None, 0)
    if waiting and "returncode" in added:
        answer(waiting[0], wire(message.get("content")), at_us, failed=failed)
        lane.add(message, at_us)
        return waiting[1:]
    if message.get("role") == "exit":
        lane.add(message, at_us)
        return []
    lane.turn(message, at_us, failed=failed)
    return waiting
