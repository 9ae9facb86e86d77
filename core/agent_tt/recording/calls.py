"""One call: its intent is committed, the function runs, and what came back is committed before the agent sees it."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tt.codec.encode import encode
from agent_tt.errors import AgentTTError, ToolDenied, UsageError
from agent_tt.model import CallEnd, NewCall
from agent_tt.recording.adoption import process_policy
from agent_tt.recording.call_site import call_site
from agent_tt.recording.exceptions import error_info
from agent_tt.recording.scope import enter, here, leave
from agent_tt.recording.signature import signature_of_call
from agent_tt.recording.usage import usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, Effect, StreamEnd
    from agent_tt.recording.scope import Scope
    from agent_tt.recording.signature import Parameters
    from agent_tt.recording.steps import RecordedStep


@dataclass(frozen=True, slots=True)
class CallSpec:
    """What is known of a function whose calls are recorded.

    Attributes:
        kind: `tool` or `llm`.
        name: what the calls are called.
        effect: what a tool does to the world; None for a model call.
        parameters: how the function names its arguments.
        idempotency_key: the argument by which the outside world recognises a repeated call.
        model: the model that is called, where it is known.
    """

    kind: CallKind
    name: str
    effect: Effect | None
    parameters: Parameters
    idempotency_key: str | None = None
    model: str | None = None


class RecordedCall:
    """A call that has begun. The first that ends it counts; what comes after that is ignored."""

    def __init__(self, scope: Scope, spec: CallSpec, step: RecordedStep, *, owns_step: bool) -> None:
        self._recording = scope.recording
        self._around = scope.call
        self._spec = spec
        self._step = step
        self._owns_step = owns_step
        self._number: int | None = None
        self._lock = threading.RLock()
        self._is_over = False

    def begin(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Commit the intent. The arguments are those of this moment: the function may change them.

        Raises:
            ToolDenied: the fork's policy denies the tool; that is recorded as its outcome.
            StoreUnreadable: the intent could not be written, so the function must not run.
        """
        spec, lane = self._spec, self._recording.lanes.current()
        named = spec.parameters.bind(args, kwargs)
        new = NewCall(
            kind=spec.kind,
            name=spec.name,
            args=named,
            signature=signature_of_call(spec.kind, spec.name, named, without=spec.idempotency_key),
            effect=spec.effect,
            lane=lane.id,
            lane_seq=lane.next_sequence(),
            meta=self._facts(named),
        )
        step = self._step.number
        self._number = self._recording.journal.write(lambda writer: writer.begin_call(step, new))
        policy = process_policy()
        if policy is not None:
            try:
                policy.check(spec.name, spec.effect)
            except ToolDenied as denial:
                self._end(CallEnd(status="denied", error=error_info(denial)), denial)
                raise

    def succeeded(self, result: object) -> None:
        """Commit the result, before the agent has it.

        Args:
            result: what the function gave; a model's answer is asked for its usage.
        """
        self._end(CallEnd(status="ok", result=encode(result), meta=self._count_usage(result)), None)

    def failed(self, error: BaseException) -> None:
        """Commit that the function raised `error`."""
        with contextlib.suppress(AgentTTError):  # logged and remembered; the agent's own exception goes on its way
            self._end(CallEnd(status="error", error=error_info(error)), error)

    def gave(self, piece: Wire) -> None:
        """Commit a piece of an answer that comes in several, before the agent has it.

        Raises:
            StoreUnreadable: it could not be written. The call stays open, as one whose outcome is unknown.
        """
        number, step, journal = self._number, self._step.number, self._recording.journal
        if number is None or self._is_over:
            return

        def write() -> None:
            journal.write(lambda writer: writer.deliver(step, number, "chunk", piece))

        try:
            journal.when_free(write)
        except AgentTTError:
            self._is_over = True
            raise

    def stream_ended(self, how: StreamEnd, recorded: Wire, *, returned: Wire = None, priced: object = None) -> None:
        """Commit the end of an answer that came in pieces.

        Args:
            how: `end`, or `closed` where the agent left early.
            recorded: what is kept as the result.
            returned: what the generator returned.
            priced: the piece that tells the usage.
        """
        meta = self._count_usage(priced)
        self._end(CallEnd(status="ok", result=recorded, meta=meta, stream=how, returned=returned), None)

    def stream_failed(self, error: BaseException, recorded: Wire) -> None:
        """Commit that the function raised `error` after the pieces in `recorded`."""
        with contextlib.suppress(AgentTTError):  # as in `failed`
            self._end(CallEnd(status="error", result=recorded, error=error_info(error), stream="error"), error)

    def _count_usage(self, answer: object) -> dict[str, Wire]:
        """Add a model's usage to the step; what the call's facts say of it."""
        usage = usage_of(answer)
        meta = usage.to_meta() if self._spec.kind == "llm" else {}
        if meta:
            self._step.count(usage)
        return meta

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While it lasts, calls of this code are made by the function of this call."""
        scope = enter(self._recording, self._step, self)
        try:
            yield
        finally:
            leave(scope)

    def _facts(self, named: Mapping[str, Wire]) -> dict[str, Wire]:
        """What is shown of the call beside its arguments: where it was made, inside which call, which model."""
        facts = call_site(self._recording.code.root)
        spec, around = self._spec, self._around
        if spec.kind == "llm":
            model = spec.model or self._recording.model
            if model is not None:
                facts["model"] = model
        if spec.idempotency_key is not None:
            facts["idempotency_key"] = named.get(spec.idempotency_key)
        if around is not None and not around.is_over:
            facts["inside"] = around.place()
        return facts

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._is_over

    def place(self) -> dict[str, Wire]:
        """Its step and its number in there."""
        return {"step": self._step.number, "call": self._number}

    def _end(self, end: CallEnd, error: BaseException | None) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        number, step = self._number, self._step
        if number is None:
            return
        journal = self._recording.journal
        journal.when_free(lambda: journal.write(lambda writer: writer.end_call(step.number, number, end)))
        if self._owns_step:
            step.close(error)


def begin_call(spec: CallSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> RecordedCall | None:
    """Begin a call of the code that asks; None outside any recording, where the function simply runs.

    Outside any step the call makes a step of its own, named after it.

    Raises:
        ToolDenied: the policy of the fork that this process runs denies the tool.
    """
    scope = here()
    if scope is None:
        policy = process_policy()
        if policy is not None:
            policy.check(spec.name, spec.effect)
        return None
    step = scope.step
    if step is not None and step.is_open:
        call = RecordedCall(scope, spec, step, owns_step=False)
        call.begin(args, kwargs)
        return call
    own = scope.recording.step(spec.name)
    try:
        own.open(is_current=False)
    except UsageError:
        if scope.recording.is_open:
            raise
        return None  # another thread ended the run just now
    call = RecordedCall(scope, spec, own, owns_step=True)
    try:
        call.begin(args, kwargs)
    except BaseException as error:
        own.close(error)
        raise
    return call
