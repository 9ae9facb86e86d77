"""Asking the store about a call that is done once for its key, when nothing has answered it and it would be made.

Over all runs and processes that record into a store the first call with a key is made, and others get its answer, as it
was kept. One that is being made is waited for. Of one that may have happened nobody but a person knows, so it is never
made again by itself; unless its tool has an `idempotency_key`, by which the outside world recognises it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from agent_tt.errors import OutcomeUnknown, UsageError
from agent_tt.model.facts import CallFacts, OnceFacts
from agent_tt.recording.calls.at_hand import AtHand
from agent_tt.recording.calls.once_keys import not_recorded
from agent_tt.recording.links import Reply
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event

    from agent_tt.codec.wire import Wire
    from agent_tt.model import NewCall
    from agent_tt.model.once import Holder
    from agent_tt.recording.open_run import OpenCall

__all__ = ["take_key"]

_LOOK_SECONDS: Final = 0.05

_sleep: Final = time.sleep
"""As it was before an agent's clock is replaced."""


def take_key(
    call: OpenCall,
    new: NewCall,
    arguments: Callable[[], Mapping[str, object]],
    take: Callable[[Reply], None],
    is_left: Event | None,
) -> bool:
    """Have the key for which a call is done once, or the answer of the call that has it.

    Args:
        call: a call whose intent is committed, and which nobody has answered.
        new: its row.
        arguments: those that it goes out with now.
        take: does what a reply says.
        is_left: set once nobody waits for that any more; None where nothing may be waited for.

    Returns:
        Whether it is settled: it may be made, or is answered. False where that takes waiting.

    Raises:
        BaseException: it is not to be made.
    """
    once, decided, said = call.spec.once, None, CallFacts.once.of(new.meta).key
    while once is not None and call.runs and (call.spec.effect == "write" or not once.is_recognised):
        key = once.key(call.spec.name, arguments())
        if key is None:
            break
        if key != said and not once.is_recognised:  # somebody has edited the arguments
            take(Reply(facts={CallFacts.once.key: OnceFacts.key.entry(key)}))
            said = key
        found = _claimed(call, key, is_decided=once.is_recognised or key == decided)
        if found is None:
            break
        if isinstance(found, Reply):
            take(found)
        elif is_left is None:
            return False
        elif found.state == "running":
            _wait_for(call, found, is_left)
        else:
            take(_decided(call, new, _unknown(call.spec.name, key, found), is_left))
            decided = key
    return True


def _decided(call: OpenCall, new: NewCall, refusal: OutcomeUnknown, is_left: Event) -> Reply:
    """What a person makes of it where an earlier call may have happened; a refusal where nobody is asked."""
    for asks in SESSION.chain.outcome_unknown:
        reply = asks(call, new, refusal.message, is_left)
        if reply is not None:
            return reply
    return Reply(refusal=refusal)


def _claimed(call: OpenCall, key: str, *, is_decided: bool) -> Reply | Holder | None:
    """Ask the store who has a key.

    Args:
        call: a call whose intent is committed, and which would be made now.
        key: its key.
        is_decided: whether it may be made although an earlier one may have happened.

    Returns:
        None where it is to be made; the answer of the call that was, or a refusal; that call, where it is being made or
        nobody knows what became of it.

    Raises:
        StoreUnreadable: the store cannot be asked.
        UsageError: the recording is over.
    """
    step, number, name = call.step_number, call.number, call.spec.name
    journal = call.recording.journal
    if number is None or not journal.is_open:
        raise not_recorded(name)
    holder = journal.write(lambda writer: writer.claim_key(step, number, name, key, is_decided=is_decided))
    if holder is None:
        if not journal.is_open:
            raise not_recorded(name)
        return None
    if holder.state != "done":
        return holder
    if holder.made is None:
        return Reply(
            refusal=OutcomeUnknown(
                f"{name} was not run: {holder.where} has its key {key!r}. It {holder.why}",
                tool=name,
                hint="what it answered is known to nobody here: give it yourself, or use another key",
            )
        )
    given: dict[str, Wire] = {
        OnceFacts.run.key: holder.run,
        OnceFacts.step.key: holder.step,
        OnceFacts.call.key: holder.call,
    }
    return Reply(AtHand(holder.made), is_free=True, facts={CallFacts.once.key: {OnceFacts.key.key: key, **given}})


def _wait_for(call: OpenCall, holder: Holder, is_left: Event) -> None:
    """Wait a moment for a call that is being made.

    Raises:
        UsageError: it would never end: it is the call inside which this one is made.
        BaseException: a link ends the waiting (`LimitReached`).
    """
    around = call.around
    while around is not None:
        if around.recording.journal.run_id == holder.run and (around.step_number, around.number) == (
            holder.step,
            holder.call,
        ):
            raise UsageError(f"{call.spec.name} was not run: it is called with its own key inside {holder.where}")
        around = around.around
    for waits in SESSION.chain.while_waiting:
        waits()
    _sleep(_LOOK_SECONDS)
    if is_left.is_set() or not call.recording.is_open:
        raise KeyboardInterrupt("the run was stopped while another call was being made")


def _unknown(name: str, key: str, holder: Holder) -> OutcomeUnknown:
    """What to raise where nobody can be asked whether an earlier call of a tool happened."""
    return OutcomeUnknown(
        f"{name} was not run: {holder.where} has its key {key!r}. It {holder.why}",
        tool=name,
        hint=f"look whether it happened, then say so with `agent-tt settle {holder.run} KEY`",
    )
