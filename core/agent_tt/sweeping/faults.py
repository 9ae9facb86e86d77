"""What an agent does when a tool answers wrongly: each tool in turn, each kind of fault, one fork each.

The fault is put in place of the first answer that each tool gave, in a fork that re-enters the agent there. What
writes is not made: it is answered as it was recorded, and a write that asks something else ends the fork. A fork
without a fault, the control, is run first; faults are judged beside it, so that what has changed since the recording is
not taken for their work.

| kind | the answer is |
|---|---|
| `nothing` | null |
| `error` | an exception, `TimeoutError` |
| `cut` | the first half of its text or list, or of the longest one in it |
| `stale` | another answer of the same tool to the same question, from this run or an older run of the agent |
| `foreign` | an answer of the same tool to another question, from there too |

A reaction, the first that fits:

1. *noticed*: the fork fails, and the control does not;
2. with an expectation: *noticed* where it holds at the end, *passed on* where it does not;
3. *passed on*: a value that only the faulty answer has stands in a call that the control does not make, or in the final
   answer; of `nothing`, such a call has null where the control's has none;
4. *noticed*: the fork asks the same tool the same again, more often than the control does; or, after an error, it asks
   something else than the control, or less;
5. *passed on*: it asks what the control asks, and its final answer is the same, but for ids, times and marks;
6. else *unknown*: who asks or answers otherwise may have noticed, or have taken the fault for true.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import summary
from agent_tt.codec.texts import texts
from agent_tt.comparing.steps.outcome import final_state, last_words
from agent_tt.comparing.values.made_anew import with_one_form
from agent_tt.errors import AgentFailed, AgentTTError, Interrupted, NotFound
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.policy.policies import Rule, ToolPolicy, configured_policy
from agent_tt.model import ACTING, Edit
from agent_tt.querying.expecting import judge
from agent_tt.querying.predicates import parse_predicate
from agent_tt.rerunning.launch import start_fork
from agent_tt.rerunning.warm.pool import warm_agents

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.request import ForkRequest
    from agent_tt.model import Call, Run
    from agent_tt.protocols import RunSource
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.rerunning.warm.pool import WarmAgents

__all__ = ["Fault", "FaultKind", "Reaction", "Tried", "faults_of", "try_faults"]

FaultKind: TypeAlias = Literal["nothing", "error", "cut", "stale", "foreign"]

Reaction: TypeAlias = Literal["noticed", "passed on", "unknown"]

_ERROR: Final = "TimeoutError: no answer"
_NOT_RECORDED: Final = ":NotRecorded"
_OTHER_RUNS: Final = 50
"""So many runs of the agent are looked through for other answers."""

_SHORTEST: Final = 3
"""Characters from which on a text that only the fault has tells anything."""

_SAID: Final = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """A wrong answer of a tool.

    Attributes:
        call: the recorded call whose answer it stands in for.
        kind: what is wrong with it.
        edit: the edit that puts it there; None where there is no such fault.
        why_not: why there is none; "" where there is.
    """

    call: Call
    kind: FaultKind
    edit: Edit | None = None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """What an agent did with a fault.

    Attributes:
        fault: the fault.
        reaction: what it did; None where the fault was not tried.
        how: how that is known, or why nothing is.
        fork: id of the fork; None where there is none.
    """

    fault: Fault
    reaction: Reaction | None
    how: str
    fork: str | None = None

    def to_json(self) -> dict[str, Wire]:
        """`{tool, step, call, fault, answer, reaction, how, fork}`; `answer` is what was given in place."""
        fault = self.fault
        return {
            "tool": fault.call.name,
            "step": fault.call.step,
            "call": fault.call.number,
            "fault": fault.kind,
            "answer": None if fault.edit is None else fault.edit.value,
            "reaction": self.reaction,
            "how": self.how,
            "fork": self.fork,
        }


# ---------------------------------------------------------------- the faults


def faults_of(source: RunSource, run: Run) -> list[Fault]:
    """Each fault of each tool of a run, in the order in which the tools answered first; also those that cannot be.

    Raises:
        NotFound: no tool of it gave an answer that is recorded.
    """
    first: dict[str, Call] = {}
    calls = _answered(source, run)
    for call in calls:
        first.setdefault(call.name, call)
    if not first:
        raise NotFound(f"no tool of {run.name} gave an answer that is recorded", hint="`agent-tt show` lists its calls")
    older = [
        each
        for other in source.runs(limit=_OTHER_RUNS)
        if other.id != run.id and other.agent == run.agent and other.started_us < run.started_us
        for each in _answered(source, other)
    ]
    return [fault for call in first.values() for fault in _faults_of_call(call, [*calls, *older])]


def _answered(source: RunSource, run: Run) -> list[Call]:
    calls = source.call_page(run.id, 1, source.step_count(run.id) + 1)
    return [call for call in calls if call.kind == "tool" and call.status == "ok" and not call.facts.inside]


def _faults_of_call(call: Call, known: Sequence[Call]) -> Iterator[Fault]:
    def fault(kind: FaultKind, value: Wire) -> Fault:
        target: Literal["error", "result"] = "error" if kind == "error" else "result"
        return Fault(call, kind, Edit("set", "", value, target=target, step=call.step, call=call.number))

    yield Fault(call, "nothing", why_not="it gave nothing") if call.result is None else fault("nothing", None)
    yield fault("error", _ERROR)
    half = _cut(call.result)
    yield Fault(call, "cut", why_not="no text or list in it can be cut") if half is None else fault("cut", half)
    others = [each for each in known if each.name == call.name and each.result != call.result]
    stale = next((each for each in others if each.args == call.args), None)
    foreign = next((each for each in others if each.args != call.args), None)
    why = "no other answer to the same question is recorded"
    yield Fault(call, "stale", why_not=why) if stale is None else fault("stale", stale.result)
    why = "no answer to another question is recorded"
    yield Fault(call, "foreign", why_not=why) if foreign is None else fault("foreign", foreign.result)


def _cut(value: Wire) -> Wire:
    """The first half of a text or list, or a mapping with its longest one so; None where nothing can be cut."""
    if isinstance(value, str | list):
        return value[: len(value) // 2] if len(value) > 1 else None
    if not isinstance(value, dict) or "$type" in value:
        return None
    lengths = {key: len(each) for key, each in value.items() if isinstance(each, str | list) and len(each) > 1}
    if not lengths:
        return None
    longest = max(lengths, key=lambda key: lengths[key])
    return {**value, longest: _cut(value[longest])}


# ---------------------------------------------------------------- trying them


@dataclass(frozen=True, slots=True)
class _Did:
    """What a fork did: what it asked of the world after a place, what it said, and all it was given elsewhere."""

    run: Run
    asked: tuple[tuple[str, Wire], ...]
    answer: str | None
    known: tuple[Wire, ...] = ()


def try_faults(
    source: RunSource, run: Run, request: ForkRequest, faults: Sequence[Fault], *, expect: str | None = None
) -> Iterator[Tried]:
    """Fork a run with one fault after the other, and say of each what the agent did with it.

    Args:
        source: the store that holds the run.
        run: the run.
        request: on what terms each fork runs. Its step, edits, way and policy are those of the faults: what writes is
            answered as recorded, but for what `allow` names; of what is configured only denials hold.
        faults: those of `faults_of`.
        expect: an expression about the last step that holds where the agent has noticed; None for none.

    Raises:
        InvalidExpression: the expectation cannot be read.
        AgentTTError: the control cannot be run.
    """
    if expect is not None:
        parse_predicate(expect)
    policy = ToolPolicy((("*write", Rule("recorded")), *configured_policy().denials))
    base = replace(request, policy=policy, by="replay", changes={}, edits=())
    first = min(fault.call.step for fault in faults)
    with warm_agents() as warm:
        yield from _tried(source, run, base, faults, first, expect, warm)


def _tried(
    source: RunSource,
    run: Run,
    base: ForkRequest,
    faults: Sequence[Fault],
    first: int,
    expect: str | None,
    warm: WarmAgents,
) -> Iterator[Tried]:
    control = _forked(source, run, replace(base, step=first - 1), warm)
    trouble = "" if control.status in ("succeeded", "failed") else f"without a fault it is {control.status}"
    if control.status != run.status and run.status in ("succeeded", "failed"):
        trouble = f"without a fault it does not end as recorded: {control.status}"
    for fault in faults:
        if fault.edit is None or trouble:
            yield Tried(fault, None if fault.edit is None else "unknown", fault.why_not or trouble)
            continue
        try:
            fork = _forked(source, run, replace(base, step=None, edits=(fault.edit,)), warm)
        except AgentTTError as error:
            yield Tried(fault, "unknown", f"could not be run: {error.message}")
            continue
        reaction, how = _reaction(source, fault, _did(source, control, fault), _did(source, fork, fault), expect)
        yield Tried(fault, reaction, how, fork.id)


def _forked(source: RunSource, run: Run, request: ForkRequest, warm: WarmAgents) -> Run:
    plan = plan_fork(source, run, request)
    # The run of a fork says how it ended; what could not begin is raised.
    with start_fork(plan, asked=_refused, warm=warm) as handle, suppress(AgentFailed, Interrupted):
        handle.result()
    return source.run(handle.run_id)


def _refused(question: CallQuestion) -> Decision:
    return question.refuse("nobody is there to answer while faults are tried")


def _did(source: RunSource, fork: Run, fault: Fault) -> _Did:
    place = fault.call.step, fault.call.number
    calls = source.call_page(fork.id, 1, source.step_count(fork.id) + 1)
    known = [call.result for call in calls if (call.step, call.number) != place and call.kind != "llm"]
    asked = [
        (call.name, call.args)
        for call in sorted(calls, key=lambda call: (call.step, call.number))
        if call.kind in ACTING and not call.facts.inside and (call.step, call.number) > place
    ]
    with suppress(AgentTTError):  # an input that was not kept
        known.append(source.state(fork.id, 0))
    return _Did(fork, tuple(asked), last_words(final_state(source, fork.id)), tuple(known))


def _reaction(source: RunSource, fault: Fault, control: _Did, now: _Did, expect: str | None) -> tuple[Reaction, str]:
    status, error = now.run.status, now.run.error
    is_halted = error is not None and error.class_name.endswith(_NOT_RECORDED)
    if status not in ("succeeded", "failed") and not is_halted:
        return "unknown", f"it came to no end of its own: {status}"
    fails = status == "failed" and not is_halted
    if fails and control.run.status != "failed":
        return "noticed", f"it fails: {'' if error is None else error.short}"
    if expect is not None and not is_halted:
        hoped = judge(source, now.run, expect)
        words: dict[str, Reaction] = {"came": "noticed", "did not come": "passed on"}
        return words.get(hoped.came, "unknown"), hoped.said
    if fails:
        return "unknown", "it fails, but so it does without a fault"
    other = _first_other(control.asked, now.asked)
    carried = _carried(fault, control, now, other)
    if carried:
        return "passed on", carried
    if other is not None or is_halted:
        return _of_other(fault, control, now, other)
    if control.answer is None or now.answer is None:
        return "unknown", "it asks the same, and no final answer is known"
    if with_one_form(control.answer) == with_one_form(now.answer):
        return "passed on", "it asks and answers the same as without a fault"
    return "unknown", f"another final answer: {summary(now.answer, _SAID)}"


_Asked: TypeAlias = "tuple[str, Wire]"


def _first_other(control: Sequence[_Asked], now: Sequence[_Asked]) -> tuple[_Asked | None, _Asked | None] | None:
    """The first place at which tools are asked otherwise: what the control asks there, and what is asked now."""
    return next((pair for pair in zip_longest(control, now) if pair[0] != pair[1]), None)


def _of_other(
    fault: Fault, control: _Did, now: _Did, other: tuple[_Asked | None, _Asked | None] | None
) -> tuple[Reaction, str]:
    """What asking otherwise says: who asks again, or met an error, has noticed; others may have taken it for true."""
    before, asked = (None, None) if other is None else other
    same = fault.call.name, fault.call.args
    # What the control asks again, too, is no reaction to the fault.
    if asked == same and now.asked.count(same) > control.asked.count(same):
        return "noticed", f"it asks {asked[0]} again"
    if asked is not None:
        said = f"it asks otherwise: {asked[0]}({summary(asked[1], _SAID)})"
    elif before is not None:
        said = f"it does not ask {before[0]}"
    else:
        said = "it would write something else than was recorded"
    return ("noticed" if fault.kind == "error" else "unknown"), said


def _carried(fault: Fault, control: _Did, now: _Did, other: tuple[_Asked | None, _Asked | None] | None) -> str:
    """What of the faulty answer goes on into a question or the final answer; "" for nothing that can be told."""
    made = [asked for asked in now.asked if asked not in control.asked]
    before, asked = (None, None) if other is None else other
    if before is not None and asked is not None and fault.kind == "nothing" and _is_asked_with_nothing(before, asked):
        return f"asks {asked[0]} with nothing: {summary(asked[1], _SAID)}"
    if fault.edit is None or fault.kind in ("nothing", "error"):
        return ""
    true = {text for value in (fault.call.result, *control.known, *now.known) for _, text in texts(value)}
    false = [text for _, text in texts(fault.edit.value) if len(text) >= _SHORTEST and not _is_in(text, true)]
    for name, args in made:
        found = next((text for _, text in texts(args) if text in false), None)
        if found is not None:
            return f"asks {name} with {json.dumps(found, ensure_ascii=False)}, which only the faulty answer has"
    words = (text for text in false if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", now.answer or ""))
    said = next((text for text in words if text not in (control.answer or "")), None)
    return (
        "" if said is None else f"answers with {json.dumps(said, ensure_ascii=False)}, which only the faulty answer has"
    )


def _is_asked_with_nothing(before: _Asked, now: _Asked) -> bool:
    return before[0] == now[0] and _has_null(now[1]) and not _has_null(before[1])


def _is_in(text: str, known: Collection[str]) -> bool:
    return text in known or any(text in each for each in known)


def _has_null(value: Wire) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(_has_null(each) for each in inside)
