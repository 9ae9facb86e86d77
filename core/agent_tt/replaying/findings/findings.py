"""Saying what differs: one function for each way in which a replay and its recording part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.comparing.values.states import compare_states
from agent_tt.replaying.divergence import DivergenceKind, Finding, Near
from agent_tt.replaying.findings.changed_lines import changed_lines
from agent_tt.replaying.findings.question_likeness import (
    changed_parts,
    looks_alike,
    looks_made_anew,
    looks_reordered,
    shared_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.errors import NotRebuildable
    from agent_tt.model import Output
    from agent_tt.recording.calls.answers import Question
    from agent_tt.replaying.divergence import ChangedPart
    from agent_tt.replaying.tape.tape import Tape, TapeCall, TapeLane

__all__ = [
    "as_extra",
    "changed_order",
    "changed_output",
    "changed_state",
    "effect",
    "missing",
    "not_rebuildable",
    "past_the_end",
    "sent_otherwise",
    "unanswered",
    "unmatched",
]

_NEAREST: Final = 3
_LOOKED_AT: Final = 40
"""How many recorded calls are compared with a question that none of them answers."""

_SHOWN_PATHS: Final = 3
_OUT_OF_DATA: Final = "let the function give plain data, or a class that the agent has imported before it asks"
_MADE_ANEW: Final = (
    "only ids or times differ: a program makes them anew each time. Record and replay with ids and clock patched"
)
_REORDERED: Final = "the same parts in another order: what was put together here came one after another otherwise"
_AT_A_TERMINAL: Final = (
    "it was recorded on a terminal: what a program draws there with colours or by the clock may differ each time"
)
_ASKED_ON: Final = (
    "it was asked before, as often as recorded: where a clock decides how often, record with the clock patched"
)


def unmatched(
    tape: Tape, lane: TapeLane, question: Question, *, in_place: bool = False
) -> tuple[Finding, TapeCall | None]:
    """Say what a question is that nothing recorded answers.

    Args:
        tape: the recorded run.
        lane: the recorded lane that the asking lane goes along.
        question: the question.
        in_place: whether it is a changed one wherever the same tool stands in its place, be it ever so unlike.

    Returns:
        The divergence, and the recorded call that stands in the question's place, where it is a changed one.
    """
    expected = next((entry for entry in lane.unserved() if entry.skipped_for is None), None)
    nearest = _nearest(tape, lane, question)
    if not tape.knows(question.kind, question.name):
        inside = tape.knows_inside(question.kind, question.name)
        return unanswered("unrecorded effect", question, lane=lane, nearest=nearest, inside=inside), None
    if expected is None and _broke_off(tape):
        return unanswered("read past the recorded part", question, lane=lane, nearest=nearest), None
    before = next((entry for entry in lane.calls if entry.served and entry.signature == question.signature), None)
    is_same_tool = expected is not None and (expected.call.kind, expected.call.name) == (question.kind, question.name)
    if before is not None and not (in_place and is_same_tool):
        hint = "" if tape.knows_kind("clock") else _ASKED_ON
        nearest = (Near(before.call, 1.0, ()), *nearest)[:_NEAREST]
        where = f"the same question was answered at step {before.call.step}"
        return unanswered("extra call", question, lane=lane, nearest=nearest, hint=hint, where=where), None
    if expected is None or not is_same_tool:
        return unanswered("extra call", question, lane=lane, nearest=nearest), None
    changes = changed_parts(question.kind, expected.call.args, question.args)
    if not in_place and not looks_alike(changes):
        return unanswered("extra call", question, lane=lane, nearest=nearest), None
    finding = Finding(
        "changed request",
        f"{question.name} is asked something else than was recorded: {_paths(changes)}",
        step=expected.call.step,
        call=expected.call.number,
        lane=expected.lane.id,
        lane_seq=question.lane_seq,
        call_kind=question.kind,
        name=question.name,
        asked=question.args,
        recorded=expected.call.args,
        changes=changes,
        site=question.site or _site(expected),
        nearest=nearest,
        hint=_hint(changes),
    )
    return finding, expected


def _hint(changes: Sequence[ChangedPart]) -> str:
    """What may be the cause of these changes; "" where they do not tell."""
    if looks_reordered(changes):
        return _REORDERED
    return _MADE_ANEW if looks_made_anew(changes) else ""


def unanswered(
    kind: DivergenceKind,
    question: Question,
    *,
    step: int | None = None,
    lane: TapeLane | None = None,
    nearest: tuple[Near, ...] = (),
    where: str = "",
    hint: str = "",
    inside: bool = False,
) -> Finding:
    """A question that cannot be answered; `inside` says that only other calls of the run asked the same function."""
    name = question.name
    match kind:
        case "unrecorded effect":
            none = f"the run has no recorded call of {name}{' but inside of other calls' if inside else ''}"
            message = f"{name} was called in {where}" if where else none
            hint = "a replay makes no call for real: record again, or give its answer"
        case "read past the recorded part":
            message, hint = f"the recording ends before this call of {name}", "the recorded run broke off here"
        case _:
            message = f"{name} was called after {where}" if where else f"nothing recorded answers this call of {name}"
    if not hint and nearest and nearest[0].call.name == name:
        hint = _hint(nearest[0].changes)
    return Finding(
        kind,
        message,
        step=question.step if step is None else step,
        lane=question.lane if lane is None else lane.id,
        lane_seq=question.lane_seq,
        call_kind=question.kind,
        name=name,
        asked=question.args,
        site=question.site,
        nearest=nearest,
        hint=hint,
    )


def as_extra(finding: Finding) -> Finding:
    """The same question, taken for a changed one until the recorded one itself was asked."""
    return replace(
        finding,
        kind="extra call",
        message=f"nothing recorded answers this call of {finding.name}",
        call=None,
        recorded=None,
        changes=(),
        hint="",
    )


def changed_order(entry: TapeCall, question: Question) -> Finding:
    """A question that comes after one that it came before. Its place is where it was recorded."""
    later = None if entry.skipped_for is None else entry.skipped_for.call
    instead = "" if later is None else f": call {later.number} of step {later.step} ({later.name}) came first"
    return _of(
        entry,
        "changed order",
        f"{question.name} is called later than it was recorded{instead}",
        site=question.site or _site(entry),
        lane_seq=question.lane_seq,
    )


def changed_state(step: int, recorded: Wire, now: Wire) -> Finding:
    """The state after the last step is another one. What differs stands in `changes`, by path."""
    changes = changed_parts("tool", recorded, now)
    return Finding(
        "changed state",
        f"the state after step {step}, the last, is another one than was recorded: {_paths(changes)}",
        step=step,
        changes=changes,
        hint=_hint(changes),
    )


_NOT_BEGUN: Final = (
    "the recording of this run did not begin; if it was made inside a call of another run of the same process,"
    " that call was answered and its code did not run: replay the other run"
)


def changed_output(recorded: Output, now: Output) -> Finding:
    """Something else was printed. What differs stands in `changes`, by line."""
    changes = changed_lines(recorded, now)
    hint = _hint(changes) or (_AT_A_TERMINAL if recorded.columns is not None else "")
    return Finding(
        "changed output",
        f"the agent printed something else than was recorded: {_paths(changes)}",
        changes=changes,
        hint=hint,
    )


def missing(entry: TapeCall, *, has_begun: bool = True) -> Finding:
    """A recorded question that was not asked; where its run has not even begun, what that may come from."""
    message = f"{entry.call.name} was called when this was recorded; now it was not"
    return _of(entry, "missing call", message, hint="" if has_begun else _NOT_BEGUN)


def past_the_end(entry: TapeCall, why: str) -> Finding:
    """More of an answer is wanted than was recorded."""
    return _of(entry, "read past the recorded part", f"{entry.call.name}: {why}")


def not_rebuildable(entry: TapeCall, why: NotRebuildable) -> Finding:
    """A recorded answer cannot become a Python object again."""
    kind = why.class_name.rpartition(":")[2]
    message = f"the {kind} that {entry.call.name} gave cannot be made again: {why}"
    return _of(entry, "changed result type", message, hint=_OUT_OF_DATA)


def effect(what: str, target: str, site: Mapping[str, Wire], step: int | None) -> Finding:
    """Something reaches for the world."""
    aim = f" ({target})" if target else ""
    return Finding(
        "unrecorded effect",
        f"{what}{aim} was stopped: nothing recorded stands for it",
        step=step,
        name=what,
        site=site,
        hint="a replay reaches nothing: mark the function that does this with @agent_tt.tool and record again",
    )


def sent_otherwise(entry: TapeCall, index: int, recorded: Wire, value: Wire) -> Finding | None:
    """What is sent into a recorded generator is something else than was sent; None where it is the same."""
    if not compare_states(recorded, value):
        return None
    old: Wire = {"sent": {str(index): recorded}}
    new: Wire = {"sent": {str(index): value}}
    changes = changed_parts(entry.call.kind, old, new)
    return _of(
        entry,
        "changed request",
        f"something else is sent into {entry.call.name} after piece {index + 1} than was recorded",
        asked=new,
        recorded=old,
        changes=changes,
    )


def _of(
    entry: TapeCall,
    kind: DivergenceKind,
    message: str,
    *,
    site: Mapping[str, Wire] | None = None,
    lane_seq: int = 0,
    asked: Wire = None,
    recorded: Wire = None,
    changes: tuple[ChangedPart, ...] = (),
    hint: str = "",
) -> Finding:
    call = entry.call
    return Finding(
        kind,
        message,
        step=call.step,
        call=call.number,
        lane=call.lane,
        lane_seq=lane_seq,
        call_kind=call.kind,
        name=call.name,
        asked=asked,
        recorded=call.args if recorded is None else recorded,
        changes=changes,
        site=_site(entry) if site is None else site,
        hint=hint,
    )


def _site(entry: TapeCall) -> dict[str, Wire]:
    """Where the recorded call was asked."""
    return entry.call.facts.site


def _broke_off(tape: Tape) -> bool:
    return tape.is_unfinished or tape.run.status == "interrupted"


def _paths(changes: tuple[ChangedPart, ...]) -> str:
    shown = ", ".join(change.path or "all of it" for change in changes[:_SHOWN_PATHS])
    rest = len(changes) - _SHOWN_PATHS
    return f"{shown} and {rest} more" if rest > 0 else shown


def _nearest(tape: Tape, lane: TapeLane, question: Question) -> tuple[Near, ...]:
    """The recorded calls that are still there and look most like a question, best first."""
    found: list[Near] = []
    for entry in _candidates(tape, lane):
        if entry.call.kind == question.kind:
            changes = changed_parts(question.kind, entry.call.args, question.args)
            found.append(Near(entry.call, shared_words(changes), changes))
    found.sort(key=lambda near: (near.call.name != question.name, -near.likeness))
    return tuple(found[:_NEAREST])


def _candidates(tape: Tape, lane: TapeLane) -> Iterator[TapeCall]:
    """Unserved calls: of the lane itself, then the next of each other lane."""
    count = 0
    for entry in lane.unserved():
        yield entry
        count += 1
        if count >= _LOOKED_AT // 2:
            break
    for other in tape.lanes.values():
        upcoming = None if other is lane else other.next()
        if upcoming is not None and count < _LOOKED_AT:
            yield upcoming
            count += 1
