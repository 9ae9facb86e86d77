"""Writing a run that goes on: its own rows are continued, and what they hold already is not written again.

The agent runs from its beginning, so it opens its steps and makes its calls once more. A step is known by its lane and
its place among the steps of that lane, a call by the answer that it is given (`agent_tt.resuming.engine`). Known ones
keep their numbers, and nothing is written. A step that was open goes on, and ends. What is made for real is written as
ever; a call that was in flight gets a new row, which says whose place it takes (`agent_tt.replaying.tape.repeats`).
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from agent_tt.model import NO_USAGE
from agent_tt.model.facts import CallFacts
from agent_tt.protocols import ForwardingWriter
from agent_tt.recording.calls.usage import usage_in
from agent_tt.replaying.tape.repeats import place_of
from agent_tt.resuming.continued import ContinuedWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import (
        CallEnd,
        DeliveryKind,
        ErrorInfo,
        Judged,
        NewCall,
        NewRun,
        NewStep,
        Note,
        Output,
        RunStatus,
        StepEnd,
        Usage,
    )
    from agent_tt.protocols import RunWriter, Store
    from agent_tt.replaying.tape.repeats import Place
    from agent_tt.resuming.engine import Resumption
    from agent_tt.resuming.past import Past

__all__ = ["ResumedStore"]

N = TypeVar("N", int, float)
T = TypeVar("T")

_NOWHERE = 1 << 40
"""Numbers from here on are of what is not kept: the agent has been halted."""


class ResumedStore:
    """What the recorder needs of a store, for the one run that goes on.

    Args:
        store: holds the run.
        past: what the run had done.
        resumption: answers its calls.
        broke_off: told how the agent ended, where the run has not: it was halted, and can be resumed once more.
    """

    def __init__(
        self, store: Store, past: Past, resumption: Resumption, broke_off: Callable[[RunStatus, ErrorInfo | None], None]
    ) -> None:
        self._store = store
        self._past = past
        self._resumption = resumption
        self._broke_off = broke_off
        self._lock = threading.Lock()
        self._noted = Counter((note.step, note.body) for note in store.notes(past.run.id))

    @property
    def path(self) -> Path:
        """Where the run lies."""
        return self._store.path

    def as_store(self) -> Store:
        """This object, for who asks for a store: no other method is used in recording."""
        return cast("Store", self)

    def adopt_run(self, run_id: str, new: NewRun, state: object) -> _ResumedWriter:
        """Go on with the run."""
        writer: RunWriter = self._store.adopt_run(run_id, new, state)
        if self._past.inherited:
            writer = ContinuedWriter(writer, self._past.inherited)
        return _ResumedWriter(writer, self._past, self._resumption, self._broke_off)

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note | None:
        """Write a note, unless it was written before."""
        with self._lock:
            self._noted[step, body] -= 1
            is_known = self._noted[step, body] >= 0
        return None if is_known else self._store.add_note(run_id, step, kind, body)

    def keep_output(self, run_id: str, output: Output) -> None:
        """Write down what the run printed: the agent ran from its beginning, so this is all of it."""
        if not self._resumption.is_halted:
            self._store.keep_output(run_id, output)

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Replace the run's tags."""
        self._store.set_tags(run_id, tags)


