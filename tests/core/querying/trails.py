"""Runs to follow values back through, as small as they can be, and their trails in words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tests.core.memory_store import Did, MemorySource

from agent_tt.errors import Damaged
from agent_tt.querying.provenance.blaming import blame_value

if TYPE_CHECKING:
    from agent_tt.model import Call, Edit, Step
    from agent_tt.querying.provenance.links import Link, Source, Trail


@dataclass
class Past(MemorySource):
    """A run whose steps and calls may have facts that a `Did` has no words for: `steps_are[2] = {"kind": "human"}`."""

    steps_are: dict[int, dict[str, Any]] = field(default_factory=dict)
    calls_are: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        return [replace(step, **self.steps_are.get(step.number, {})) for step in super().steps(run_id, start, stop)]

    def calls(self, run_id: str, step: int) -> list[Call]:
        return [replace(call, **self.calls_are.get((step, call.number), {})) for call in super().calls(run_id, step)]


def followed(
    dids: list[Did],
    path: str,
    *,
    state: Any = None,
    past: Past | None = None,
    edits: tuple[Edit, ...] = (),
    fork_step: int | None = None,
) -> list[str]:
    """Follow a value of the last state back, and give a line for each link, and one for where the way ends.

    With `edits` the run is a fork at `fork_step` of a run that has the steps up to there.
    """
    source = past or Past()
    if edits:
        assert fork_step is not None
        source.add("base", dids[:fork_step], state=state or {})
        source.add("run", dids[fork_step:], state=state or {}, parent="base", fork_step=fork_step, edits=edits)
    else:
        source.add("run", dids, state=state or {})
    return told(blame_value(source, "run", path, len(dids)).trail)


def told(trail: Trail) -> list[str]:
    return [*map(_line, trail.links), trail.ends]


def _line(link: Link) -> str:
    place = _place(link)
    shared = f" [{link.shared}]" if link.shared else ""
    others = f" (also {', '.join(map(_place, link.others))})" if link.others else ""
    return f"{link.kind} {place} {link.value!r}: {link.why}{shared}{others}"


def _place(at: Link | Source) -> str:
    return f"{at.step}{'' if at.call is None else f'.{at.call}'} {at.name}:{at.path}"


# ---------------------------------------------------------------- steps and runs to begin with

OWN = "a text of its own"
"""What nothing else in a run has."""


def look(**facts: Any) -> Did:
    return Did("look", tool="look", **facts)


def note(**state: Any) -> Did:
    return Did("note", state=state)


def tool(name: str, asked: Any, result: Any, state: Any = None) -> Did:
    """A step of one call; what it is asked with holds nothing that the others do."""
    return Did(name, tool=name, args={"q": asked}, result=result, state=state or {})


def answered(content: str, *read: tuple[str, str], **more: Any) -> Did:
    """A step in which a model answers, having read messages of these roles; its words are kept as `x`."""
    request = {"messages": [{"role": role, "content": said} for role, said in read]} if read else None
    return Did("s", answer={"content": content}, asked=request, state={"x": content}, **more)


def people_speak_in(*steps: int) -> Past:
    return Past(
        steps_are={step: {"kind": "human"} for step in steps},
        calls_are={(step, 1): {"kind": "human"} for step in steps},
    )


def chain(length: int) -> list[Did]:
    """Each call is asked with what the one before it brought."""
    return [
        Did(f"s{n}", tool=f"t{n}", args={"k": f"KEY-{n:04}"}, result={"k": f"KEY-{n + 1:04}"}) for n in range(length)
    ]


def three_at_once(found: str, *by: int) -> list[Did]:
    """Three steps of three lanes that were open together; those `by` brought what is in the state since the first."""
    return [
        Did(name, tool=f"t{n}", args={"q": name * 3}, result=found if n in by else f"zz{n}", state={"x": found})
        for n, name in enumerate("abc", 1)
    ]


def at_once() -> Past:
    return Past(
        steps_are={n: {"started_us": 5 * n, "ended_us": 20 + 10 * n, "lane": f"lane {n}"} for n in (1, 2, 3)},
        calls_are={(n, 1): {"started_us": 5 * n + 1, "ended_us": 22 + n} for n in (1, 2, 3)},
    )


class Broken(Past):
    """The calls of the first step cannot be read."""

    def calls(self, run_id: str, step: int) -> list[Call]:
        if step == 1:
            raise Damaged("its page is gone")
        return super().calls(run_id, step)
