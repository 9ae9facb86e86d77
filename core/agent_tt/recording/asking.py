"""Asking somebody about a call before it goes out: the question goes into the store, and the answer comes from there.

Whoever answers is in another process (a terminal, the app, a program), or in none: the store is all that the two
share. The process that asks looks a few times a second, for as long as the run goes on and its limits allow; it is a
person who is waited for, and each look reads one row.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError
from agent_tt.questions import Decision
from agent_tt.recording.concurrency.tasks import running_loop
from agent_tt.recording.held_time import holding
from agent_tt.recording.limits import limits_here
from agent_tt.recording.scope import nowhere, store_at_work

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Iterator

    from agent_tt.protocols import OpenQuestion
    from agent_tt.questions import NewQuestion
    from agent_tt.recording.recorder import Recording

__all__ = ["ask_somebody", "ask_somebody_async"]

_LOOK_SECONDS: Final = 0.1

_sleep: Final = time.sleep
"""As it was before an agent's clock is replaced."""


def ask_somebody(recording: Recording, step: int, call: int, new: NewQuestion) -> Decision:
    """Ask about a call and block this thread until somebody has decided.

    Args:
        recording: the run.
        step: the step of the call.
        call: its number in there; its intent is committed.
        new: what is asked.

    Raises:
        LimitReached: the fork's time is over.
        KeyboardInterrupt: the run is stopped, or has ended meanwhile.
        StoreUnreadable: the question could not be written, or the answer not be read.
    """
    with _asked(recording, step, call, new) as question:
        return _decision(recording, question, threading.Event())


async def ask_somebody_async(recording: Recording, step: int, call: int, new: NewQuestion) -> Decision:
    """As `ask_somebody`, for a coroutine: its event loop goes on meanwhile."""
    loop = running_loop()
    if loop is None:  # another kind of event loop: nothing is known of it
        return ask_somebody(recording, step, call, new)
    with _asked(recording, step, call, new) as question:
        future: Future[Decision] = loop.create_future()
        is_left = threading.Event()

        def look() -> None:
            decided: Decision | BaseException
            try:
                decided = _decision(recording, question, is_left)
            except BaseException as error:  # noqa: BLE001  it is raised where the answer is awaited
                decided = error
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                loop.call_soon_threadsafe(_settle, future, decided)

        with nowhere():  # the thread is ours: it makes no lane
            threading.Thread(target=look, name="agent-tt asks", daemon=True).start()
        try:
            return await future
        finally:
            is_left.set()


def _settle(future: Future[Decision], decided: Decision | BaseException) -> None:
    if future.done():  # whoever waited was cancelled
        return
    if isinstance(decided, Decision):
        future.set_result(decided)
    else:
        future.set_exception(decided)


@contextlib.contextmanager
def _asked(recording: Recording, step: int, call: int, new: NewQuestion) -> Iterator[OpenQuestion | None]:
    """A question that is open while the block lasts; None where the run has just ended."""
    question = recording.journal.write(lambda writer: writer.ask(step, call, new))
    try:
        with holding():
            yield question
    except BaseException:
        if question is not None:
            with contextlib.suppress(AgentTTError), store_at_work():  # the agent's own exception goes on its way
                question.withdraw()
        raise


def _decision(recording: Recording, question: OpenQuestion | None, is_left: threading.Event) -> Decision:
    """Look for the decision until it is there; `is_left` says that nobody waits for it any more."""
    while question is not None and recording.is_open and not is_left.is_set():
        limits = limits_here()
        if limits is not None:
            limits.before_call()
        with store_at_work():
            decision = question.decision()
        if decision is not None and decision.word == "stop":
            break
        if decision is not None:
            return decision
        _sleep(_LOOK_SECONDS)
    raise KeyboardInterrupt("the run was stopped before anybody had decided")
