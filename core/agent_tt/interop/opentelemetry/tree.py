"""The spans of a run: the run itself, agents in it, and what they called."""

from __future__ import annotations

import re
from dataclasses import field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import RunNotFound
from agent_tt.interop.opentelemetry.conventions import error_type, told_agent, told_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.interop.opentelemetry.conventions import Attribute, Told
    from agent_tt.model import Call, Run, Step
    from agent_tt.model.facts import RunFacts
    from agent_tt.protocols import RunSource

__all__ = ["OUTCOME", "TIME", "Place", "ToldSpan", "Trace", "spans_of"]

OUTCOME: Final = "agent_tt.call.outcome"
"""Of a call of which nobody knows how it ended: "unknown"; its span has no duration."""

TIME: Final = "agent_tt.call.time"
"""Of a call of which nobody knows when it was: "unknown"; its span stands where its step's begins."""

_NANOSECONDS: Final = 1000
_TRACE_BYTES: Final = 16
_SPAN_BYTES: Final = 8
_TRACEPARENT: Final = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a span stands: its trace (16 bytes) and its id in it (8 bytes), as OpenTelemetry's whole numbers."""

    trace: int
    span: int


@dataclass(frozen=True, slots=True)
class ToldSpan:
    """A span.

    Attributes:
        parent: the span around it; None of a root.
        began_ns, ended_ns: nanoseconds since the epoch; no end while it goes on.
        link: a span of another trace that it goes on from.
    """

    place: Place
    parent: Place | None
    told: Told
    began_ns: int
    ended_ns: int | None
    link: Place | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of a run, whoever sends it: a trace of its own, or that of the span in which the run began."""

    run_id: str
    around: Place | None = None

    @classmethod
    def of(cls, run_id: str, facts: RunFacts) -> Trace:
        """The trace of a run of which these facts are said."""
        found = _TRACEPARENT.fullmatch(facts.traceparent or "")
        return cls(run_id, Place(int(found[1], 16), int(found[2], 16)) if found else None)

    @property
    def root(self) -> Place:
        """The place of the run's own span."""
        return self._place()

    def call(self, step: int, number: int) -> Place:
        """The place of a call's span."""
        return self._place("call", step, number)

    def agent(self, step: int) -> Place:
        """The place of the span of an agent whose first step is this."""
        return self._place("agent", step)

    def _place(self, *parts: object) -> Place:
        trace = _digest(_TRACE_BYTES, self.run_id) if self.around is None else self.around.trace
        return Place(trace, _digest(_SPAN_BYTES, self.run_id, *parts))


def spans_of(source: RunSource, run: Run, *, content: bool = False, start: int = 1) -> Iterator[ToldSpan]:
    """Give the spans of a run, parents first. What a fork shares with its parent is in the parent's trace.

    Args:
        source: where the run is.
        run: the run.
        content: whether spans say what was asked and answered.
        start: the first step whose calls are given.
    """
    steps = [step for step in source.steps(run.id) if not step.inherited and step.damaged is None]
    agents = _Agents(run, steps)
    root = told_agent(agents.main, run.facts.langgraph_thread or run.id)
    root.attributes.update(_of_run(run))
    if run.error is not None:
        root.attributes["error.type"] = error_type(run.error)
        root = replace(root, failed=run.error.short)
    ended = run.ended_us
    if ended is None and run.status != "running":
        ended = max((step.ended_us or step.started_us or 0 for step in steps), default=run.started_us)
    trace = agents.trace
    link = _parent_of(source, run)
    yield ToldSpan(trace.root, trace.around, root, run.started_us * _NANOSECONDS, _nanoseconds(ended), link)
    moment = run.started_us
    for step in steps:
        calls = source.calls(run.id, step.number) if step.number >= start else []
        around = agents.around(step, calls)
        if around.is_new:
            yield around.span(ended)
        for call in calls:
            told = told_call(call, content=content)
            if told is None or call.damaged is not None:
                continue
            told.attributes.update(_of_call(step, call))
            began, call_ended = call.started_us, call.ended_us
            if began is None:  # a span has to have a time: the order is kept, and that it is none is said
                began = call_ended = max(moment, step.started_us or 0) + 1
                told.attributes[TIME] = "unknown"
            moment = max(moment, began)
            if call_ended is None and ended is not None:
                call_ended = began  # nobody knows when it ended, or whether
                told.attributes[OUTCOME] = "unknown"
            yield ToldSpan(
                trace.call(step.number, call.number),
                agents.parent(call, around),
                told,
                began * _NANOSECONDS,
                _nanoseconds(call_ended),
            )


