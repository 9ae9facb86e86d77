"""The open end of one run by records: each method is one transaction."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from agent_tt.codec.encode import encode
from agent_tt.errors import StepNotFound
from agent_tt.model import Call, Delivery, Run, Step, Usage
from agent_tt.protocols import NO_STATE, keys_unknown
from agent_tt.questions import CallQuestion, Decision
from agent_tt.store import ingest_filter
from agent_tt.store.liveness import Clock, current_owner, now_us
from agent_tt.store.open_step import OpenStep, answer_fingerprint
from agent_tt.store.records.kinds import Asked, Checkpoint, Piece, Recorder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallEnd, DeliveryKind, ErrorInfo, Hold, Judged, NewCall, NewStep, RunStatus, StepEnd
    from agent_tt.questions import NewQuestion
    from agent_tt.store.records.keeper import RecordKeeper

__all__ = ["RecordWriter", "with_usage"]


class RecordWriter:
    """Writes one run. Numbers are taken inside transactions, so several writers may write into one run.

    Args:
        store: where it lies.
        run_id: the run.
        when_over: told of the run when it is over; None where another process began the run, and ends it.
    """

    def __init__(self, store: RecordKeeper, run_id: str, when_over: Callable[[str], None] | None = None) -> None:
        self._store = store
        self._run_id = run_id
        self._when_over = when_over
        self._clock = Clock()
        (run,) = self._runs()
        self._first_step = 1 if run.fork_step is None else run.fork_step + 1
        self._seen: dict[bytes, int] = {}

    @property
    def run_id(self) -> str:
        """The run that it writes."""
        return self._run_id

    @property
    def first_step(self) -> int:
        """The number of the run's own first step: 1, or `fork_step + 1`."""
        return self._first_step

    def _runs(self) -> Sequence[Run]:
        return self._store.find(Run, self._run_id)

    # ---------------------------------------------------------------- steps

    def open_step(self, new: NewStep) -> int:
        """Commit a step as running; give its number."""
        with self._store.transaction():
            (run,) = self._runs()
            step = Step(
                run.steps + 1,
                ingest_filter.admit_text(new.name),
                "running",
                agent=None if new.agent is None else ingest_filter.admit_text(new.agent),
                lane=ingest_filter.admit_text(new.lane),
                parent=new.parent,
                started_us=self._clock.now_us(),
            )
            self._store.save(run.id, step)
            self._store.save(run.id, replace(run, steps=step.number))
        return step.number

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """Commit a step's end and, unless `state` is `NO_STATE`, a checkpoint of `state`."""
        with self._store.transaction():
            asked = self._asked(number)
            step = replace(
                self._step(number),
                status=end.status,
                kind=asked.kind,
                ended_us=self._clock.now_us(),
                tokens_in=end.tokens_in,
                tokens_out=end.tokens_out,
                cost_usd=end.cost_usd,
                error=ingest_filter.admit_error(end.error),
                decision=None if end.decision is None else ingest_filter.admit_text(end.decision),
                repeat_of=None if asked.fingerprint is None else self._seen.get(asked.fingerprint),
                extra=ingest_filter.admit_mapping(end.extra),
                track=ingest_filter.admit_text(track),
            )
            self._store.save(self._run_id, step)
            if state is not NO_STATE:
                self._take(step, state)
            (run,) = self._runs()
            self._store.save(run.id, with_usage(run, [step]))
        if asked.fingerprint is not None:
            self._seen.setdefault(asked.fingerprint, number)

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """Commit a checkpoint of a step that has ended without one."""
        with self._store.transaction():
            step = self._step(number)
            if step.seq is None:
                self._take(replace(step, track=ingest_filter.admit_text(track)), state)

    def _take(self, step: Step, state: object) -> None:
        before = self._store.checkpoint(self._run_id, step.number, step.track)
        seq = 0 if before is None else before.seq + 1
        checkpoint = Checkpoint(step.number, step.track, seq, ingest_filter.admit(encode(state)))
        self._store.save(self._run_id, checkpoint)
        self._store.save(self._run_id, replace(step, seq=seq))

    def _step(self, number: int) -> Step:
        for step in self._store.find(Step, self._run_id, number, number):
            return step
        raise StepNotFound(f"run {self._run_id} has no step {number} of its own")

    def _asked(self, number: int) -> OpenStep:
        """What a step's end needs to know of its calls."""
        known = OpenStep()
        for call in self._store.find(Call, self._run_id, number, number):
            known.kinds.append((call.kind, call.effect))
            known.ask(call.number, call.kind, call.signature or "")
            if call.number in known.asked and call.status != "pending":
                error = None if call.error is None else f"{call.error.class_name} {call.error.message}"
                known.answers[call.number] = answer_fingerprint(call.status, json.dumps(call.result), error)
        return known

    # ---------------------------------------------------------------- calls

    def begin_call(self, step: int, new: NewCall) -> int:
        """Commit the intent of a call, before it is made; give its number within the step."""
        with self._store.transaction():
            number = 1 + len(self._store.find(Call, self._run_id, step, step))
            call = Call(
                *(step, number, new.kind, ingest_filter.admit_text(new.name), "pending", new.effect),
                lane=ingest_filter.admit_text(new.lane),
                lane_seq=new.lane_seq,
                args=ingest_filter.admit(new.args),
                signature=new.signature,
                started_us=self._clock.now_us(),
                meta=ingest_filter.admit_mapping(new.meta),
            )
            self._store.save(self._run_id, call)
            self._store.save(self._run_id, replace(self._step(step), calls=number))
        return number

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """Commit what has been decided of a call that is pending: facts, and other arguments where it has them."""
        with self._store.transaction():
            call = self._call(step, number)
            args = call.args if args is None else ingest_filter.admit(args)
            self._store.save(self._run_id, replace(call, args=args, meta=_merged(call.meta, meta)))

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """Commit a piece of an answer, before the agent sees it; give its run-wide number."""
        with self._store.transaction():
            self._call(step, call)
            piece, number = ingest_filter.admit_piece(data), self._next_number()
            self._settle(step, call, piece.settled)
            self._save_piece(step, call, Delivery(number, kind, self._clock.now_us(), piece.data))
        return number

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """Commit what came back, before the agent sees it."""
        with self._store.transaction():
            call, delivered, now = self._call(step, number), self._next_number(), self._clock.now_us()
            self._settle(step, number, end.settled)
            if end.stream is not None:
                returned = ingest_filter.admit_answer(end.returned)
                self._save_piece(step, number, Delivery(delivered, end.stream, now, returned))
            done = replace(
                call,
                status=end.status,
                result=ingest_filter.admit_answer(end.result) if end.status == "ok" else None,
                error=ingest_filter.admit_error(end.error),
                ended_us=now,
                delivered=delivered,
                meta=_merged(call.meta, end.meta),
            )
            self._store.save(self._run_id, done)

    def _call(self, step: int, number: int) -> Call:
        for call in self._store.find(Call, self._run_id, step, step):
            if call.number == number:
                return call
        raise StepNotFound(f"step {step} of run {self._run_id} has no call {number}")

    def _next_number(self) -> int:
        """The number of an answer."""
        (by,) = self._store.find(Recorder, self._run_id)
        self._store.save(self._run_id, replace(by, delivered=by.delivered + 1, beat_us=now_us()))
        return by.delivered + 1

    def _save_piece(self, step: int, call: int, delivery: Delivery) -> None:
        self._store.save(self._run_id, Piece(step, call, delivery))

    def _settle(self, step: int, call: int, settled: Sequence[tuple[int, Wire]]) -> None:
        """Write what is kept of pieces that were held back."""
        pieces = self._store.deliveries(self._run_id, step, call) if settled else []
        for place, data in settled:
            self._save_piece(step, call, replace(pieces[place], data=data))

    def ask(self, step: int, call: int, new: NewQuestion) -> _OpenQuestion:
        """Commit that a call waits for somebody's decision."""
        with self._store.transaction():
            made, owner = self._call(step, call), current_owner()
            question = CallQuestion(
                *(self._store.new_number(), self._run_id, step, call, made.kind, made.name, made.effect),
                args=made.args if isinstance(made.args, dict) else {},
                editable=new.editable,
                can_give=new.can_give,
                asked_us=now_us(),
                trouble=ingest_filter.admit_text(new.trouble),
                process=owner.pid,
                lane=made.lane,
                hold=new.hold,
                state=ingest_filter.admit(new.state),
                can_edit_state=new.can_edit_state,
            )
            asked = Asked(question, owner)
            self._store.save(self._run_id, asked)
        return _OpenQuestion(self._store, asked)

    def holds(self) -> Sequence[Hold]:
        """List the holds of the run that stand."""
        return self._store.holds(self._run_id)

    def last_answer(self) -> int:
        """The number of the last answer, or piece of one, that was committed."""
        return max((by.delivered for by in self._store.find(Recorder, self._run_id)), default=0)

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> NoReturn:  # noqa: ARG002  the shape of a RunWriter
        """Refuse: stores that keep records keep no keys."""
        raise keys_unknown(tool)

    # ---------------------------------------------------------------- the end

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """End the run; steps left open count as interrupted. A guest ends nothing."""
        if self._when_over is None:
            return
        with self._store.transaction():
            now = self._clock.now_us()
            for step in self._store.find(Step, self._run_id):
                if step.status == "running":
                    self._store.save(self._run_id, replace(step, status="interrupted", ended_us=now))
            (run,) = self._runs()
            self._store.save(run.id, replace(run, status=status, ended_us=now, error=ingest_filter.admit_error(error)))
        self._when_over(self._run_id)


