"""Answering what a fork asks: from the program that started it, while its agent waits."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.errors import AgentTTError, QuestionClosed
from agent_tt.questions import Decision
from agent_tt.store import open_store

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.protocols import RunSource, Store
    from agent_tt.questions import CallQuestion

    Asked: TypeAlias = "Callable[[CallQuestion], Decision]"

__all__ = ["answer_question", "is_of_fork", "keep_answering", "questions_of"]

_LOG = logging.getLogger(__name__)
_LOOK_SECONDS: Final = 0.1


def questions_of(source: RunSource, run_id: str, process: int) -> list[CallQuestion]:
    """What a fork's process asks: about calls of its run, and of runs that it records beside it."""
    return [question for question in source.questions() if is_of_fork(question, run_id, process)]


def is_of_fork(question: CallQuestion, run_id: str, process: int) -> bool:
    """Whether the fork with that run, in that process, asks a question."""
    return question.run_id == run_id or question.process == process


def answer_question(store: Path, question: CallQuestion, decision: Decision) -> None:
    """Write a decision into a store.

    Raises:
        QuestionNotFound: there is no such question.
        QuestionClosed: it was answered already, or the process that asked is gone.
    """
    with closing(open_store(store)) as opened:
        opened.answer_question(question.id, decision)


def keep_answering(path: Path, run_id: str, process: int, asked: Asked, is_over: threading.Event) -> None:
    """Let `asked` decide whatever a fork asks, one question after another, until it is over.

    Where it raises, or gives something that is not a decision, the call is refused and the log says why.
    """
    seen: int | None = None
    if is_over.wait(_LOOK_SECONDS):  # most forks ask nothing, and many are short
        return
    try:
        with closing(open_store(path)) as store:
            while not is_over.wait(_LOOK_SECONDS):
                version = store.version()
                if version != seen:
                    for question in questions_of(store, run_id, process):
                        _answer(store, question, asked)
                    seen = version
    except AgentTTError as error:
        _LOG.error("nobody answers what run %s asks any more: %s", run_id, error)


def _answer(store: Store, question: CallQuestion, asked: Asked) -> None:
    try:
        decision = asked(question)
        if not isinstance(decision, Decision):
            raise TypeError(f"{decision!r} is not a decision")  # noqa: TRY301  told like what it raises itself
    except Exception as error:  # noqa: BLE001  whatever it is, the agent must not wait for ever
        _LOG.exception("what was to decide about %s failed", question.name)
        decision = question.refuse(f"what was to decide failed: {type(error).__name__}: {error}")
    try:
        store.answer_question(question.id, decision if decision.by else decision.said_by("program"))
    except QuestionClosed as error:  # somebody was faster, or the agent has been stopped
        _LOG.info("%s", error)
