"""Traces of very many spans as runs: one pass finds their steps, and what a step says is read when it is asked for.

The pass takes of each span a `Head`: what a list of steps shows of it. It keeps of each step a row, and where its spans
are. A step that is looked at is told again from these spans alone, as `spans` tells them, which gives the same as
telling the whole trace does where the rules hold that `NotInParts` stands for.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, overload

from agent_tt._dataclass import dataclass
from agent_tt.interop.kept import Kept
from agent_tt.interop.transcripts.around import Around
from agent_tt.interop.transcripts.found_steps import FoundSteps
from agent_tt.interop.transcripts.spans import ModelWork, ToolWork, TraceTelling, facts_of_trace, short_facts
from agent_tt.interop.transcripts.telling import answer, name_of_turn, results_in, wire
from agent_tt.interop.transcripts.transcript import Talk, Transcript
from agent_tt.model.facts import CallFacts
from agent_tt.providers.reading import messages_of_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_tt.interop.transcripts.around import AgentWork
    from agent_tt.interop.transcripts.found_steps import Lane
    from agent_tt.interop.transcripts.spans import Span
    from agent_tt.interop.transcripts.transcript import ToldCall, ToldStep
    from agent_tt.providers.shapes import Json

__all__ = ["Head", "LaterSteps", "NotInParts", "tell_later"]

_STEPS_KEPT: Final = 32
_NEAR: Final = 32
"""Steps after one in which a result of its tools is looked for first: mostly the next model is shown it."""


class NotInParts(Exception):
    """What a step of this trace says cannot be told from its own spans alone, or the trace has no steps of models."""


@dataclass(slots=True, eq=False)
class Head:
    """What a list of steps shows of a span.

    Attributes:
        parent: id of the span around it; empty at the root.
        kind: what it stands for; empty of any other work.
        name: of a tool.
        asked_as: of a tool: the id under which a model asked for it; empty where the span does not say.
        is_over: of a tool: whether it gave anything.
        agent: the agent that it is.
        model: of a model: which, where that is known; so the other attributes.
        asked: the tools that it asked for, each with its id.
        decision: what it said, in a line.
        error: why it failed.
    """

    id: str
    parent: str
    start_us: int | None
    end_us: int | None
    kind: Literal["", "llm", "tool"] = ""
    name: str = ""
    asked_as: str = ""
    is_over: bool = True
    agent: AgentWork | None = None
    model: str = ""
    asked: Sequence[tuple[str, str]] = ()
    decision: str | None = None
    tokens: tuple[int | None, int | None] = (None, None)
    cost_usd: float | None = None
    error: str = ""


def tell_later(trace: str, heads: Iterable[Head], read: Callable[[int], Span], system: Callable[[], str]) -> Transcript:
    """A trace as a run whose steps are told when they are asked for.

    Args:
        trace: its id.
        heads: its spans in the order in which they stand in the file.
        read: gives the span at a place in that order as a whole.
        system: says what kept it, once the spans were looked through.

    Raises:
        NotInParts: it can only be told as a whole.
    """
    spans: dict[str, Head] = {}
    places: dict[str, int] = {}
    asked: set[str] = set()
    nameless: set[str] = set()
    """Names of tools that models asked for, and of tools whose spans do not say under which id."""
    is_of_models = is_unclear = False
    for place, head in enumerate(heads):
        if head.id in spans:
            raise NotInParts("a span was sent again")
        if head.kind:
            is_of_models = True
            if head.start_us is None:
                raise NotInParts("it matters what was said before")
            if head.kind == "tool" and not head.asked_as:
                nameless.add(head.name)
                is_unclear = head.name in asked
            for _, name in head.asked:
                asked.add(name)
                is_unclear = is_unclear or name in nameless
            if is_unclear:  # seen early, so that the whole can be told soon
                raise NotInParts("it matters which of the calls before had no result yet")
        spans[head.id], places[head.id] = head, place
    if not is_of_models:
        raise NotInParts("it has steps for all spans")
    order = sorted(spans.values(), key=lambda head: (head.start_us or 0, -(head.end_us or 0)))
    finding = _Finding(spans, places)
    for head in order:
        finding.take(head)
    finding.rows.done()
    roots = [read(places[head.id]) for head in order if head.parent not in spans]
    for root in roots:
        root.says = short_facts(root.says)
    steps = LaterSteps(finding.rows, finding.places, finding.begin, read)
    facts = facts_of_trace(roots, finding.model)
    return Transcript(trace, system(), steps.opening, steps, rows=finding.rows, **facts)  # type: ignore[arg-type]


@dataclass(slots=True)
class _Finding:
    """Finds the steps of spans that are given in the order in which they began.

    Attributes:
        rows: a row for each step.
        places: the places of the spans of all steps; `begin` says where those of each begin, in the order of the steps.
        model: the model that was asked last.
    """

    spans: dict[str, Head]
    at: dict[str, int]
    rows: FoundSteps = field(default_factory=FoundSteps)
    model: str = ""
    around: Around = field(init=False)
    main_agent: str | None = None
    began_in: dict[str, int] = field(default_factory=dict)
    tools: set[str] = field(default_factory=set)
    asks: dict[str, int] = field(default_factory=dict)
    more: dict[int, list[int]] = field(default_factory=dict)
    first: array[int] = field(default_factory=lambda: array("q"))

    def __post_init__(self) -> None:
        self.around = Around(self.spans)

    def take(self, head: Head) -> None:
        """Take the next span."""
        lane, parent = self._lane(head)
        if head.kind == "llm":
            self._model(head, lane, parent)
        elif head.kind == "tool":
            self._tool(head, lane, parent)

    @property
    def places(self) -> array[int]:
        """The places of the spans of each step, the one that it began with first."""
        found = array("q")
        for step, place in enumerate(self.first):
            found.append(place)
            found.extend(self.more.get(step, ()))
        return found

    @property
    def begin(self) -> array[int]:
        """Where the places of each step begin among all, and where the last ones end."""
        found, at = array("q", [0]), 0
        for step in range(len(self.first)):
            at += 1 + len(self.more.get(step, ()))
            found.append(at)
        return found

    def _lane(self, head: Head) -> tuple[Lane, int]:
        around = self.around.of(head.parent)
        name, parent = around.name, 0
        if around.is_lane:
            parent = self.began_in.setdefault(name, len(self.rows))
        else:
            self.main_agent = name or None
        if not around.is_lane or name == "main":
            return ("main", self.main_agent), 0
        return (name, name), parent

    def _model(self, head: Head, lane: Lane, parent: int) -> None:
        self.model = head.model or self.model
        for asked_as, name in head.asked:
            self.tools.add(name)
            if asked_as:
                self.asks[asked_as] = len(self.rows)
        self.first.append(self.at[head.id])
        self.rows.add(
            name_of_turn([name for _, name in head.asked]),
            lane,
            parent,
            head.start_us or 0,
            head.end_us,
            len(head.asked),
            tokens=head.tokens,
            cost_usd=head.cost_usd,
            error=head.error,
            decision=head.decision,
        )

    def _tool(self, head: Head, lane: Lane, parent: int) -> None:
        step = self.asks.get(head.asked_as) if head.asked_as else None
        if step is None and head.name in self.tools:
            raise NotInParts("it matters which of the calls before had no result yet")
        if step is None:
            if head.asked_as:
                self.asks[head.asked_as] = len(self.rows)
            self.first.append(self.at[head.id])
            self.rows.add(head.name, lane, parent, head.start_us or 0, head.end_us)
            return
        self.more.setdefault(step, []).append(self.at[head.id])
        if head.is_over:
            self.rows.lasts(step + 1, head.end_us)


class LaterSteps(Sequence["ToldStep"]):
    """The steps of a trace, each told when it is asked for.

    Args:
        rows: what a list shows of them.
        places: the places of their spans.
        begin: where those of each begin among all, and where the last ones end.
        read: gives the span at a place as a whole.
    """

    def __init__(self, rows: FoundSteps, places: array[int], begin: array[int], read: Callable[[int], Span]) -> None:
        self.rows, self.places, self.begin, self.read = rows, places, begin, read
        self._steps: Kept[ToldStep] = Kept(_STEPS_KEPT)
        self._talks = array("q")
        """Of each step the one after whose answer its conversation stands; -1 before the first."""
        rows.say = self._line
        last: dict[str, int] = {}
        for number in range(len(rows)):
            lane, _ = rows.lane(number)
            if rows.is_model(number):
                last[lane] = number
            self._talks.append(last.get(lane, -1))
        self._shown_in: dict[tuple[str, int], int] | None = None

    @property
    def opening(self) -> Talk:
        """What had been said before the first step of the main conversation."""
        first = next((at for at in range(len(self)) if self.rows.lane(at)[0] == "main"), None)
        shown = None if first is None else self[first].calls[0].asked
        return shown or Talk([], 0)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> ToldStep: ...

    @overload
    def __getitem__(self, at: slice) -> list[ToldStep]: ...

    def __getitem__(self, at: int | slice) -> ToldStep | list[ToldStep]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        number = range(len(self))[at]
        return self._steps.get(number, lambda: self._told(number))

    def _line(self, number: int) -> tuple[str | None, str]:
        told = self[number - 1]
        return told.decision, told.error.message if told.error else ""

    def _told(self, number: int) -> ToldStep:
        telling = TraceTelling("", {}, "")
        for place in self.places[self.begin[number] : self.begin[number + 1]]:
            telling.tell(self.read(place), is_of_models=True)
        (step,) = telling.teller.done().steps
        step.lane, step.agent = self.rows.lane(number)
        if not self.rows.is_model(number):
            before = self._talks[number]
            step.talk = Talk([], 0) if before < 0 else self[before].talk
        for call in step.calls:
            if call.kind == "tool" and call.status == "pending":
                self._see(number, call)
        return step

    def _see(self, number: int, call: ToldCall) -> None:
        """Take the result of a call out of what a model was shown later on, where it is."""
        asked_as = CallFacts.answers.of(call.meta)
        where = self._where_shown(asked_as, number) if asked_as else None
        for found, content, is_error in [] if where is None else self._results(self._work(where)):
            if found == asked_as:
                answer(call, wire(content), failed=is_error)
                return

    def _where_shown(self, asked_as: str, asked: int) -> int | None:
        """The number of the step whose model was the first to be shown a result."""
        if self._shown_in is None:
            for number in range(asked + 1, min(len(self) - 1, asked + _NEAR) + 1):
                work = self._work(number)
                if any(found == asked_as for found, _, _ in self._results(work)):
                    return number
                if asked_as in self._asked_in(work):
                    return None
            if len(self) - 1 <= asked + _NEAR:
                return None
            self._shown_in = self._looked_through()
        return self._shown_in.get((asked_as, asked))

    def _looked_through(self) -> dict[tuple[str, int], int]:
        """Of each call, by its id and the number of its step, the step whose model was shown its result first."""
        found: dict[tuple[str, int], int] = {}
        asked_in: dict[str, int] = {}
        for number in range(len(self)):
            work = self._work(number)
            for asked_as, _, _ in self._results(work):  # a model is shown it before it answers
                if asked_as in asked_in:
                    found.setdefault((asked_as, asked_in[asked_as]), number)
            for asked_as in self._asked_in(work):
                asked_in[asked_as] = number
        return found

    def _work(self, number: int) -> ModelWork | ToolWork:
        """What the span stands for that a step begins with."""
        does = self.read(self.places[self.begin[number]]).does
        if isinstance(does, ModelWork | ToolWork):
            return does
        return ToolWork("", None, None)  # it was changed meanwhile

    def _results(self, work: ModelWork | ToolWork) -> list[tuple[str, Json, bool]]:
        """The results of tools that a model was shown."""
        shown = work.shown if isinstance(work, ModelWork) else ()
        return [result for message in shown for result in results_in(message)]

    def _asked_in(self, work: ModelWork | ToolWork) -> set[str]:
        """The ids under which tools are asked for in a step."""
        if isinstance(work, ToolWork):
            return {work.asked_as} - {""}
        said = work.answer.messages or [each for turn in work.said[:1] for each in messages_of_turn(turn)]
        return {call.id for message in said for call in message.calls} - {""}