class _OpenQuestion:
    """A question that this process has asked."""

    def __init__(self, store: RecordKeeper, asked: Asked) -> None:
        self._store = store
        self._asked = asked

    @property
    def id(self) -> int:
        """Its number."""
        return self._asked.question.id

    def decision(self) -> Decision | None:
        """What was decided; None as long as nothing was."""
        return self._store.decision_of(self._asked.question.run_id, self.id)

    def withdraw(self) -> None:
        """Nobody waits for a decision any more."""
        if self.decision() is None:
            self._store.decide(self._asked, Decision("stop"))


def with_usage(run: Run, steps: Sequence[Step]) -> Run:
    """A run to which the tokens and dollars of steps are added."""
    total = Usage(run.tokens_in, run.tokens_out, run.cost_usd, run.unpriced)
    for step in steps:
        total += Usage(step.tokens_in, step.tokens_out, step.cost_usd, step.unpriced)
    return replace(
        run,
        tokens_in=total.tokens_in,
        tokens_out=total.tokens_out,
        cost_usd=total.cost_usd,
        unpriced=total.unpriced or 0,
    )


def _merged(before: Mapping[str, Wire], more: Mapping[str, Wire]) -> dict[str, Wire]:
    merged = {**before, **ingest_filter.admit_mapping(more)}
    return {name: fact for name, fact in merged.items() if fact is not None}
