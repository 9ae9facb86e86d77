"""What is said of a call beside its columns: the keys of `calls.meta`, which is `Call.meta`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.model.facts.edits import EDITS
from agent_tt.model.facts.fact import Fact, Facts, Flag, Shape, record
from agent_tt.model.facts.shapes import NUMBER, OBJECT, PLACE, TEXT, TEXTS, VALUE, WHOLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["CallFacts", "DecisionFacts", "HoldFacts", "OnceFacts", "PolicyFacts", "is_given", "is_held"]


_MOST_PIECES: Final = 1 << 20
"""Pieces of one call that are told apart: a file may say any number."""


def _by_piece(found: Wire) -> dict[int, Wire]:
    by_piece: dict[int, Wire] = {}
    for run in found if isinstance(found, list) else []:
        if isinstance(run, list) and len(run) == len(("first", "last", "what")):
            first, last, what = run
            if isinstance(first, int) and isinstance(last, int) and 0 <= first <= last < _MOST_PIECES:
                by_piece.update(dict.fromkeys(range(first, last + 1), what))
    return by_piece


def _timers(found: Wire) -> dict[int, Wire]:
    return _by_piece(found) if isinstance(found, list) else {0: found}


_PACE: Final[Shape[Wire]] = Shape('`"at once"` or whole number', lambda found: found)
_PACES: Final[Shape[dict[int, Wire]]] = Shape("list of `[first, last, pace]`", _by_piece)
_TIMERS: Final[Shape[dict[int, Wire]]] = Shape("whole number, or list of `[first, last, count]`", _timers)


class AnswerPlaceFacts(Facts):
    """A recorded answer: where it stands."""

    __slots__ = ()

    run = Fact(TEXT, "id of the run that it was recorded in")
    step = Fact(WHOLE, "its step")
    call = Fact(WHOLE, "its number in there")


class OnceFacts(Facts):
    """Of a tool that is done once for a key: the key, and the call whose answer was given again."""

    __slots__ = ()

    key = Fact(TEXT, "the key")
    run = Fact(TEXT, "of an answer that was given again: id of the run whose call was made")
    step = Fact(WHOLE, "its step")
    call = Fact(WHOLE, "its number in there")


class PolicyFacts(Facts):
    """The rule that decided about a call of a fork."""

    __slots__ = ()

    word = Fact(TEXT, "`live`, `recorded`, `stub`, `ask` or `deny`")
    source = Fact(TEXT, "where the rule comes from: `default`, `user`, `project`, `environment` or `you`")
    place = Fact(TEXT, "the file, variable or option that says so")
    taken_from = Fact(
        record(AnswerPlaceFacts), "the answer that the call was given, where that was recorded", key="from"
    )


class DecisionFacts(Facts):
    """What somebody decided about a call that waited."""

    __slots__ = ()

    word = Fact(TEXT, "`run`, `give`, `raise`, `refuse` or `stop`")
    edited = Fact(TEXTS, "names of the arguments that were changed")
    by = Fact(
        TEXT, "where it was decided: `terminal`, `command`, `app`, `program`; `nobody` where nobody could be asked"
    )
    why = Fact(TEXT, "the reason in words")


class HoldFacts(Facts):
    """Of a call before which its agent was held: by whom, and what was changed of the state meanwhile."""

    __slots__ = ()

    number = Fact(WHOLE, "the number of the hold in its store")
    by = Fact(TEXT, "where it was held from: `command`, `app`, `program`")
    state = Fact(EDITS, "what was changed of the state before the agent went on, in that order")
    after = Fact(WHOLE, "of a changed state: the number of the last answer that the agent had then")
    nth = Fact(WHOLE, "of a changed state: how many were changed before by the same process")


class CallFacts(Facts):
    """What is said of a call beside its columns."""

    __slots__ = ()

    file = Fact(TEXT, "the file of the agent's code that made the call, relative to the project where it lies in there")
    line = Fact(WHOLE, "the line in that file")
    model = Fact(TEXT, "of a model call: which model was asked")
    finish_reason = Fact(TEXT, "of a model call: why the answer ended, in the provider's word")
    tokens_in = Fact(WHOLE, "of a model call: tokens that the model read")
    tokens_out = Fact(WHOLE, "of a model call: tokens that the model wrote")
    tokens_cached = Fact(WHOLE, "how many of the tokens read came from the provider's cache")
    tokens_reasoning = Fact(WHOLE, "how many of the tokens written were reasoning")
    cost_usd = Fact(NUMBER, "of a model call: US dollars")
    answer_error = Fact(TEXT, "of a model call: the error that the provider answered with")
    made_up = Fact(TEXT, "no model gave this answer: `mock` or `script` did")
    headers = Fact(OBJECT, "of an HTTP request: its headers, without secrets; kept once for many calls")
    idempotency_key = Fact(VALUE, "by what the outside world recognises the call when it is made again")
    once = Fact(record(OnceFacts), "of a tool that is done once for a key: the key, and where its answer came from")
    inside = Fact(PLACE, "the call whose function made this one")
    outlives = Fact(PLACE, "the call whose function started what made this one, after that call had ended")
    returned_as = Fact(
        TEXT, "what a plain function gave in place of its answer: `coroutine`, `generator`, `async generator`, `future`"
    )
    args_after = Fact(OBJECT, "arguments that the function changed in place, as they were when it returned")
    replayed = Flag("of a run that a replay made: it was not made, and answered as recorded, or halted the agent")
    cancelled = Flag("the agent stopped waiting for it")
    interrupted = Flag("the agent made it because it was interrupted")
    connection = Flag("its pieces are what the other side of a connection says until that is over, asked or unasked")
    closed_in_turn = Flag("of an answer in pieces that the agent left: a coroutine waited until it was closed")
    lane_unsure = Fact(TEXT, "why another lane may make this call in another run of the program")
    pace = Fact(
        _PACE,
        'how the answer came: `"at once"`, without the event loop having run anything since the question; a number n, '
        "n passes of the loop after the answer before it. Absent: when the loop had nothing else to do",
    )
    paces = Fact(_PACES, "the same of an answer in pieces, by number of piece, from 0")
    timers = Fact(
        _TIMERS, "how many of the agent's timers fired since the answer before it; of an answer in pieces by piece"
    )
    policy = Fact(
        record(PolicyFacts),
        "of a fork: the rule that decided about it, or the edit that answered it; absent for what runs by default",
    )
    hold = Fact(record(HoldFacts), "its agent was held before it")
    stood_still = Fact(
        _TIMERS,
        "for how many microseconds since its question deadlines stood still, as somebody was asked; in pieces by piece",
    )
    answered = Fact(record(DecisionFacts), "what somebody decided about a call that waited")
    args_asked = Fact(OBJECT, "of a call whose arguments were edited before it went out: those, as the agent gave them")
    again = Fact(PLACE, "of a resumed run: the earlier call that this one replaces")
    copy_of = Fact(
        PLACE, "of a resumed run: the earlier call that this one repeats word for word; it was not made again"
    )
    task_id = Fact(TEXT, "of a LangGraph run: the task that it is")
    answers = Fact(TEXT, "of a tool call that a model asked for: the id that it was asked for under")

    @property
    def site(self) -> dict[str, Wire]:
        """`file` and `line`, as far as they are known."""
        return {key: self.raw[key] for key in _SITE if key in self.raw}

    @property
    def is_nested(self) -> bool:
        """Whether it was made inside another call, or by something that another call started."""
        return _INSIDE in self.raw or _OUTLIVES in self.raw


_SITE: Final = CallFacts.file.key, CallFacts.line.key
_INSIDE: Final = CallFacts.inside.key
_OUTLIVES: Final = CallFacts.outlives.key


def is_given(facts: Mapping[str, Wire]) -> bool:
    """Whether a call of a fork was not made: its answer was a recorded one, or one that somebody gave.

    Args:
        facts: those of the call.
    """
    policy = CallFacts.policy.of(facts)
    return policy.word == "stub" or PolicyFacts.taken_from.is_in(policy.raw)


def is_held(facts: Mapping[str, Wire]) -> bool:
    """Whether a call without an answer has not gone out: somebody was to decide about it, and nobody had.

    Args:
        facts: those of the call.
    """
    is_asked = CallFacts.hold.is_in(facts) or CallFacts.policy.of(facts).word in ("ask", "recorded")
    return is_asked and not CallFacts.answered.is_in(facts)