@dataclass(slots=True)
class _Agent:
    """Steps of one agent that follow each other."""

    place: Place
    parent: Place | None
    name: str
    run: Run
    steps: list[Step] = field(default_factory=list)
    is_new: bool = False

    def span(self, run_ended: int | None) -> ToldSpan:
        self.is_new = False
        begins = (step.started_us for step in self.steps)
        began = min(filter(None, begins), default=self.run.started_us)
        ends = [step.ended_us for step in self.steps]
        ended = max(filter(None, ends), default=began) if all(ends) or run_ended is not None else None
        told = told_agent(self.name, self.run.facts.langgraph_thread or self.run.id)
        return ToldSpan(self.place, self.parent, told, began * _NANOSECONDS, _nanoseconds(ended))


class _Agents:
    """Which agent's span is around each step.

    Steps of one lane below one step that follow each other and name one agent share a span. The run's own span is that
    of the agent that its outermost steps name, where they name one.
    """

    def __init__(self, run: Run, steps: list[Step]) -> None:
        outermost = {step.agent for step in steps if step.parent is None and step.lane == "main"}
        only = next(iter(outermost)) if len(outermost) == 1 else None
        self.main = only or run.name
        self._run = run
        self.trace = Trace.of(run.id, run.facts)
        self._root = _Agent(self.trace.root, None, self.main, run)
        self._of_step: dict[int, _Agent] = {}
        self._plan(steps)

    def _plan(self, steps: list[Step]) -> None:
        latest: dict[tuple[str, int | None], _Agent] = {}
        for step in steps:
            key = step.lane, step.parent
            outer = self._of_step.get(step.parent or 0, self._root)
            agent = latest.get(key)
            if step.agent in (None, outer.name):
                agent = outer
            elif agent is None or agent.name != step.agent:
                agent = _Agent(self.trace.agent(step.number), outer.place, step.agent, self._run, is_new=True)
            agent.steps.append(step)
            latest[key] = self._of_step[step.number] = agent

    def around(self, step: Step, calls: list[Call]) -> _Agent:
        """The span around a step, whose parent is the call that its own calls say they were made inside of."""
        agent = self._of_step[step.number]
        if agent.is_new:
            inside = (call.facts.inside for call in calls)
            outer = next((place for place in inside if place is not None and self._agent_at(place) is not agent), None)
            agent.parent = agent.parent if outer is None else self.trace.call(*outer)
        return agent

    def parent(self, call: Call, around: _Agent) -> Place:
        """The span that a call's stands in."""
        inside = call.facts.inside
        return self.trace.call(*inside) if inside is not None and self._agent_at(inside) is around else around.place

    def _agent_at(self, call: tuple[int, int]) -> _Agent | None:
        return self._of_step.get(call[0])


def _parent_of(source: RunSource, run: Run) -> Place | None:
    """The root span of the run that one was forked from; None where that is gone."""
    try:
        parent = source.run(run.parent) if run.parent else None
    except RunNotFound:
        return None
    return None if parent is None else Trace.of(parent.id, parent.facts).root


def _of_run(run: Run) -> dict[str, Attribute]:
    said: dict[str, Attribute | None] = {
        "agent_tt.run.id": run.id,
        "agent_tt.run.name": run.name,
        "agent_tt.run.status": run.status,
        "agent_tt.fork.parent": run.parent,
        "agent_tt.fork.step": run.fork_step,
        "gen_ai.agent.version": run.code.version,
        "user.id": run.user_id,
    }
    return {name: value for name, value in said.items() if value is not None}


def _of_call(step: Step, call: Call) -> dict[str, Attribute]:
    said: dict[str, Attribute | None] = {
        "agent_tt.step.number": step.number,
        "agent_tt.step.name": step.name,
        "agent_tt.call.number": call.number,
        "agent_tt.call.status": call.status,
        "agent_tt.call.effect": call.effect,
        "agent_tt.call.cost_usd": call.facts.cost_usd,
        "code.file.path": call.facts.file,
        "code.line.number": call.facts.line,
    }
    return {name: value for name, value in said.items() if value is not None}


def _nanoseconds(microseconds: int | None) -> int | None:
    return None if microseconds is None else microseconds * _NANOSECONDS


def _digest(size: int, *parts: object) -> int:
    said = "\x1f".join(map(str, ("agent-tt span", *parts))).encode()
    return int.from_bytes(blake2b(said, digest_size=size).digest()) or 1  # 0 is no id
