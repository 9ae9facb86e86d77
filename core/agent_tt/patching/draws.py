"""One draw: a value from outside the agent's logic that is recorded as a call, and given again in a replay.

Draws are matched like calls, by kind, name and arguments in their lane, never by value. They take no part in the order
in which answers are given out: nobody waits for a clock. Outside any recording a draw is what it stands for.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast

from agent_tt.codec.encode import encode
from agent_tt.model import CallEnd, NewCall
from agent_tt.recording.calls.placement import begin_call
from agent_tt.recording.calls.signature import CallSpec, Parameters, signature_of_call
from agent_tt.recording.calls.site import call_site
from agent_tt.recording.scope import here
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.scope import Scope

__all__ = ["DrawKind", "draw"]

DrawKind: TypeAlias = Literal["clock", "rng", "id", "env"]
T = TypeVar("T")


def draw(kind: DrawKind, name: str, live: Callable[[], T], /, **args: object) -> T:
    """The value of `live()`, recorded; in a replay the recorded one, and `live` is not called.

    Between steps it waits in memory for the next step of its lane.

    Args:
        kind: what it is drawn from.
        name: what is drawn, as people know it: `time.time`.
        live: gives the value. Values are what the codec can rebuild: numbers, text, bytes, dates, UUIDs, lists.
        args: what is asked for, where that is more than the name. Small, and the same in every run.

    Raises:
        Divergence: the recording has no such draw here.
        StoreUnreadable: it could not be recorded.
    """
    scope = here()
    if scope is None:
        return live()
    if scope.recording.model_steps is None and (scope.step is None or not scope.step.is_open):
        return _held(scope, _question(scope, kind, name, args), live)
    call = begin_call(_spec(kind, name), (), args)
    if call is None:
        return live()
    try:
        value = _answer(call.served, live)
    except BaseException as error:
        call.failed(error)
        raise
    call.succeeded(value)
    return value


def _answer(served: Served | None, live: Callable[[], T]) -> T:
    if served is None:
        return live()
    served.leave(0)
    return cast("T", served.value(served.call.result))


def _question(scope: Scope, kind: DrawKind, name: str, args: Mapping[str, object]) -> NewCall:
    named = {key: encode(value) for key, value in args.items()}
    lane = scope.recording.lanes.current()
    return NewCall(
        kind=kind,
        name=name,
        args=named,
        signature=signature_of_call(kind, name, named),
        lane=lane.id,
        lane_seq=lane.next_sequence(),
        meta=call_site(scope.recording.code.root),
    )


def _held(scope: Scope, new: NewCall, live: Callable[[], T]) -> T:
    answers = (answer(new) for answer in SESSION.chain.answer_draw)
    value = _answer(next((served for served in answers if served is not None), None), live)
    scope.recording.held.hold(new, CallEnd(status="ok", result=encode(value)))
    return value


class _AsGiven(Parameters):
    """Arguments that have their names already."""

    def __init__(self) -> None:
        super().__init__(_AsGiven)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Wire]:  # noqa: ARG002  there are none
        return {name: encode(value) for name, value in kwargs.items()}


@lru_cache(maxsize=256)
def _spec(kind: DrawKind, name: str) -> CallSpec:
    return CallSpec(kind=kind, name=name, effect=None, parameters=_AsGiven())
