"""Traces of very many spans as runs: one pass finds their steps, and what a step says is read when it is asked for.

The pass tells the trace as `spans` does, without what models were shown and tools were given. It keeps of each step
where its spans are. A step that is looked at is told again from these spans alone, which gives the same as telling the
whole trace does where the rules hold that `NotInParts` stands for.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, overload

from agent_tt.interop.kept import Kept
from agent_tt.interop.transcripts.spans import ModelWork, ToolWork, TraceTelling, facts_of_trace, short_facts
from agent_tt.interop.transcripts.telling import LONGEST_DECISION, answer, results_in, wire
from agent_tt.interop.transcripts.transcript import Talk, ToldCall
from agent_tt.model.facts import CallFacts
from agent_tt.providers.reading import messages_of_turn
from agent_tt.providers.shapes import Asked, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_tt.interop.transcripts.spans import Span
    from agent_tt.interop.transcripts.telling import Lane
    from agent_tt.interop.transcripts.transcript import ToldStep, Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["NotInParts", "tell_later"]

_STEPS_KEPT: Final = 32
_NEAR: Final = 32
"""Steps after one in which a result of its tools is looked for first: mostly the next model is shown it."""

_MODEL: Final = ToldCall("llm", "model")
_TOOL: Final = ToldCall("tool", "tool")
"""Of a call the kind alone, which is what stands for a step in a list."""


class NotInParts(Exception):
    """What a step of this trace says cannot be told from its own spans alone, or the trace has no steps of models."""


def tell_later(trace: str, heads: Iterable[Span], read: Callable[[int], Span], system: Callable[[], str]) -> Transcript:
    """A trace as a run whose steps are told when they are asked for.

    Args:
        trace: its id.
        heads: its spans in the order in which they stand in the file, without what they say beyond `Span.does`; which
            holds nothing that a model was shown, or that a tool was given or gave.
        read: gives the span at a place in that order as a whole.
        system: says what kept it, once the spans were looked through.

    Raises:
        NotInParts: it can only be told as a whole.
    """
    spans: dict[str, Span] = {}
    places: dict[str, int] = {}
    asked: set[str] = set()
    nameless: set[str] = set()
    """Names of tools that models asked for, and of tools whose spans do not say under which id."""
    is_unclear = False
    for place, span in enumerate(heads):
        if span.id in spans:
            raise NotInParts("a span was sent again")
        if isinstance(span.does, ModelWork):
            span.does = _shortened(span.does)
            names = {call.name for message in span.does.answer.messages for call in message.calls}
            asked |= names
            is_unclear = not names.isdisjoint(nameless)
        elif isinstance(span.does, ToolWork) and not span.does.asked_as:
            nameless.add(span.does.name)
            is_unclear = span.does.name in asked
        if is_unclear:  # seen early, so that the whole can be told soon
            raise NotInParts("it matters which of the calls before had no result yet")
        spans[span.id], places[span.id] = span, place
    if not any(isinstance(span.does, ModelWork | ToolWork) for span in spans.values()):
        raise NotInParts("it has steps for all spans")
    order = sorted(spans.values(), key=lambda span: (span.start_us or 0, -(span.end_us or 0)))
    telling = _Outline(trace, spans, places, system())
    for span in order:
        telling.tell(span, is_of_models=True)
    roots = [span for span in order if span.parent not in spans]
    for span in roots:
        span.says = short_facts(read(places[span.id]).says)
    told = telling.teller.done(**facts_of_trace(roots, telling.model))
    steps = LaterSteps(telling, read, told.steps)
    first = next((number for number, step in enumerate(told.steps) if step.lane == "main"), None)
    shown = None if first is None else steps[first].calls[0].asked
    told.opening = shown or Talk([], 0)
    told.later = steps
    told.steps = [*told.steps]
    telling.teller.steps.clear()  # the teller and its lanes know one another, and only the collector ends them
    return told


def _shortened(work: ModelWork) -> ModelWork:
    """An answer without what its step is not seen by in a list, which may be any size."""
    turn: dict[str, Json] = work.said[0] if work.said else {"role": "assistant", "content": None}
    if results_in(turn):
        raise NotInParts("it matters what was said before")
    said = tuple(
        Message(
            each.role,
            each.text[:LONGEST_DECISION],
            reasoning=each.reasoning[:LONGEST_DECISION],
            calls=tuple(Asked(call.id, call.name, None) for call in each.calls),
        )
        for each in work.answer.messages or messages_of_turn(turn)
    )
    return ModelWork((), (), replace(work.answer, messages=said))


class _Outline(TraceTelling):
    """Tells the steps of a trace without what they say, and where the spans of each are.

    Attributes:
        of: of each step the places of its spans, the one that it began with first.
        asks: of each id the numbers of the steps that asked for a tool under it, from 0.
    """

    def __init__(self, run_id: str, spans: dict[str, Span], places: dict[str, int], system: str) -> None:
        super().__init__(run_id, spans, system)
        self.of: list[list[int]] = []
        self.asks: dict[str, list[int]] = {}
        self._places = places
        self._tools: set[str] = set()

    def _model(self, span: Span, work: ModelWork, lane: Lane) -> None:
        if span.start_us is None:
            raise NotInParts("it matters what was said before")
        self.model = work.answer.model or self.model
        said = work.answer.messages
        step = lane.answered(said, work.answer, span.end_us, span.start_us)
        step.calls.append(_MODEL)
        for call in (call for message in said for call in message.calls):
            step.calls.append(_TOOL)
            self._tools.add(call.name)
            self._ask(call.id)
        self._began(span)

    def _tool(self, span: Span, work: ToolWork, lane: Lane) -> None:
        asks = self.asks.get(work.asked_as) if work.asked_as else None
        if asks is None and work.name in self._tools:
            raise NotInParts("it matters which of the calls before had no result yet")
        if span.start_us is None or work.turn is not None:
            raise NotInParts("it matters what was said before")
        if asks is None:
            lane.step(work.name, span.end_us, began_us=span.start_us).calls.append(_TOOL)
            self._ask(work.asked_as)
            self._began(span)
            return
        span.does = None
        self.of[asks[-1]].append(self._places[span.id])
        if work.is_over:
            step = self.teller.steps[asks[-1]]
            step.ended_us = max(filter(None, (step.ended_us, span.end_us)), default=None)

    def _ask(self, asked_as: str) -> None:
        if asked_as:
            self.asks.setdefault(asked_as, []).append(len(self.of))

    def _began(self, span: Span) -> None:
        self.of.append([self._places[span.id]])
        span.does = None  # what it said need not be kept


class LaterSteps(Sequence["ToldStep"]):
    """The steps of a trace, each told when it is asked for."""

    def __init__(self, outline: _Outline, read: Callable[[int], Span], heads: Sequence[ToldStep]) -> None:
        self._asks, self._read = outline.asks, read
        self._places, self._begin = array("l"), array("l", [0])
        for places in outline.of:
            self._places.extend(places)
            self._begin.append(len(self._places))
        self._steps: Kept[ToldStep] = Kept(_STEPS_KEPT)
        self._lanes = [(step.lane, step.agent) for step in heads]
        self._is_model = bytes(step.calls[0].kind == "llm" for step in heads)
        self._talks = array("l")
        """Of each step the one after whose answer its conversation stands; -1 before the first."""
        last: dict[str, int] = {}
        for number, step in enumerate(heads):
            if self._is_model[number]:
                last[step.lane] = number
            self._talks.append(last.get(step.lane, -1))
        self._shown_in: dict[tuple[str, int], int] | None = None

    def __len__(self) -> int:
        return len(self._begin) - 1

    @overload
    def __getitem__(self, at: int) -> ToldStep: ...

    @overload
    def __getitem__(self, at: slice) -> list[ToldStep]: ...

    def __getitem__(self, at: int | slice) -> ToldStep | list[ToldStep]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        number = range(len(self))[at]
        return self._steps.get(number, lambda: self._told(number))

    def _told(self, number: int) -> ToldStep:
        telling = TraceTelling("", {}, "")
        for place in self._places[self._begin[number] : self._begin[number + 1]]:
            telling.tell(self._read(place), is_of_models=True)
        (step,) = telling.teller.done().steps
        step.lane, step.agent = self._lanes[number]
        if not self._is_model[number]:
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
        for found, content, is_error in [] if where is None else self._results(where):
            if found == asked_as:
                answer(call, wire(content), failed=is_error)
                return

    def _where_shown(self, asked_as: str, asked: int) -> int | None:
        """The number of the step whose model was the first to be shown a result."""
        if self._shown_in is None:
            asks = self._asks[asked_as]
            after = bisect_left(asks, asked + 1)
            stop = asks[after] if after < len(asks) else len(self) - 1
            for number in range(asked + 1, min(stop, asked + _NEAR) + 1):
                if any(found == asked_as for found, _, _ in self._results(number)):
                    return number
            if stop <= asked + _NEAR:
                return None
            self._shown_in = self._looked_through()
        return self._shown_in.get((asked_as, asked))

    def _looked_through(self) -> dict[tuple[str, int], int]:
        """Of each call, by its id and the number of its step, the step whose model was shown its result first."""
        found: dict[tuple[str, int], int] = {}
        for number in range(len(self)):
            for asked_as, _, _ in self._results(number):
                asks = self._asks.get(asked_as, [])
                before = bisect_left(asks, number)  # a model is shown it before it answers
                if before:
                    found.setdefault((asked_as, asks[before - 1]), number)
        return found

    def _results(self, number: int) -> list[tuple[str, Json, bool]]:
        """The results of tools that the model of a step was shown."""
        if not self._is_model[number]:
            return []
        does = self._read(self._places[self._begin[number]]).does
        shown = does.shown if isinstance(does, ModelWork) else ()
        return [result for message in shown for result in results_in(message)]
