"""Reports of replays, made by hand, for tests of how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.comparing.values.words import Segment
from agent_tt.model import Call
from agent_tt.replaying.divergence import ChangedPart, DivergenceKind, Finding, Near
from agent_tt.replaying.report import AgentEnd, ReplayReport

if TYPE_CHECKING:
    from agent_tt.replaying.findings.notes import Note

ENDED = AgentEnd("ended", as_recorded=True)


def finding(kind: DivergenceKind = "changed request", step: int | None = 3, **facts: object) -> Finding:
    """A divergence of the call `search_docs` in a step."""
    known: dict[str, object] = {
        "message": "search_docs is asked something else than was recorded: query",
        "call": 1,
        "lane": "main",
        "call_kind": "tool",
        "name": "search_docs",
        "site": {"file": "agent.py", "line": 57},
        "changes": (changed("query", ("same", "refund "), ("removed", "policy"), ("added", "window")),),
    }
    return Finding(kind, step=step, **{**known, **facts})  # type: ignore[arg-type]


def changed(path: str, *words: tuple[str, str]) -> ChangedPart:
    """A part that changed, by its words."""
    old = "".join(text for kind, text in words if kind != "added")
    new = "".join(text for kind, text in words if kind != "removed")
    return ChangedPart(path, old, new, tuple(Segment(kind, text) for kind, text in words))  # type: ignore[arg-type]


def near(step: int, likeness: float = 0.5, name: str = "search_docs") -> Near:
    """A recorded call that looks like what was asked."""
    call = Call(step, 1, "tool", name, "ok")
    return Near(call, likeness, (changed("query", ("removed", "a"), ("added", "b")),))


def report(
    *findings: Finding, observed: bool = False, agent: AgentEnd = ENDED, notes: tuple[Note, ...] = (), output: str = ""
) -> ReplayReport:
    """A report of a replay of a run with 41 calls."""
    failure = findings[-1] if findings and not observed else None
    end = AgentEnd("halted") if failure is not None else agent
    served = 40 if failure is not None else 41
    return ReplayReport(
        "RUN000000001", "refund-loop", observed, 41, served, 0, failure, findings, notes, agent=end, output=output
    )
