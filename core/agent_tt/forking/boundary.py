"""What a run did at its boundary with the world, and what the rest of it cost: what a fork of it may well do again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_tt.recording.policy import effect_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.model import Call, CallKind, Effect, Step
    from agent_tt.protocols import RunSource
    from agent_tt.recording.policy import Decision, ToolPolicy

__all__ = ["Boundary", "Expected", "boundary_of", "expected_after"]


@dataclass(frozen=True, slots=True)
class Boundary:
    """One model or tool that the run called.

    Attributes:
        name: a tool's name; a model's where it is known, else that of the function that asks it.
        kind: what it is: `llm`, `tool`, `http`, ….
        effect: `read` or `write`; None for models. A request with a method that is not safe writes.
        seen: how often the whole run called it.
        expected: how often the run called it after the step that is forked.
        policy: `live` or `deny`.
    """

    name: str
    kind: CallKind
    effect: Effect | None
    seen: int
    expected: int
    policy: Decision


@dataclass(frozen=True, slots=True)
class Expected:
    """What the original spent after the step that is forked; None where nobody said.

    Attributes:
        steps: number of steps.
        tokens_in: tokens read by models.
        tokens_out: tokens written by models.
        cost_usd: US dollars.
        duration_us: from the start of the first of these steps to the end of the last, in microseconds.
    """

    steps: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    duration_us: int | None


def boundary_of(
    source: RunSource, run_id: str, steps: Sequence[Step], *, after: int, policy: ToolPolicy
) -> tuple[Boundary, ...]:
    """Everything that the run called: tools that write first, then the rest, each in the order of the first call."""
    seen: dict[tuple[CallKind, str, Effect | None], list[int]] = {}
    for step in steps:
        if not step.calls:
            continue
        for call in source.calls(run_id, step.number):
            counts = seen.setdefault((call.kind, _name(call), _effect(call)), [0, 0])
            counts[0] += 1
            counts[1] += step.number > after
    rows = [
        Boundary(name, kind, effect, total, later, policy.decide(name, effect))
        for (kind, name, effect), (total, later) in seen.items()
    ]
    return tuple(sorted(rows, key=lambda row: row.effect != "write"))


def _effect(call: Call) -> Effect | None:
    """What it does to the world; a request inside another call is that call's doing."""
    return call.effect if "inside" in call.meta else effect_of(call.kind, call.name, call.effect)


def _name(call: Call) -> str:
    model = call.meta.get("model")
    return model if call.kind == "llm" and isinstance(model, str) else call.name


def expected_after(steps: Sequence[Step], step: int) -> Expected:
    """What the steps after `step` spent."""
    rest = [later for later in steps if later.number > step]
    costs = [later.cost_usd for later in rest if later.cost_usd is not None]
    starts = [later.started_us for later in rest if later.started_us is not None]
    ends = [later.ended_us for later in rest if later.ended_us is not None]
    return Expected(
        steps=len(rest),
        tokens_in=_total(later.tokens_in for later in rest),
        tokens_out=_total(later.tokens_out for later in rest),
        cost_usd=sum(costs) if costs else None,
        duration_us=max(ends) - min(starts) if starts and ends else None,
    )


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
