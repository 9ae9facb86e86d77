"""What a run did to the world, and what it was kept from: derived from its calls, which say all of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.intercepting.policy import effect_of
from agent_tt.model import ACTING, OWN_DOING
from agent_tt.model.facts import CallFacts
from agent_tt.model.facts.calls import is_given, is_held

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, CallKind, Effect, Run
    from agent_tt.protocols import RunSource

__all__ = ["EffectRow", "Effects", "Happened", "effects_between", "effects_in", "was_halted"]

Happened = Literal["sent", "sent edited", "failed", "unknown", "waiting", "denied", "refused", "stubbed", "recorded"]
"""What became of a call.

| word | means |
|---|---|
| `sent` | it was made, as the agent asked for it |
| `sent edited` | it was made with arguments that a person had changed |
| `failed` | it was made, and raised: whether it had an effect nobody knows |
| `unknown` | it was begun, and its process is gone |
| `waiting` | it waits for somebody to decide |
| `denied` | the policy did not let it be made, or a replay was halted there |
| `refused` | a person did not, or nobody was there to decide |
| `stubbed` | it was not made, and answered with a value that was given |
| `recorded` | it was not made, and answered as it had been recorded |
"""

_TO_THE_WORLD: Final = ACTING - {"human"}

_GROUPS: Final[tuple[tuple[str, frozenset[Happened]], ...]] = (
    ("went out", frozenset({"sent", "sent edited"})),
    ("failed", frozenset({"failed"})),
    ("unknown", frozenset({"unknown"})),
    ("held back", frozenset({"denied", "refused"})),
    ("answered instead", frozenset({"stubbed", "recorded"})),
    ("waiting", frozenset({"waiting"})),
)
_MOST_NAMES: Final = 4

_HALTED: Final = "agent_tt.replaying.divergence:Divergence"

_DECIDERS: Final[Mapping[str, str]] = {"nobody": "nobody", "program": "a program"}
"""Who decided about a call that asked, where that was no person; see `agent_tt.questions.Decision.by`."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One call that did something to the world, or would have, or about which something was decided.

    Attributes:
        step, call: where it stands in its run; 0 of a call that no recording reached.
        lane: the logical thread that made it.
        kind: its kind.
        name: what was called.
        effect: what that does to the world; None of a model.
        happened: what became of it.
        because: who decided about it: `default`, `you`, a file, `a person`, `a program`, `nobody`
            where nobody could be asked; "" where nobody had to.
        args: its arguments as they went out, or would have; None where they were not read.
        asked: those that a person changed, as the agent gave them.
        result: what came back; None where it was not read, or nothing did.
        error: what it raised, in one line.
        site: `file` and `line` of the agent's that made it.
        inside: how many requests and processes were part of it.
        where: "" in the run itself; else `before`, `beside` or `after` its recording, where nothing recorded it, or the
            name of another run of the same process.
    """

    step: int
    call: int
    lane: str
    kind: CallKind
    name: str
    effect: Effect | None
    happened: Happened
    because: str = ""
    args: Wire = None
    asked: Mapping[str, Wire] = field(default_factory=dict)
    result: Wire = None
    error: str = ""
    site: Mapping[str, Wire] = field(default_factory=dict)
    inside: int = 0
    where: str = ""


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects ledger of a run.

    Attributes:
        rows: what wrote or was to write, and all about which something was decided, in order; what happened outside
            the run's own recording stands before it or behind it. What a tool sent or started that is said to only read
            is among them where it looks like a write, as a POST does; its effect is then "read", as that is trusted.
        reads: how often what only reads was called, by name; most often first.
        models: how often each model was asked for real, by name; most often first.
    """

    rows: tuple[EffectRow, ...] = ()
    reads: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Effects) -> Effects:
        """Both ledgers together: `other` is what was done outside the recording."""
        before = tuple(row for row in other.rows if row.where == "before")
        after = tuple(row for row in other.rows if row.where != "before")
        reads, models = Counter(self.reads), Counter(self.models)
        reads.update(other.reads)
        models.update(other.models)
        return Effects((*before, *self.rows, *after), dict(reads.most_common()), dict(models.most_common()))

    @property
    def held_back(self) -> tuple[EffectRow, ...]:
        """The rows of what was kept from being made."""
        return tuple(row for row in self.rows if row.happened in ("denied", "refused"))

    def groups(self) -> list[tuple[str, Mapping[str, int]]]:
        """The rows counted by what became of them and by name: `[("went out", {"charge": 1}), …]`."""
        counted = [(title, Counter(row.name for row in self.rows if row.happened in words)) for title, words in _GROUPS]
        return [(title, dict(names.most_common())) for title, names in counted if names]

    def summary(self, times: str = "×") -> str:
        """The rows in one line: `went out: charge ×1; held back: send_email ×2`; "" where there are none.

        Args:
            times: the sign before a number.
        """
        parts = []
        for title, names in self.groups():
            shown = [f"{name} {times}{count}" for name, count in list(names.items())[:_MOST_NAMES]]
            if len(names) > _MOST_NAMES:
                shown.append(f"{len(names) - _MOST_NAMES} more")
            parts.append(f"{title}: {', '.join(shown)}")
        return "; ".join(parts)


