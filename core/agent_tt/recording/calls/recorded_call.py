"""One call: its intent is committed, the function runs, and what came back is committed before the agent sees it."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from agent_tt.codec.encode import encode
from agent_tt.errors import AgentTTError
from agent_tt.model import CallEnd, Judged, NewCall
from agent_tt.model.facts import CallFacts, StepFacts
from agent_tt.recording.calls.answers import KnowsOrder
from agent_tt.recording.calls.arguments import FunctionCall, given_arguments, going_out, sent_with
from agent_tt.recording.calls.counting import ModelUsage
from agent_tt.recording.calls.facts import facts_of
from agent_tt.recording.calls.once import take_key
from agent_tt.recording.calls.signature import signature_of_call
from agent_tt.recording.concurrency.beside import beside
from agent_tt.recording.errors.cancellation import cancellation_facts
from agent_tt.recording.errors.exceptions import error_info
from agent_tt.recording.lanes.arrival import Arrival
from agent_tt.recording.lanes.shared_end import SharedEnd
from agent_tt.recording.scope import enter, leave
from agent_tt.recording.session import SESSION
from agent_tt.recording.steps.in_place import CannotChange, change_state_of
from agent_tt.redaction.streams.wire_pieces import WirePieces

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, StreamEnd
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.calls.arguments import Given, GivenArguments
    from agent_tt.recording.calls.signature import CallSpec
    from agent_tt.recording.links import Reply
    from agent_tt.recording.open_run import OpenCall, OpenStep
    from agent_tt.recording.scope import Scope

P = ParamSpec("P")
R = TypeVar("R")

_RETURNED_AS: Final = CallFacts.returned_as.key


class RecordedCall:
    """A call that has begun. The first that ends it counts; what comes after that is ignored.

    Attributes:
        recording: what records it.
        around: the call whose function makes it, or made what makes it.
        spec: what is called.
        number: its number in its step, once its intent is committed; None where its run had just ended.
        named: its arguments by name, as they are kept.
        given: what it goes out with; None where nothing of that can be changed.
        by_link: what links remember of it from one hook to the next.
        end: what processes that were forked inside it see of its end.
        served: the answer that a link gives in place of the function; None where that runs.
        sent: what goes out in place of what the agent gave, a function's `(args, kwargs)` or a request; else None.
        is_awaited: whether its answer comes to an event loop.
        returned_as: what a plain function gave in place of its answer: `coroutine`, `generator`, `async generator`,
            `asyncio future` or `future`; None where it gave the answer itself.
    """

    def __init__(self, scope: Scope, spec: CallSpec, step: OpenStep, *, owns_step: bool) -> None:
        self.recording = scope.recording
        self.around = scope.call
        self.spec = spec.under(scope.recording.effects)
        self.number: int | None = None
        self.named: Mapping[str, Wire] = MappingProxyType({})
        self.given: Given | None = None
        self.by_link: dict[object, object] = {}
        self._step = step
        self._owns_step = owns_step
        self._lock = threading.RLock()
        self._is_over = False
        self.end = SharedEnd()
        self._usage = ModelUsage(step, scope.call)
        self._arrival = Arrival(scope.recording.latest_answer, _stood_still_us)
        self._key_before: Wire = None
        self._later: tuple[Callable[[], Awaitable[Reply | None]], ...] = ()
        self._arguments: GivenArguments | None = None
        self._pieces: WirePieces | None = None
        self._settled: tuple[tuple[int, Wire], ...] = ()
        self._is_unpaid = False
        self._is_entered = False
        self._new: NewCall | None = None
        self.served: Served | None = None
        self.sent: object = None
        self.is_awaited = False
        self.returned_as: str | None = None

    def begin(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Commit the intent, with the arguments of this moment: the function may change them.

        Raises:
            BaseException: as `begin_asking`.
        """
        spec = self.spec
        named = spec.parameters.bind(args, kwargs)
        signature = signature_of_call(spec.kind, spec.name, named, without=spec.uncompared)
        sent: tuple[Sequence[object], Mapping[str, object]] | None = None
        for edit in SESSION.chain.edit_call:
            sent = edit(self, *(sent or (args, kwargs)), signature) or sent
        if sent is not None:
            self.sent = sent
            named = spec.parameters.bind(*sent)
            signature = signature_of_call(spec.kind, spec.name, named, without=spec.uncompared)
        gets = sent or (args, kwargs)
        self._arguments = given_arguments(spec.parameters, named, *gets)
        facts = {} if spec.once is None else spec.once.facts(spec.parameters.objects(*gets))
        self.begin_asking(named, signature, facts=facts, given=FunctionCall(spec.parameters, *gets))

    def begin_asking(
        self,
        named: Mapping[str, Wire],
        signature: str,
        *,
        facts: Mapping[str, Wire] = MappingProxyType({}),
        given: Given | None = None,
    ) -> None:
        """Commit the intent of a call whose question is known as it stands, between what the chain does about it.

        Args:
            named: what is asked, by name.
            signature: the digest of that.
            facts: what else is shown of the call.
            given: what it goes out with, where a person who is asked may change that.

        Raises:
            StoreUnreadable: the intent could not be written, so the call must not be made.
            BaseException: a link refuses it (`ToolDenied`), or halts the agent (`Divergence`, `LimitReached`).
        """
        chain, recording, spec = SESSION.chain, self.recording, self.spec
        self.named, self.given = named, given
        said: dict[str, Wire] = {}
        for before in chain.before_call:
            before(self, said)
        lane = recording.lanes.current()
        new = NewCall(
            kind=spec.kind,
            name=spec.name,
            args=dict(named),
            signature=signature,
            effect=spec.effect,
            lane=lane.id,
            lane_seq=lane.next_sequence(),
            meta={**facts_of(recording, spec, self.around, named), **facts, **said},
        )
        step = self._step.number
        recording.journal.handover.goes_on()
        if spec.effect == "write":
            recording.checkpoints.before_write(step, self._step.track, recording.journal)
        self.number = recording.journal.write(lambda writer: writer.begin_call(step, new))
        steps = recording.model_steps
        if steps is not None and self.asks_a_model:
            steps.asked(self._step, self, named)
        self._arrival.asked()
        if chain.answer_call:
            self._put_to(chain.answer_call, new)
        if spec.once is not None:
            self._new = new
            if not spec.can_wait:
                self._take_key(threading.Event())

    def _put_to(self, links: Sequence[Callable[[OpenCall, NewCall], Reply | None]], new: NewCall) -> None:
        """Ask one link after the other what becomes of it, until one answers.

        Raises:
            BaseException: one refuses it; that is recorded as its outcome.
        """
        try:
            for answer in links:
                reply = answer(self, new)
                if reply is not None:
                    self._take(reply)
                if self.served is not None:
                    return
        except BaseException as error:
            self.failed(error)
            raise

    def _take(self, reply: Reply) -> None:
        """Do what a link makes of it.

        Raises:
            BaseException: it is refused; that is recorded as its outcome.
        """
        number, step = self.number, self._step.number
        if reply.refusal is not None:
            self._end(CallEnd("denied", error=error_info(reply.refusal), meta=reply.facts), reply.refusal)
            raise reply.refusal
        if reply.facts and number is not None:
            edited = None if reply.edited is None else dict(reply.edited)
            self.recording.journal.write(lambda writer: writer.amend_call(step, number, reply.facts, args=edited))
            self._arrival.asked()  # somebody may have thought about it for long
        if reply.served is not None:
            self.served, self._is_unpaid = reply.served, reply.is_free
            self._change_state_again(reply.served)
        if reply.sent is not None:
            self.sent = reply.sent
        if reply.key is not None:
            self._key_before = reply.key
        if reply.later is not None:
            self._later = (*self._later, reply.later)

    def _change_state_again(self, served: Served) -> None:
        """Change the state as somebody did while the agent was held before the recorded call.

        Raises:
            Divergence: the agent has no such state now.
        """
        edits = CallFacts.hold.of(served.call.meta).state
        if not edits:
            return

        def change() -> None:
            try:
                change_state_of(self._step, edits)
            except (CannotChange, AgentTTError) as error:
                why = f"the state was changed before {self.spec.name}, which is not possible now: {error}"
                raise served.read_past(why) from None

        async def change_in_turn() -> None:
            if isinstance(served, KnowsOrder):
                await served.turn_of_change()
            change()

        if self.spec.can_wait:
            self._later = (*self._later, change_in_turn)
            return
        if isinstance(served, KnowsOrder):
            served.wait_for_change()
        change()

    async def until_live(self) -> None:
        """Wait, before a call of a coroutine is made, until that may be: it is known afterwards whether it is `served`.

        A run that goes on first gives out what was recorded; a person may have to be asked.

        Raises:
            BaseException: a link refuses it (`ToolDenied`), or halts the agent (`Divergence`).
        """
        try:
            while self._later:
                later, *rest = self._later
                self._later = tuple(rest)
                reply = await later()
                if reply is not None:
                    self._take(reply)
        except BaseException as error:
            self.failed(error)
            raise
        if self.spec.once is not None and self.spec.can_wait and not self._take_key(None):
            await beside(self._take_key)

    def _take_key(self, is_left: threading.Event | None) -> bool:
        """Have the key for which this call is done once: see `take_key`; what that raises is recorded."""
        try:
            arguments = partial(going_out, self.given, self.spec, self.sent, self._key_before)
            return self._new is None or take_key(self, self._new, arguments, self._take, is_left)
        except BaseException as error:
            self.failed(error)
            raise

    @property
    def key_before(self) -> str | None:
        """The idempotency key with which an earlier try of this very request was sent; None where there was none."""
        return self._key_before if isinstance(self._key_before, str) else None

    def sending(self, function: Callable[P, R]) -> Callable[P, R]:
        """What to call in place of `function`; see `sent_with`."""
        return sent_with(function, self.spec, self.sent, self._key_before)

    def succeeded(self, result: object) -> None:
        """Commit the result, before the agent has it.

        Args:
            result: what the function gave; a model's answer is asked for its usage.
        """
        self._end(CallEnd(status="ok", result=encode(result), meta=self._count_usage(result)), None)

    def failed(self, error: BaseException) -> None:
        """Commit that the function raised `error`."""
        with contextlib.suppress(AgentTTError):  # logged and remembered; the agent's own exception goes on its way
            self._end(CallEnd(status="error", error=error_info(error), meta=cancellation_facts(error)), error)

    def gave(self, piece: Wire | Judged) -> None:
        """Commit a piece of an answer that comes in several, before the agent has it.

        Args:
            piece: the piece; one that is not judged with the others yet is judged with those of this call.

        Raises:
            StoreUnreadable: it could not be written. The call stays open, as one whose outcome is unknown.
        """
        number, step, journal = self.number, self._step.number, self.recording.journal
        if number is None or self._is_over:
            return
        if isinstance(piece, Judged):
            judged = piece
        else:
            self._pieces = self._pieces or WirePieces()
            judged = self._pieces.take(piece)

        def write() -> None:
            with self._in_turn():
                journal.write(lambda writer: writer.deliver(step, number, "chunk", judged))
            self._arrival.piece(is_timed=self._is_timed, is_served=self.served is not None)

        try:
            journal.when_free(write)
        except AgentTTError:
            self._is_over = True
            raise

    def stands(self) -> None:
        """It is the opening of a connection, which is open now: the step that it made for itself is over."""
        if self._owns_step:
            self._owns_step = False
            self._step.close(None)

    def kept(self) -> list[Wire]:
        """The pieces that it gave, as they are kept. No more may follow."""
        if self._pieces is None:
            return []
        self._settled += self._pieces.end()
        return self._pieces.shown

    def reads_on(self) -> None:
        """Note that the agent is done with the last piece, and asks for the next."""
        self.recording.journal.handover.goes_on()

    def _in_turn(self) -> AbstractContextManager[None]:
        """Around the commit of an answer: in a thread, behind what another does with its own.

        What a recording answers comes in an order already; what a person gives does not.
        """
        if self.served is not None and not self._is_unpaid:
            return contextlib.nullcontext()
        return self.recording.journal.handover.answering()

    def stream_ended(
        self,
        how: StreamEnd,
        recorded: Wire,
        *,
        returned: Wire = None,
        priced: object = None,
        facts: Mapping[str, Wire] = MappingProxyType({}),
        settled: tuple[tuple[int, Wire], ...] = (),
    ) -> None:
        """Commit the end of an answer that came in pieces.

        Args:
            how: `end`, or `closed` where the agent left early.
            recorded: what is kept as the result.
            returned: what the generator returned.
            priced: the piece that tells the usage.
            facts: what else is shown of the call.
            settled: what is kept of pieces that were held back; see `Judged`.
        """
        meta = {**facts, **self._count_usage(priced)}
        end = CallEnd(status="ok", result=recorded, meta=meta, stream=how, returned=returned, settled=settled)
        self._end(end, None)

    def stream_failed(
        self, error: BaseException, recorded: Wire, *, settled: tuple[tuple[int, Wire], ...] = ()
    ) -> None:
        """Commit that the function raised `error` after the pieces in `recorded`; `settled` as in `stream_ended`."""
        with contextlib.suppress(AgentTTError):  # as in `failed`
            info, facts = error_info(error), cancellation_facts(error)
            end = CallEnd(status="error", result=recorded, error=info, meta=facts, stream="error", settled=settled)
            self._end(end, error)

    def _count_usage(self, answer: object) -> dict[str, Wire]:
        """Add a model's usage to the step; what the call's facts say of it."""
        return self._usage.count(answer, self.served, is_free=self._is_unpaid) if self.asks_a_model else {}

    def counted(self, figures: Mapping[str, Wire]) -> None:
        """A model call that this one made has counted these figures."""
        self._usage.counted(figures)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While it lasts, calls of this code are made by the function of this call."""
        scope = enter(self.recording, self._step, self)
        try:
            if not SESSION.chain.around_call:
                yield
                return
            with contextlib.ExitStack() as around:
                for link in SESSION.chain.around_call:
                    around.enter_context(link(self))
                yield
        finally:
            leave(scope)

    @property
    def is_over(self) -> bool:
        """Whether it has ended. In a forked process: whether it has in the process where it began."""
        return self._is_over or self.end.has_come

    @property
    def _is_timed(self) -> bool:
        """Whether it is said how its answer came: to an event loop, from the world."""
        return self.is_awaited and self.served is None

    @property
    def runs(self) -> bool:
        """Whether its function runs for real, and has not ended."""
        return not self.is_over and self.served is None

    @property
    def asks_a_model(self) -> bool:
        """Whether it is a model call."""
        return self.spec.kind == "llm"

    @property
    def step(self) -> OpenStep:
        """Its step."""
        return self._step

    @property
    def step_number(self) -> int:
        """The number of its step."""
        return self._step.number

    def enters(self, kind: CallKind, name: str) -> bool:
        """Whether a call that begins inside it is what it is made of, and so no other call; true once.

        Args:
            kind: the kind of that call.
            name: what is called.
        """
        if self._is_entered or kind != "tool" or self.spec.made_of != name:
            return False
        self._is_entered = True
        return True

    def place(self) -> dict[str, Wire]:
        """Its step and its number in there."""
        return {"step": self._step.number, "call": self.number}

    def _end(self, end: CallEnd, error: BaseException | None) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        self.end.come()
        self.given = None  # the agent's own objects: nobody changes them any more
        number, step = self.number, self._step
        if number is None:
            return
        given, self._arguments = self._arguments, None
        facts = {**end.meta, **self._manner(end), **(given.settled(self.served) if given is not None else {})}
        if self._pieces is not None:
            self.kept()
        journal, told = self.recording.journal, replace(end, meta=facts, settled=(*end.settled, *self._settled))
        steps = self.recording.model_steps

        def write() -> None:
            with self._in_turn() if end.stream != "closed" else contextlib.nullcontext():
                journal.write(lambda writer: writer.end_call(step.number, number, told))
            if steps is not None and self.asks_a_model:
                steps.ended(step, self, told, error)

        journal.when_free(write)
        if self._owns_step:
            step.close(error)

    def _manner(self, end: CallEnd) -> dict[str, Wire]:
        """How the answer came, where a replay could not tell: see `agent_tt.recording.lanes.arrival`."""
        manner: dict[str, Wire] = {_RETURNED_AS: self.returned_as}
        made_up = None if self.served is None else CallFacts.made_up.of(self.served.call.meta)
        if made_up is not None:
            CallFacts.made_up.put(manner, made_up)
            StepFacts.made_up.put(self._step.extra, made_up)
        manner |= self._arrival.end(
            is_stream=end.stream is not None, is_timed=self._is_timed, is_served=self.served is not None
        )
        return {name: fact for name, fact in manner.items() if fact is not None}


def _stood_still_us() -> int:
    stood = SESSION.chain.stood_still
    return int(sum(each() for each in stood) * 1e6) if stood else 0
