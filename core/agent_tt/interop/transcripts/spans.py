"""Traces as runs: spans of model calls are steps, those of tools their calls, agents inside agents have lanes.

What a span says in the names of its convention, who reads it gives as `Span.does`; the rest is the same for all. Usage
counts where a model was called: sums that the spans around repeat are not added. A trace without any span of a model or
a tool has a step for each span.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.interop.transcripts.around import AgentWork, Around
from agent_tt.interop.transcripts.telling import Teller, answer, results_in, wire
from agent_tt.model.facts import RunFacts
from agent_tt.providers.loose import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.telling import Lane
    from agent_tt.interop.transcripts.transcript import ToldCall, ToldStep, Transcript
    from agent_tt.model import ErrorInfo, RunStatus
    from agent_tt.providers.shapes import Json, ModelAnswer

__all__ = [
    "AgentWork", "Compaction", "ModelWork", "Remark", "Span", "ToolWork", "TraceTelling", "facts_of_trace", "first_of",
    "parsed", "parsed_number", "short_facts", "tell_trace",
]  # fmt: skip

_SHORT: Final = 200
"""Characters of what a trace's roots say, by name, that stand in the run's metadata."""


@dataclass(frozen=True, slots=True)
class ModelWork:
    """A model was called.

    Attributes:
        shown: what it was shown, as turns of a chat.
        said: what it said; mostly one turn.
        answer: what else is known of its answer.
    """

    shown: Sequence[dict[str, Json]]
    said: Sequence[dict[str, Json]]
    answer: ModelAnswer


@dataclass(frozen=True, slots=True)
class ToolWork:
    """A tool was run.

    Attributes:
        asked_as: the id under which a model asked for it; empty where the span does not say.
        turn: its result as the conversation has it, where that is known before a model is shown it.
        is_over: whether it gave anything.
    """

    name: str
    given: Json
    result: Json
    asked_as: str = ""
    turn: dict[str, Json] | None = None
    is_over: bool = True


@dataclass(frozen=True, slots=True)
class Compaction:
    """The conversation was replaced by what the next model is shown."""

    entry: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something else is told.

    Attributes:
        entry: all that is said of it.
        step: the name of the step that it is; empty where it is shown with the one that it stands in.
        says: what that step comes to, in a line.
        beside: what the state holds from then on beside the conversation, by name.
    """

    entry: dict[str, Json]
    step: str = ""
    says: str = ""
    beside: Mapping[str, Json] = field(default_factory=dict)


_STATUSES: Final[tuple[RunStatus, ...]] = ("unknown", "interrupted", "crashed")
"""How a run may stand that its spans alone do not tell."""

Work: TypeAlias = "ModelWork | ToolWork | AgentWork | Compaction | Remark"


@dataclass(slots=True, eq=False)
class Span:
    """One span.

    Attributes:
        parent: id of the span around it; empty at the root.
        says: its attributes.
        does: what it stands for; None of any other work.
    """

    id: str
    trace: str
    parent: str
    name: str
    start_us: int | None
    end_us: int | None
    says: dict[str, Json]
    error: ErrorInfo | None = None
    events: list[tuple[str, dict[str, Json]]] = field(default_factory=list)
    does: Work | None = None

    @property
    def agent(self) -> AgentWork | None:
        """The agent that it is."""
        return self.does if isinstance(self.does, AgentWork) else None

    def first(self, keys: Sequence[str]) -> Json:
        """What the first of some attributes says that is there."""
        return first_of(self.says, keys)


def first_of(says: Mapping[str, Json], keys: Sequence[str]) -> Json:
    """What the first of some attributes says that is there."""
    for key in keys:
        value = says.get(key)
        if value not in (None, ""):
            return value
    return None


def tell_trace(trace: str, spans: Mapping[str, Span], system: str, title: str = "") -> Transcript:
    """A trace as a run.

    Args:
        trace: its id.
        spans: its spans by id, in any order.
        system: what kept it.
        title: its name; that of its root where it has none of its own.
    """
    order = sorted(spans.values(), key=lambda span: (span.start_us or 0, -(span.end_us or 0)))
    telling = TraceTelling(trace or "trace", spans, system)
    is_of_models = any(isinstance(span.does, ModelWork | ToolWork) for span in order)
    for span in order:
        telling.tell(span, is_of_models=is_of_models)
    telling.end()
    roots = [span for span in order if span.parent not in spans]
    return telling.teller.done(**facts_of_trace(roots, telling.model, title))


def facts_of_trace(roots: Sequence[Span], model: str, title: str = "") -> dict[str, object]:
    """What the spans that are in no other one say of a trace: its status, error, model and metadata."""
    tops = [span for span in roots if not span.parent]
    is_over = bool(tops) and all(span.end_us is not None for span in tops)
    error = next((span.error for span in tops if span.error is not None), None)
    status: RunStatus = "unknown" if not is_over else "failed" if error else "succeeded"
    told = next((span.says.get("agent_tt.run.status") for span in tops), None)
    status = next((each for each in _STATUSES if each == told), status)  # as a run of ours stood when it was sent
    said = {key: wire(value) for span in roots for key, value in short_facts(span.says).items()}
    named = title or (roots[0].name if roots else "")
    return {
        "status": status,
        "error": error,
        "model": model or None,
        "metadata": {**said, **(RunFacts.title.entry(named) if named else {})},
    }


def short_facts(says: Mapping[str, Json]) -> dict[str, Json]:
    """What a span says that is short enough to stand in a run's metadata."""
    return {key: value for key, value in says.items() if len(str(value)) <= _SHORT}