def effects_in(calls: Iterable[Call], *, is_running: bool, is_halted: bool = False) -> Effects:
    """The ledger of these calls.

    Args:
        calls: calls of one run, in order; their arguments and results may be left out. Copies do not count.
        is_running: whether the run still goes on.
        is_halted: whether a replay halted it, so that the last call of a lane may be one that nothing answered.
    """
    rows: list[tuple[Call, Effect | None, Happened]] = []
    reads: Counter[str] = Counter()
    models: Counter[str] = Counter()
    inside: Counter[Place] = Counter()
    last: dict[str, int] = {}
    """By lane, the row of its last call; -1 where that is none."""
    quiet: set[Place] = set()
    """Calls that are listed by their names alone, as they are said to only read."""
    for call in calls:
        if CallFacts.copy_of.is_in(call.meta):
            continue
        facts = call.facts
        around = facts.inside
        effect = effect_of(call.kind, call.name, call.effect)
        part_of = around if call.kind in OWN_DOING and call.status != "denied" else None
        if part_of is not None and not (part_of in quiet and effect == "write"):
            inside[part_of] += 1
            continue
        happened = _happened(call, is_running=is_running)
        last[call.lane] = -1
        is_decided = happened not in ("sent", "failed", "unknown")
        if is_decided or (call.kind in _TO_THE_WORLD and effect == "write"):
            last[call.lane] = len(rows)
            rows.append((call, effect if part_of is None else "read", happened))
        elif call.kind == "llm" and not CallFacts.made_up.is_in(call.meta) and around is None:
            model = facts.model
            models[call.name if model is None else model] += 1
        elif call.kind in _TO_THE_WORLD:
            reads[call.name] += 1
            quiet.add((call.step, call.number))
    for index in last.values() if is_halted else ():
        if index >= 0 and (ended := rows[index])[0].status == "error" and ended[2] == "recorded":
            rows[index] = (*ended[:2], "denied")
    return Effects(
        rows=tuple(_row(*row, inside[row[0].step, row[0].number]) for row in rows),
        reads=dict(reads.most_common()),
        models=dict(models.most_common()),
    )


def effects_between(
    source: RunSource, run: Run, start: int, stop: int | None = None, *, values: bool = True
) -> Effects:
    """The ledger of steps start..stop-1.

    Args:
        source: where the run lies.
        run: the run.
        start: the first step.
        stop: the step after the last one; None for all.
        values: whether the rows have arguments, results and errors; a summary needs none.
    """
    is_running, is_halted = run.status == "running", was_halted(run)
    if not source.capabilities.pages:
        calls = source.call_page(run.id, start, source.step_count(run.id) + 1 if stop is None else stop)
        return effects_in(calls, is_running=is_running, is_halted=is_halted)
    heads = source.call_heads(run.id, start, stop)
    effects = effects_in(heads, is_running=is_running, is_halted=is_halted)
    if not values:
        return effects
    by_place = {(head.step, head.number): head for head in heads}
    return replace(
        effects,
        rows=tuple(_filled(row, source.with_values(run.id, by_place[row.step, row.call])) for row in effects.rows),
    )


def was_halted(run: Run) -> bool:
    """Whether a replay halted a run, as far as it says with what it failed."""
    return run.error is not None and run.error.class_name == _HALTED


def _filled(row: EffectRow, call: Call) -> EffectRow:
    return replace(row, args=call.args, result=call.result, error="" if call.error is None else call.error.short)


def _row(call: Call, effect: Effect | None, happened: Happened, inside: int) -> EffectRow:
    return EffectRow(
        step=call.step,
        call=call.number,
        lane=call.lane,
        kind=call.kind,
        name=call.name,
        effect=effect,
        happened=happened,
        because=_because(call),
        args=call.args,
        asked=call.facts.args_asked,
        result=call.result,
        error="" if call.error is None else call.error.short,
        site=call.facts.site,
        inside=inside,
    )


def _happened(call: Call, *, is_running: bool) -> Happened:
    facts = call.facts
    policy, said = facts.policy, facts.answered.word
    if call.status == "denied":
        return "refused" if said == "refuse" else "denied"
    if CallFacts.replayed.is_in(call.meta):
        return "denied" if call.status == "pending" else "recorded"
    if said in ("give", "raise") or policy.word == "stub":
        return "stubbed"
    if is_given(call.meta):
        return "recorded"
    if call.status in ("pending", "error") and is_held(call.meta):  # its run broke off, or was stopped, before
        return "waiting" if is_running and call.status == "pending" else "refused"
    if call.status == "pending":
        return "sent" if is_running else "unknown"
    if call.status == "error":
        return "failed"
    return "sent edited" if facts.args_asked else "sent"


def _because(call: Call) -> str:
    if not call.meta:
        return ""
    facts = call.facts
    if facts.answered:
        return _DECIDERS.get(facts.answered.by or "", "a person")
    policy = facts.policy
    return policy.place or policy.source or ""


def _place(said: Wire) -> Place | None:
    if not isinstance(said, dict):
        return None
    step, number = said.get("step"), said.get("call")
    return (step, number) if isinstance(step, int) and isinstance(number, int) else None
