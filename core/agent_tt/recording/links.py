"""What a link of the interception chain may do: the hooks that steps, calls and requests pass through.

A link overrides the hooks that it needs; those that it leaves alone cost nothing. `Chain` puts links in their order and
keeps, for each hook, those that have it. The recorder walks through them and knows no link by name.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import field
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Literal, ParamSpec, TypeVar

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from threading import Event
    from types import FrameType

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, Effect, NewCall, NewRun, Usage
    from agent_tt.protocols import RunWriter, Store
    from agent_tt.providers import ModelCall
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.open_run import OpenCall, OpenRun, OpenStep

__all__ = ["Chain", "Link", "Place", "Reply", "Unrecorded"]

P = ParamSpec("P")
R = TypeVar("R")


class Place(IntEnum):
    """The order of the chain, outermost first. Links of one place stand in the order in which they joined.

    What comes before something is asked in this order; what comes after it (`after_step`, `run_ends`), and where the
    innermost decides (`open_run`, `reach`), in the opposite one.
    """

    HANDOFF = 1
    """Which run is written: known before anything is."""
    WATCH = 2
    """Who only looks on sees what happens whatever the others make of it."""
    LIMITS = 3
    """Once a limit is reached nothing is asked any more, not even of a recording."""
    EDITS = 4
    """What is asked is changed before anybody looks at what is asked."""
    RECORDED = 5
    """What was recorded is given again before anything else may answer."""
    MOCK = 6
    """Answers in place of a model's, for what no recording answers."""
    POLICY = 7
    """What nothing has answered goes out, if its rule lets it."""
    APPROVALS = 8
    """A person is asked last: only about what nobody else has decided."""
    HOLDS = 9
    """Who holds the agent is asked about what would go out now, unless a person was asked about it already."""
    GUARD = 10
    """What no call knows of is seen where the interpreter reaches for the world."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a link decides about a call that is written down and not made yet.

    A reply that neither answers nor refuses lets the call go on to the next link.

    Attributes:
        served: answers it.
        is_free: whether that answer costs nothing, because nobody was asked.
        refusal: raised in place of making it; recorded as its outcome.
        sent: what goes out in place of what the agent gave; see `Given.edited` of `calls.arguments`.
        edited: its arguments by name as they go out, where `sent` changes them.
        key: the idempotency key to send it with, in place of its own.
        facts: what its row says of all that.
        later: awaited before a coroutine makes the call; gives the reply that holds then, None to go on.
    """

    served: Served | None = None
    is_free: bool = False
    refusal: BaseException | None = None
    sent: object = None
    edited: Mapping[str, Wire] | None = None
    key: Wire = None
    facts: Mapping[str, Wire] = field(default_factory=lambda: MappingProxyType({}))
    later: Callable[[], Awaitable[Reply | None]] | None = None


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """A call that nothing records, and what became of it.

    Attributes:
        kind, name, effect: what was called, as of a call.
        happened: whether it was made.
        because: who decided about it, "" where nobody had to.
        site: `file` and `line` of the agent's, as far as they are known.
    """

    kind: CallKind
    name: str
    effect: Effect | None
    happened: Literal["sent", "denied"]
    because: str = ""
    site: Mapping[str, Wire] = field(default_factory=dict, hash=False)