class _ResumedWriter(ForwardingWriter):
    """The open end of a run that goes on. Safe to use from several threads."""

    def __init__(
        self,
        writer: RunWriter,
        past: Past,
        resumption: Resumption,
        broke_off: Callable[[RunStatus, ErrorInfo | None], None],
    ) -> None:
        self._writer = writer
        self._resumption = resumption
        self._broke_off = broke_off
        self._lock = threading.Lock()
        self._steps = {lane: iter(steps) for lane, steps in past.steps.items()}
        ended = (step.number for steps in past.steps.values() for step in steps if step.status != "running")
        self._over = set(ended) - past.inherited.keys()
        self._open = past.open
        self._to_copy = past.copies
        self._inherited = past.inherited
        self._last_seq = defaultdict(int, past.last_seq)
        self._kept: set[Place] = set()
        self._copies: set[Place] = set()
        self._counted: dict[int, Usage] = {}
        self._not_kept = itertools.count(_NOWHERE)

    def _forward(self, action: Callable[[RunWriter], T]) -> T:
        return action(self._writer)

    # ------------------------------------------------------------ steps

    def open_step(self, new: NewStep) -> int:
        """Find the step that this is, else commit a new one; give its number."""
        if self._resumption.failure is not None:
            return next(self._not_kept)
        with self._lock:
            known = next(self._steps.get(new.lane, iter(())), None)
        return self._writer.open_step(new) if known is None else known.number

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """Commit the end of a step that had not ended. Of an agent that was halted none has."""
        if number not in self._over and number < _NOWHERE and self._resumption.failure is None:
            with self._lock:
                counted = self._counted.pop(number, NO_USAGE)
            self._writer.close_step(number, _without(end, counted), state, track=track)

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """Commit a checkpoint of a step that has ended, and had not before."""
        if number not in self._over and number < _NOWHERE and self._resumption.failure is None:
            self._writer.take_checkpoint(number, state, track=track)

    # ------------------------------------------------------------ calls

    def begin_call(self, step: int, new: NewCall) -> int:
        """Find the call that this is, else commit the intent of a new one; give its number in its step."""
        claim = self._resumption.claim(new, step)
        if claim.halts:
            return next(self._not_kept)
        entry, facts = claim.call, dict(new.meta)
        if entry is None:
            with self._lock:
                self._last_seq[new.lane] += 1
                new = replace(new, lane_seq=self._last_seq[new.lane])
        else:
            place = place_of(entry.call)
            is_copy = place in self._to_copy
            is_there = place[0] == step or place[0] in self._inherited
            if place not in self._open and is_there and not is_copy:
                return place[1]
            if place not in self._open:
                facts.pop(CallFacts.policy.key, None)  # its answer is recorded: no rule decides about it
                if is_copy and entry.call.facts.policy:  # it says who answered it in this run
                    CallFacts.policy.put(facts, entry.call.facts.policy)
            if not is_copy:
                (CallFacts.again if place in self._open else CallFacts.copy_of).put(facts, place)
            if CallFacts.idempotency_key.of(facts) is not None:  # it is sent with the key that it was sent with before
                new = replace(new, args=entry.call.args)
                CallFacts.idempotency_key.put(facts, entry.call.facts.idempotency_key)
            new = replace(new, lane=entry.call.lane, lane_seq=entry.call.lane_seq, meta=facts)
        number = self._writer.begin_call(step, new)
        with self._lock:
            self._kept.add((step, number))
            if CallFacts.copy_of.is_in(facts):
                self._copies.add((step, number))
        return number

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """Commit what has been decided of a call that is new."""
        if (step, number) in self._kept:
            self._writer.amend_call(step, number, meta, args=args)

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """Commit a piece of an answer of a call that is new."""
        if (step, call) in self._kept:
            return self._writer.deliver(step, call, kind, data)
        return next(self._not_kept)

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """Commit what came back of a call that is new."""
        if (step, number) in self._kept:
            self._writer.end_call(step, number, end)
        if (step, number) in self._copies:
            with self._lock:
                self._counted[step] = self._counted.get(step, NO_USAGE) + usage_in(end.meta)

    # ------------------------------------------------------------ the end

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """End the run, unless its agent was halted, or ended before it had come to where the run broke off."""
        self._resumption.finish()
        if self._resumption.failure is None:
            self._writer.finish(status, error)
        else:
            self._broke_off(status, error)


def _without(end: StepEnd, counted: Usage) -> StepEnd:
    """The end of a step without what the step that it is taken in place of has counted already."""
    return replace(
        end,
        tokens_in=_less(end.tokens_in, counted.tokens_in),
        tokens_out=_less(end.tokens_out, counted.tokens_out),
        cost_usd=_less(end.cost_usd, counted.cost_usd),
    )


def _less(total: N | None, counted: N | None) -> N | None:
    return total if total is None or counted is None else max(total - counted, type(total)(0))
