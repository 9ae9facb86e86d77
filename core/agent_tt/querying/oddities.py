"""What is odd about a run: repeated calls, cycles, retries, slow and costly steps, a growing context, the first error.

Each finding names the steps to go to. What every healthy run does is not an oddity: two equal reads are none, nor is a
step that takes a little longer than its neighbours.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.texts import texts
from agent_tt.comparing.steps.moves import value_key
from agent_tt.model import ACTING
from agent_tt.model.shown import duration
from agent_tt.querying.unread import is_damaged
from agent_tt.redaction.marks import MARK, canonical
from agent_tt.replaying.tape.repeats import place_of, repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["Oddity", "OddityKind", "find_oddities"]

OddityKind: TypeAlias = Literal["repeated", "cycle", "retried", "slow", "costly", "growing", "first error"]

_PASSIVE: Final = frozenset({"llm", "other"})
_LEAST_REPEATS: Final = 3
_LEAST_AGAIN: Final = 6
"""Equal calls that are no healthy looking again, where others stand between them."""

_LONGEST_CYCLE: Final = 4
_LEAST_ROUNDS: Final = 3
_LEAST_STEPS: Final = 8
"""Steps below which nothing can be said of what is usual."""

_FAR: Final = 8.0
"""So many times the usual distance from the median lies an outlier: for a normal distribution, one in 10^7."""

_LEAST_FACTOR: Final = 4.0
_LEAST_MS: Final = 100.0
_LEAST_TOKENS: Final = 500
_MOST_OUTLIERS: Final = 5
_GROWTH: Final = 5.0
_GROWN_TOKENS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Oddity:
    """One thing that is odd.

    Attributes:
        kind: what kind of thing.
        what: in words, one line; may hold what an agent wrote.
        steps: the steps to go to, in order.
    """

    kind: OddityKind
    what: str
    steps: tuple[int, ...]

    def to_json(self) -> dict[str, Wire]:
        """`{kind, what, steps}`."""
        return {"kind": self.kind, "what": self.what, "steps": list(self.steps)}


@dataclass(frozen=True, slots=True)
class _Act:
    """One call that acts: which one, and whether the same came back as for an equal one.

    Of what marks of redaction stand for in it (`masked`) nobody knows whether it is the same.
    """

    step: int
    name: str
    asked: str
    back: str
    failed: bool
    writes: bool
    masked: bool


def find_oddities(
    source: RunSource,
    run: Run,
    *,
    known: Mapping[int, list[Call]] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[Oddity]:
    """What is odd about a run, in the order in which it is best looked at.

    Args:
        source: where it is.
        run: the run.
        known: calls that were read already, by step.
        cancelled: asked for each step with calls that act; where it says yes, nothing is found.
    """
    steps = source.steps(run.id)
    # Steps whose strongest call is a model's have none that acts, and conversations are long to read.
    acting = [step for step in steps if step.calls and step.kind not in _PASSIVE]
    calls: dict[int, list[Call]] = {}
    for step in acting:
        if cancelled():
            return []
        read = None if known is None else known.get(step.number)
        calls[step.number] = source.calls(run.id, step.number) if read is None else read
    gone = repeated(run, (call for part in calls.values() for call in part))
    acts = {lane: acts for lane, acts in _acts(calls.values(), gone).items() if len(acts) >= _LEAST_REPEATS}
    found = [*_first_error(run, steps, calls)]
    for in_lane in acts.values():
        consecutive, cycles = list(_repeats(in_lane)), list(_cycles(in_lane))
        found += consecutive + cycles
        told = {step for oddity in consecutive + cycles for step in oddity.steps}
        found += _again([act for act in in_lane if act.step not in told])
    found += _outliers(steps)
    found += _growth(steps)
    return found


def _acts(calls: Iterable[list[Call]], gone: frozenset[tuple[int, int]]) -> dict[str, list[_Act]]:
    """The acting calls of each lane, in order."""
    found: dict[str, list[_Act]] = defaultdict(list)
    for part in calls:
        for call in part:
            if call.kind in ACTING and place_of(call) not in gone and call.status != "pending":
                if is_damaged(call):  # what it asked, or what came back, is not known: it is like no other
                    continue
                asked = f"{call.kind} {call.name} {value_key(call.args)}"
                back = call.error.short if call.error is not None else value_key(call.result)
                masked = _is_masked(call.args) or _is_masked(call.result)
                act = _Act(call.step, call.name, asked, back, call.error is not None, call.effect != "read", masked)
                found[call.lane].append(act)
    return found


def _first_error(run: Run, steps: Sequence[Step], calls: Mapping[int, list[Call]]) -> Iterator[Oddity]:
    """The first step, or call, that failed, and the step before it in its lane."""
    for step in steps:
        failed = next(
            (call for call in calls.get(step.number, ()) if call.error is not None and call.kind in ACTING), None
        )
        if step.error is not None:
            what, how = f"step {step.number} ({step.name}) failed", f": {step.error.short}"
        elif failed is not None and failed.error is not None:
            on = ", and the agent went on" if _went_on(step, failed, calls[step.number], steps) else ""
            what, how = f"{failed.name} failed in step {step.number}", f"{on}: {failed.error.short}"
        elif run.status == "crashed" and step is (last := _last_open(steps)):
            where = "in" if last.status == "running" else "after"
            what = f"the run ended {where} step {step.number} ({step.name})"
            how = ", without a word" if run.error is None else f": {run.error.short}"
        else:
            continue
        before = next((each for each in reversed(steps[: step.number - 1]) if each.lane == step.lane), None)
        after = "" if before is None else f", after step {before.number} ({before.name})"
        places = (step.number,) if before is None else (before.number, step.number)
        yield Oddity("first error", f"{what}{after}{how}", places)
        return


def _went_on(step: Step, failed: Call, calls: Sequence[Call], steps: Sequence[Step]) -> bool:
    """Whether anything says that the agent did more after a call that failed."""
    if step.status == "ok" or any(call.number > failed.number and call.lane == failed.lane for call in calls):
        return True
    return any(later.lane == step.lane for later in steps[step.number :])


def _last_open(steps: Sequence[Step]) -> Step:
    """The last step that did not end, else the last one."""
    return next((step for step in reversed(steps) if step.status == "running"), steps[-1])


def _same_words(acts: Iterable[_Act], what: str = "") -> str:
    """`the same`, as far as that is known: equal marks stand for what may differ."""
    return f"the same{what}{' but for what is redacted' if any(act.masked for act in acts) else ''}"


def _is_masked(value: Wire) -> bool:
    return any(MARK in canonical(text) for _, text in texts(value))


def _repeats(acts: Sequence[_Act]) -> Iterator[Oddity]:
    """Equal calls one after another: retries where they failed, else repeats where the same came back each time."""
    begin = 0
    for end in range(1, len(acts) + 1):
        if end < len(acts) and acts[end].asked == acts[begin].asked:
            continue
        group = acts[begin:end]
        begin = end
        failed = sum(act.failed for act in group[:-1])
        places = tuple(dict.fromkeys(act.step for act in group))
        name = group[0].name
        if len(group) >= 2 and failed == len(group) - 1:
            last = "and failed again" if group[-1].failed else "until it did not fail"
            asked = f"{name} failed and was asked {len(group)} times with {_same_words(group)}"
            yield Oddity("retried", f"{asked}, {last}", places)
        elif len(group) >= _LEAST_REPEATS:
            same = len({act.back for act in group}) == 1
            what = "and the same came back each time" if same else "and other things came back"
            # Asking a clock-like tool again and again is polling, which a loop is only if nothing changes.
            if same or len(group) >= 2 * _LEAST_REPEATS:
                asked = f"{name} was asked {len(group)} times with {_same_words(group)}"
                yield Oddity("repeated", f"{asked}, {what}", places)


def _again(acts: Sequence[_Act]) -> Iterator[Oddity]:
    """Equal calls that brought the same again and again, with others between them that changed nothing."""
    same: dict[tuple[str, str, int], list[_Act]] = defaultdict(list)
    changes = 0
    for act in acts:
        same[act.asked, act.back, changes].append(act)
        changes += act.writes  # to look again after that is healthy
    for group in same.values():
        if len(group) >= _LEAST_AGAIN:
            asked = f"{group[0].name} was asked {len(group)} times with {_same_words(group)}"
            what = f"{asked}, between others, and the same came back"
            yield Oddity("repeated", what, tuple(dict.fromkeys(act.step for act in group)))


def _cycles(acts: Sequence[_Act]) -> Iterator[Oddity]:
    """Several calls that alternate: a b a b a b."""
    keys = [act.asked for act in acts]
    at = 0
    while at < len(keys):
        length, size = 0, 0
        for size in range(2, _LONGEST_CYCLE + 1):
            length = size
            while at + length < len(keys) and keys[at + length] == keys[at + length - size]:
                length += 1
            if length >= _LEAST_ROUNDS * size and len(set(keys[at : at + size])) > 1:
                break
        else:
            at += 1
            continue
        rounds = length // size
        names = ", ".join(act.name for act in acts[at : at + size])
        places = tuple(dict.fromkeys(act.step for act in acts[at : at + length]))
        same = _same_words(acts[at : at + length], " arguments")
        yield Oddity("cycle", f"{names} went round {rounds} times with {same}", places)
        at += length


def _outliers(steps: Sequence[Step]) -> Iterator[Oddity]:
    """Steps that took far longer, or cost far more, than is usual in this run."""
    inside = {step.parent for step in steps if step.parent is not None}
    # A step around others takes as long as they do, and a person as long as people take.
    alone = [step for step in steps if step.number not in inside and step.kind != "human"]
    times = {step.number: step.duration_us / 1000 for step in alone if step.duration_us is not None}
    tokens = {
        step.number: float((step.tokens_in or 0) + (step.tokens_out or 0))
        for step in alone
        if step.tokens_in is not None or step.tokens_out is not None
    }
    for number, usual in _far(times, _LEAST_MS):
        took, usually = duration(times[number] / 1000), duration(usual / 1000)
        yield Oddity("slow", f"step {number} took {took}, usual are {usually}", (number,))
    for number, usual in _far(tokens, _LEAST_TOKENS):
        yield Oddity("costly", f"step {number} took {tokens[number]:,.0f} tokens, usual are {usual:,.0f}", (number,))


def _far(figures: dict[int, float], least: float) -> list[tuple[int, float]]:
    """The steps whose figure lies far above the median, by the median of the distances from it; and the median."""
    if len(figures) < _LEAST_STEPS:
        return []
    usual = statistics.median(figures.values())
    spread = 1.4826 * statistics.median(abs(figure - usual) for figure in figures.values())
    limit = max(usual + _FAR * spread, usual * _LEAST_FACTOR, usual + least)
    far = sorted((number for number in figures if figures[number] > limit), key=lambda number: -figures[number])
    return [(number, usual) for number in sorted(far[:_MOST_OUTLIERS])]


def _growth(steps: Sequence[Step]) -> Iterator[Oddity]:
    """What a model is sent growing with every step, until it is many times what it was."""
    sent = [(step.number, step.tokens_in) for step in steps if step.tokens_in]
    if len(sent) < _LEAST_STEPS:
        return
    (first, few), (last, many) = sent[0], sent[-1]
    rising = sum(later[1] > earlier[1] for earlier, later in pairwise(sent))
    if many >= few * _GROWTH and many >= _GROWN_TOKENS and rising >= 0.7 * (len(sent) - 1):
        yield Oddity("growing", f"what is sent grew from {few:,} to {many:,} tokens", (first, last))