class Link:
    """One concern in the interception chain: a policy, a limit, a replay. Safe to use from several threads.

    A subclass says its place, and has the hooks that it needs:

    ```python
    class AtMost(Link):
        place = Place.LIMITS

        def __init__(self, calls):
            self.left = calls

        def before_call(self, call, facts):
            if not self.left:
                raise ToolDenied("one call too many", tool=call.spec.name)
            self.left -= 1


    with SESSION.joined(AtMost(3)):
        run_agent()
    ```

    Attributes:
        place: where it stands in the chain.
        serves: whether it answers from a recording, so that what it does not answer was not recorded.
        goes_live: of one that serves, whether what it does not answer is made for real.
        rules: whether it may hold any call back, so that each must be on record.
    """

    place: ClassVar[Place]
    serves: ClassVar[bool] = False
    rules: ClassVar[bool] = False

    @property
    def goes_live(self) -> bool:
        """Whether what is not answered is made for real."""
        return True

    # ------------------------------------------------------------ runs

    def open_run(self, new: NewRun, state: object) -> tuple[Store, RunWriter] | None:
        """Say where a run that begins is written, instead of into a store of its own; None: there."""

    def run_begun(self, recording: OpenRun) -> None:
        """Called when a recording has begun; its state is the input."""

    def run_ends(self, error: BaseException | None) -> BaseException | None:
        """Say what a run ends with that would end with `error` (None: nothing); `error` to leave it so."""
        return error

    # ------------------------------------------------------------ steps

    def before_step(self, recording: OpenRun) -> None:
        """Called before a step begins; raise to prevent it."""

    def step_begun(self, step: OpenStep) -> None:
        """Called when a step has begun, and has its number."""

    def after_step(self, step: OpenStep) -> None:
        """Called when a step has ended, and its checkpoint was taken."""

    def before_going_on(self) -> None:
        """Called before the agent goes on after a step or a run; raise to stop it."""

    # ------------------------------------------------------------ calls

    def edit_call(
        self, call: OpenCall, args: Sequence[object], kwargs: Mapping[str, object], signature: str
    ) -> tuple[tuple[object, ...], dict[str, object]] | None:
        """Say what to call a function with; None: as it was called. `signature` is that of the question as it is."""

    def edit_request(
        self, url: str, body: bytes, call: ModelCall, lane: str, signature: str
    ) -> tuple[str, bytes] | None:
        """Say what to send in place of a request to a model: another address and body; None: as it is.

        Args:
            url: where it is sent to.
            body: JSON.
            call: what it asks.
            lane: id of the lane that asks; "" where no recording reaches.
            signature: digest of the question as it stands.
        """

    def before_call(self, call: OpenCall, facts: dict[str, Wire]) -> None:
        """Called before a call is written down: raise to refuse it, or add `facts` to its row."""

    def answer_call(self, call: OpenCall, new: NewCall) -> Reply | None:
        """Say what becomes of a call whose intent is committed; None: it goes on. Raise to halt the agent."""

    def around_call(self, call: OpenCall) -> AbstractContextManager[object]:  # noqa: ARG002  of what overrides it
        """Give what is entered around the function of a call, and whatever that calls. It may not raise."""
        return nullcontext()

    def outcome_unknown(self, call: OpenCall, new: NewCall, why: str, is_left: Event) -> Reply | None:
        """Say what becomes of a call that is done once for its key, and may have happened: made where it is let go on.

        Called in a thread of its own for a coroutine.

        Args:
            call: the call, which nobody has answered.
            new: its row.
            why: what is known of the earlier call, in words.
            is_left: set once nobody waits for that any more.
        """

    def answer_draw(self, new: NewCall) -> Served | None:
        """Answer a draw of a clock or of random numbers that no step holds yet; None: it is drawn."""

    def usage_counted(self, usage: Usage) -> None:
        """Called when a model that was really asked has reported its usage."""

    def while_waiting(self) -> None:
        """Called again and again while a call waits for a person; raise to end that."""

    # ------------------------------------------------------------ outside of every recording

    def unrecorded_call(self, new: NewCall, *, is_own_doing: bool) -> Served | None:
        """Called before a call that nothing records: answer it, raise to refuse it, or let it go on (None).

        Args:
            new: what is asked; its arguments and signature only where a link `serves`.
            is_own_doing: whether something makes it that runs, and was decided about.
        """

    def made_unrecorded(self, call: Unrecorded) -> None:
        """Called after a call that nothing records was made, or denied."""

    def reach(self, event: str, args: tuple[Any, ...], caller: FrameType | None) -> BaseException | None:
        """Called when code reaches for the world outside of calls: say what to raise instead, None to let it pass.

        Args:
            event: the audit event.
            args: its arguments.
            caller: the frame that does it.
        """

    def program_started(self, number: int, command: Any) -> None:
        """Called when a program was started that reads the pipe of a file descriptor; `command` as it was given."""

    def before_write(self, number: int) -> None:
        """Called before a file descriptor is written to; raise to refuse that."""

    def job_returns(self, run_id: str, lane: str) -> None:
        """Called in a worker process before a job of a pool returns what it gave to who submitted it."""

    # ------------------------------------------------------------ what else the recorder asks

    def kept_headers(self) -> frozenset[str] | None:
        """Name the request headers that count as part of a question; None: those of the run that is recorded."""

    def clock_offset(self) -> float:
        """Say by how many seconds the clocks of this code have been moved on."""
        return 0.0

    def stood_still(self) -> float:
        """Say for how many seconds so far the agent's deadlines stood still, because a person was waited for."""
        return 0.0


class Chain:
    """The links of a session in their order, and for each hook those that have it. It never changes.

    Attributes:
        links: all of them, outermost first.
        serves: whether one of them answers from a recording.
        goes_live: whether calls come to be made for real: not in a replay.
        rules: whether one of them may hold any call back.
        watches: whether calls are looked at although nothing records them.
        decides: whether one of them does more than look on or wait: the run is somebody's fork or replay.
    """

    def __init__(self, links: Iterable[Link] = ()) -> None:
        self.links = ordered = tuple(sorted(links, key=lambda link: link.place))
        self.serves = any(link.serves for link in ordered)
        self.goes_live = all(link.goes_live for link in ordered)
        self.rules = any(link.rules for link in ordered)
        self.watches = self.serves or self.rules
        self.decides = any(link.place not in (Place.WATCH, Place.HOLDS) for link in ordered)
        self.open_run = _having(ordered[::-1], Link.open_run)
        self.run_begun = _having(ordered, Link.run_begun)
        self.run_ends = _having(ordered[::-1], Link.run_ends)
        self.before_step = _having(ordered, Link.before_step)
        self.step_begun = _having(ordered, Link.step_begun)
        self.after_step = _having(ordered[::-1], Link.after_step)
        self.before_going_on = _having(ordered, Link.before_going_on)
        self.edit_call = _having(ordered, Link.edit_call)
        self.edit_request = _having(ordered, Link.edit_request)
        self.before_call = _having(ordered, Link.before_call)
        self.answer_call = _having(ordered, Link.answer_call)
        self.around_call = _having(ordered, Link.around_call)
        self.outcome_unknown = _having(ordered, Link.outcome_unknown)
        self.answer_draw = _having(ordered, Link.answer_draw)
        self.usage_counted = _having(ordered, Link.usage_counted)
        self.while_waiting = _having(ordered, Link.while_waiting)
        self.unrecorded_call = _having(ordered, Link.unrecorded_call)
        self.made_unrecorded = _having(ordered, Link.made_unrecorded)
        self.reach = _having(ordered[::-1], Link.reach)
        self.program_started = _having(ordered, Link.program_started)
        self.before_write = _having(ordered, Link.before_write)
        self.job_returns = _having(ordered, Link.job_returns)
        self.kept_headers = _having(ordered, Link.kept_headers)
        self.clock_offset = _having(ordered, Link.clock_offset)
        self.stood_still = _having(ordered, Link.stood_still)


def _having(links: Sequence[Link], hook: Callable[Concatenate[Any, P], R]) -> tuple[Callable[P, R], ...]:
    """The hook of each link that has it, bound."""
    name = hook.__name__
    return tuple(getattr(link, name) for link in links if getattr(type(link), name) is not hook)