def parsed(value: Json) -> Json:
    """A value that may stand as JSON in a text."""
    found = parse(value) if isinstance(value, str) and value[:1] in ("{", "[", '"') else None
    return value if found is None else found


def parsed_number(value: Json) -> Json:
    """A number that may stand in a text, as tables have it."""
    found = parse(value) if isinstance(value, str) and value[:1] in "0123456789.-" and len(value) < _SHORT else None
    return value if found is None else found


class TraceTelling:
    """Tells the spans of one trace, in the order in which they began.

    Attributes:
        teller: what was told.
        model: the model that was asked last.
    """

    def __init__(self, run_id: str, spans: Mapping[str, Span], system: str) -> None:
        self.teller = Teller(run_id, system)
        self.model = ""
        self._around = Around(spans)
        self._waiting: dict[str, list[tuple[ToldStep, ToldCall]]] = {}
        self._began_in: dict[str, ToldStep | None] = {}
        self._shown: dict[str, tuple[Sequence[dict[str, Json]], list[Wire]]] = {}
        """Of each lane what its model was shown last, and as values of a state: the very same is not read again."""
        self._compacted: dict[str, list[tuple[Span, Compaction]]] = {}

    def tell(self, span: Span, *, is_of_models: bool) -> None:
        """Tell a span; one that is neither of a model nor of a tool only where none of the trace is."""
        lane = self._lane(span)
        if isinstance(span.does, ModelWork):
            self._model(span, span.does, lane)
        elif isinstance(span.does, ToolWork):
            self._tool(span, span.does, lane)
        elif isinstance(span.does, Remark):
            self._remark(span, span.does, lane)
        elif isinstance(span.does, Compaction):
            self._compacted.setdefault(lane.name, []).append((span, span.does))
        elif not is_of_models:
            step = lane.step(span.name or "span", span.end_us, began_us=span.start_us)
            step.status, step.error = ("error", span.error) if span.error else ("ok", None)
            lane.note(span.says)

    def _lane(self, span: Span) -> Lane:
        """The lane of the agent around a span, where that agent is inside another one."""
        around = self._around.of(span.parent)
        if not around.is_lane:
            self.teller.main.agent = around.name or None
            return self.teller.main
        if around.name not in self._began_in:
            self._began_in[around.name] = self.teller.steps[-1] if self.teller.steps else None
        return self.teller.lane(around.name, agent=around.name, parent=self._began_in[around.name])

    def _model(self, span: Span, work: ModelWork, lane: Lane) -> None:
        self.model = work.answer.model or self.model
        before, told = self._shown.get(lane.name, ((), []))
        pairs = enumerate(zip(before, work.shown, strict=False))
        same = next((at for at, (one, other) in pairs if one is not other), min(len(before), len(work.shown)))
        for message in work.shown[same:]:
            self._see(message)
        shown = [*told[:same], *(wire(message) for message in work.shown[same:])]
        self._shown[lane.name] = work.shown, shown
        for compaction in self._compacted.pop(lane.name, ()):
            self._compact(lane, *compaction, shown)
        lane.shown(shown)
        turn: dict[str, Json] = work.said[0] if work.said else {"role": "assistant", "content": None}
        step = lane.turn(turn, span.end_us, answer=work.answer, began_us=span.start_us)
        if step is not None and not work.said:  # nothing is known of its answer
            lane.said.pop()
            step.calls[0].result = None
        for call in step.calls if step is not None else ():
            if call.kind == "tool" and step is not None:
                self._waiting.setdefault(call.name, []).append((step, call))
        for message in work.said[1:]:
            lane.add(message, span.end_us)

    def _see(self, message: dict[str, Json]) -> None:
        """Take results of tools out of what a model is shown, where no span of the tool says them."""
        for asked_as, content, is_error in results_in(message):
            _, call = self.teller.asked.get(asked_as) or (None, None)
            if call is not None and call.status == "pending":
                answer(call, wire(content), failed=is_error)

    def _tool(self, span: Span, work: ToolWork, lane: Lane) -> None:
        known = self.teller.asked.get(work.asked_as) if work.asked_as else None
        if known is None:
            waiting = [each for each in self._waiting.get(work.name, []) if each[1].status == "pending"]
            alike = [each for each in waiting if each[1].args == wire(work.given)]
            known = next(iter(alike or waiting), None)
        if known is None:
            step = lane.step(work.name, span.end_us, began_us=span.start_us)
            known = step, lane.ask(step, work.name, wire(work.given), work.asked_as, span.start_us)
        own, call = known
        if call.args is None:
            call.args = wire(work.given)
        call.started_us = span.start_us
        if not work.is_over:
            return
        answer(call, wire(work.result), span.end_us, failed=span.error is not None)
        call.error = span.error or call.error
        own.ended_us = max(filter(None, (own.ended_us, span.end_us)), default=None)
        if work.turn is not None:
            lane.add(work.turn, span.end_us)

    def _remark(self, span: Span, remark: Remark, lane: Lane) -> None:
        if remark.step:
            step = lane.step(remark.step, span.end_us, began_us=span.start_us)
            step.status, step.error = ("error", span.error) if span.error else ("ok", None)
            step.decision = remark.says or None
        lane.beside |= {key: wire(value) for key, value in remark.beside.items()}
        lane.note(remark.entry)

    def _compact(self, lane: Lane, span: Span, compaction: Compaction, messages: list[Wire]) -> None:
        lane.begin_anew("compaction", messages, span.start_us)
        lane.note(compaction.entry)

    def end(self) -> None:
        """Tell of compactions after which no model was asked."""
        for name, compactions in self._compacted.items():
            lane = self.teller.lane(name)
            for compaction in compactions:
                self._compact(lane, *compaction, lane.said)
