"""Trajectories of SWE-agent: an object with `trajectory`, `history`, `info` and `environment`.

Each entry of `trajectory` is an answer of the model, the action that was run for it, what came of that, and the state
of the environment; `history` is the conversation. Where it has an answer for each entry, its messages are shown; where
it has not, what the entries say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.interop.transcripts.chat import beside
from agent_tt.interop.transcripts.mini_swe_agent import ended
from agent_tt.interop.transcripts.telling import Teller, answer, wire
from agent_tt.model import Usage
from agent_tt.providers.loose import amount, count, dicts, mapping, parse, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_swe_agent"]


def read_swe_agent(document: Document) -> Sequence[Transcript] | None:
    """Read a trajectory of SWE-agent as a run; None where the document has another format."""
    whole = mapping(document.value)
    moves, history = dicts(whole.get("trajectory")), dicts(whole.get("history"))
    if not moves or not all("action" in move and "observation" in move for move in moves):
        return None
    teller = Teller(document.path.name.removesuffix(".traj"), "SWE-agent")
    is_whole = sum(map(_is_answer, history)) == len(moves)
    _tell(teller, moves, history if is_whole else [])
    info = mapping(whole.get("info"))
    status, error = ended(text(info.get("exit_status")))
    stats = mapping(info.get("model_stats"))
    usage = Usage(
        count(stats.get("tokens_sent")), count(stats.get("tokens_received")), amount(stats.get("instance_cost"))
    )
    metadata = beside(info) | beside({"environment": whole.get("environment")})
    return [teller.done(status=status, error=error, usage=usage if stats else None, metadata=metadata)]


def _is_answer(turn: dict[str, Json]) -> bool:
    return turn.get("role") == "assistant" and turn.get("is_demo") is not True


def _tell(teller: Teller, moves: Sequence[dict[str, Json]], history: Sequence[dict[str, Json]]) -> None:
    lane, left = teller.main, [*history]
    for move in moves:
        while left and not _is_answer(left[0]):
            lane.add(left.pop(0))
        turn = left.pop(0) if left else {"role": "assistant", "content": move.get("response")}
        step = lane.turn(turn)
        if step is None:
            continue
        action, observed = text(move.get("action")), wire(move.get("observation"))
        calls = [call for call in step.calls if call.kind == "tool"]
        if not calls and action.strip():
            calls = [lane.ask(step, action.split()[0], {"action": action})]
        for call in calls:
            answer(call, observed)
        if not history:
            lane.add({"role": "user", "content": move.get("observation")})
        state = move.get("state")
        lane.beside["environment"] = wire(parse(state) if isinstance(state, str) else state)
    for turn in left:
        lane.add(turn)
