"""Calls that cross the network: one question, answered by a list of deliveries.

Who records them knows the protocol; here they are only a question that is known as it stands, and an answer in pieces.
A replay is asked first; otherwise the intent is committed, in the lane and step of the code that asks, and what comes
back is committed piece by piece through the `RecordedCall`, each before the agent has it.

The pieces of an exchange, as its deliveries keep them:

- `chunk` with an object: the head of an answer, `{"status", "headers": [[name, value], …], "http_version", "reason"}`.
  Names and values are Latin-1, exactly as received and in their order; the last two are left out where unknown. Where
  the bytes of the connection are recorded, the head is among them and has no piece of its own.
- `chunk` with a `bytes` envelope: bytes of the body, still encoded, or of the connection, with the borders at which the
  agent received them. An empty one is the end of the connection.
- `chunk` with `{"withheld": …}`: bytes that are not kept, because a secret is in them and cannot be taken out.
- `chunk` with `{"held_back": …}`: a piece whose end may be the beginning of a secret, until the next pieces tell; in a
  recording that broke off there it is not known.
- `end`: everything was received. `closed`: the agent stopped reading. `error`: the transport failed or somebody
  cancelled; the call's `error` says what. None of them carries data.

A transport that fails before the first piece is an answer in one piece, with the call's `error`. The result of a call
is its answer as a person reads it: `{"status", "headers", "body"}`.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.model import NewCall
from agent_tt.recording.calls.placement import begin_in
from agent_tt.recording.calls.signature import CallSpec, Parameters
from agent_tt.recording.calls.site import call_site
from agent_tt.recording.lanes.guard_bypass import is_passing
from agent_tt.recording.scope import here
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, Effect
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.calls.arguments import Given
    from agent_tt.recording.calls.recorded_call import RecordedCall

WITHHELD: Final[Wire] = {"withheld": "a secret in a compressed body"}
"""A piece that is not kept; a replay halts where the agent wants it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that is known as it stands.

    Attributes:
        kind: `http`, or `llm` where a model is asked, or `tool`.
        name: what is called: `POST https://host/path`.
        args: what counts as the question, by name.
        signature: the digest of that (hex).
        effect: of a tool, what it does to the world.
        model: the model that is asked, where it is known.
        facts: what is shown of the call beside its question.
        given: what it goes out with, where a person who is asked may change that.
    """

    kind: CallKind
    name: str
    args: Mapping[str, Wire]
    signature: str
    effect: Effect | None = None
    model: str | None = None
    facts: Mapping[str, Wire] = field(default_factory=dict)
    given: Given | None = field(default=None, compare=False)


def is_watched() -> bool:
    """Whether calls of this code are recorded, answered by a replay, or subject to the policy of a fork.

    Cheap: asked at every request.
    """
    return SESSION.chain.watches or here() is not None


@contextmanager
def requests_for(purpose: Literal["a call", "reading"]) -> Iterator[None]:
    """Say what HTTP requests of this code, and of tasks that it starts meanwhile, are for.

    Args:
        purpose: `a call` where a call that has begun is sent with them: they are no calls of their own. `reading` where
            they only read, whatever their method.
    """
    token = _PURPOSE.set(purpose)
    try:
        yield
    finally:
        _PURPOSE.reset(token)


_PURPOSE: ContextVar[Literal["a call", "reading"] | None] = ContextVar("agent_tt_requests_for", default=None)


def begin_exchange(asked: Asked, *, can_wait: bool = False) -> RecordedCall | Served | None:
    """Begin a call of the code that asks.

    Args:
        asked: what is asked.
        can_wait: whether a coroutine asks, which awaits the call's `until_live` before it makes it.

    Returns:
        The call, whose `served` is a replay's answer to it if it has one; outside any recording that answer alone;
        None where the call is simply made: nobody records and nobody answers, or it is what another call is made of,
        such as a framework's tool, which has begun already.

    Raises:
        StoreUnreadable: the intent could not be written, so the call must not be made.
        BaseException: a link refuses it (`ToolDenied`), or halts the agent (`Divergence`).
    """
    purpose = _PURPOSE.get() if asked.kind == "http" else None
    if purpose == "a call":
        _check_own(asked)
        return None
    if purpose == "reading":
        asked = replace(asked, effect="read")
    scope = here()
    if scope is not None:
        if scope.call is not None and scope.call.enters(asked.kind, asked.name):
            return None
        spec = CallSpec(asked.kind, asked.name, asked.effect, _NO_FUNCTION, model=asked.model, can_wait=can_wait)
        return begin_in(scope, spec, _intent(asked), signature=asked.signature)
    links = SESSION.chain.unrecorded_call
    if not links:
        return None
    args, site = dict(asked.args), call_site(None)
    new = NewCall(asked.kind, asked.name, args, asked.signature, asked.effect, lane="", meta=site)
    is_own_doing = is_passing()
    answers = (begins(new, is_own_doing=is_own_doing) for begins in links)
    return next((served for served in answers if served is not None), None)


def _check_own(asked: Asked) -> None:
    """Put what a call is sent with to the policy of a fork: a person may deny that, whatever holds of the call.

    Raises:
        ToolDenied: it is denied.
    """
    chain = SESSION.chain
    if chain.rules and not chain.serves:
        # What it does to the world was decided with the call.
        new = NewCall(asked.kind, asked.name, dict(asked.args), asked.signature, "read", lane="")
        for begins in chain.unrecorded_call:
            begins(new, is_own_doing=True)


def _intent(asked: Asked) -> Callable[[RecordedCall], None]:
    return lambda call: call.begin_asking(asked.args, asked.signature, facts=asked.facts, given=asked.given)


def _nothing() -> None:
    """The function of calls that are made by none: their questions bind no arguments."""


_NO_FUNCTION = Parameters(_nothing)
