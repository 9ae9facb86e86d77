"""Recorded questions once more: arguments as the rules that hold now would have recorded them, and their digests.

A replay recognises a question by its digest, which each kind of call makes in a way of its own. Which way it was the
recorded digest tells: the way that makes it of the recorded arguments makes the new one of the new arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.codec.wire import TYPE
from agent_tt.history.digest import digest
from agent_tt.recording.calls.signature import signature_of_call
from agent_tt.recording.calls.tool_contexts import CONTEXT
from agent_tt.redaction.texts import redact_text
from agent_tt.redaction.values import asked
from agent_tt.seams.http.http_request import question_again
from agent_tt.seams.mcp import mcp_requests
from agent_tt.seams.processes import process_question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from agent_tt.codec.wire import Wire

    Way: TypeAlias = Callable[[Mapping[str, Wire]], str]

__all__ = ["Question", "asked_again"]


@dataclass(frozen=True, slots=True)
class Question:
    """What a call asked.

    Attributes:
        name: what is called.
        args: the arguments.
        signature: hex digest by which a replay recognises it.
        is_sure: False where nobody can tell how the digest was made: a replay may not recognise the question.
    """

    name: str
    args: Wire
    signature: str
    is_sure: bool = True


def asked_again(kind: str, name: str, args: Wire, signature: str) -> Question:
    """A recorded question as the rules that hold now would have recorded it.

    Args:
        kind: of the call.
        name: what is called.
        args: its arguments.
        signature: hex digest of what was asked; "" where none was kept.
    """
    if not isinstance(args, dict):
        return _otherwise(redact_text(name), args, asked(args), signature)
    if isinstance(args.get("url"), str) and isinstance(args.get("method"), str):
        return _request(name, args, signature)
    now = {key: asked(value, key) for key, value in args.items()}
    called = redact_text(name)
    if now == args:  # no digest of what stays is made anew
        return Question(called, args, signature)
    for way in _ways(kind, name, args):
        if way(args) == signature:
            return Question(called, now, way(now))
    return _otherwise(called, args, now, signature)


def _request(name: str, args: Mapping[str, Wire], signature: str) -> Question:
    """A request over HTTP, or a message to a server, whose address holds what is asked, too."""
    _, _, before = question_again(args, is_redacted=False)
    called, now, after = question_again(args, is_redacted=True)
    now = {**args, **now}
    if (called, now) == (name, args):
        return Question(name, dict(args), signature)
    if args.get("binary") is True:
        before, after = (digest([made, "binary"]).hex() for made in (before, after))
    return Question(called, now, after, is_sure=before == signature or not signature)


def _ways(kind: str, name: str, args: Mapping[str, Wire]) -> Iterator[Way]:
    """Ways in which calls make their digests. What a function is called counts as the program calls it."""
    if kind == process_question.KIND:
        yield lambda named: process_question.signature_of(name, named)
    if "server" in args:
        yield mcp_requests.signature_of
    contexts = frozenset(key for key, value in args.items() if _is_context(value))
    for beside in dict.fromkeys((frozenset(), contexts)):
        for without in (beside, *(beside | {key} for key in args)):  # an idempotency key does not count
            yield lambda named, without=without: signature_of_call(kind, name, named, without=without)  # type: ignore[misc,arg-type]  # bound at once; a call has one of its kinds


def _otherwise(name: str, args: Wire, now: Wire, signature: str) -> Question:
    """A question whose digest is made in no known way: one of what it asks now stands for it where that changed."""
    if now == args:
        return Question(name, args, signature)
    return Question(name, now, digest([name, now]).hex() if signature else "", is_sure=not signature)


def _is_context(value: Wire) -> bool:
    return isinstance(value, dict) and value.get(TYPE) == "opaque" and value.get("why") == CONTEXT
