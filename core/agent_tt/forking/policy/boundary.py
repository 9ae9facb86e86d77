"""What a run did at its boundary with the world, and what the rest of it cost: what a fork of it may well do again.

Beside what was called: the tools that the agent's code declares, those that `--call` named and those that models were
offered. A fork may call them too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.asked_tools import AskedTools
from agent_tt.comparing.steps.tool_calls import is_named
from agent_tt.config import effect_of_tool
from agent_tt.intercepting.policy import effect_of
from agent_tt.intercepting.policy_enforcement import is_own_doing
from agent_tt.intercepting.rules import Rule
from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from agent_tt.config import ToolEffect
    from agent_tt.forking.entry.declared_tools import DeclaredTool
    from agent_tt.intercepting.policy import ToolPolicy
    from agent_tt.intercepting.rules import Word
    from agent_tt.model import Call, CallKind, Effect, Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["Boundary", "Expected", "KnownBy", "boundary_of", "expected_after"]

_RULED: Final = frozenset({"llm", "tool", "http", "subprocess", "socket"})
"""Kinds of calls that reach the world."""

_LIVE: Final = Rule("live", source="default")

_NONE_ASKED: Final = AskedTools()
_NOTHING_SAID: Final[Mapping[str, ToolEffect]] = MappingProxyType({})

KnownBy: TypeAlias = Literal["called", "declared", "named", "shown", "offered"]


@dataclass(frozen=True, slots=True)
class Boundary:
    """One model, tool, address or program that the run called, or a tool that it may call.

    Attributes:
        name: a tool's name; a model's where it is known, else that of the function that asks it; of a request
            `POST https://host/path`. A rule for this name is a rule for this row.
        kind: what it is: `llm`, `tool`, `http`, `subprocess`, `socket`.
        effect: `read` or `write`; None for models. A request with a method that is not safe writes, and so does a tool
            of which nothing is known.
        seen: how often the whole run called it; of what nothing recorded, how often a model asked for it.
        expected: how often the run called it after the step that is forked.
        rule: what the fork does with it, and who said so.
        is_inside: calls of tools or models made it: it is their own doing, whatever their rules are, unless a person
            denies it.
        called: what the calls are called.
        model: the model that is asked, where it is known.
        example: the last of these calls.
        known_by: `called` by the run; `declared` in the agent's code; `named` from outside with `--call`; `shown` in a
            conversation alone: a model asked for it, and no recording holds it; `offered` to a model, and not called.
        effect_may_be_said: whether whoever forks the run may say what it does: a tool that does not say it itself.
        kept_by: of a function written in C, what keeps it where its calls could not be recorded; "" where nothing does.
    """

    name: str
    kind: CallKind
    effect: Effect | None
    seen: int
    expected: int
    rule: Rule
    is_inside: bool = False
    called: str = ""
    model: str | None = None
    example: Call | None = field(default=None, compare=False, repr=False)
    known_by: KnownBy = "called"
    effect_may_be_said: bool = False
    kept_by: str = ""

    @property
    def is_held(self) -> bool:
        """Whether a fork can do anything about its calls. It cannot where nothing records them: they just run."""
        return not self.why_not_held

    @property
    def why_not_held(self) -> str:
        """Why a fork can do nothing about its calls, in a few words; "" where it can."""
        if self.is_unrecorded:
            return "nothing records it"
        return "not all its calls are seen" if self.kept_by else ""

    @property
    def is_unrecorded(self) -> bool:
        """Whether no recorded call is one of it: it may run as any function of the agent's, which nothing holds.

        One that a model asked for goes by the policy all the same. Where that would keep it from running, the fork does
        not start. One that was only offered may turn out to be recorded: it runs where nobody says otherwise.
        """
        return self.known_by in ("shown", "offered")

    @property
    def follows_caller(self) -> bool:
        """Whether it is done as what calls it is, and no rule decides about it."""
        return self.is_inside and self.policy != "deny"

    @property
    def policy(self) -> Word:
        """The word of its rule."""
        return self.rule.word

    def under(self, policy: ToolPolicy) -> Boundary:
        """The row with the rule that a policy has for it."""
        return replace(self, rule=_rule(policy, self))


@dataclass(frozen=True, slots=True)
class Expected:
    """What the original spent after the step that is forked; None where nobody said.

    Attributes:
        steps: number of steps.
        tokens_in: tokens read by models.
        tokens_out: tokens written by models.
        cost_usd: US dollars.
        duration_us: from the start of the first of these steps to the end of the last, in microseconds.
        unpriced: how many model calls have no known price: `cost_usd` is that of the others.
    """

    steps: int
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    duration_us: int | None
    unpriced: int = 0


def boundary_of(
    source: RunSource,
    run: Run,
    *,
    after: int,
    policy: ToolPolicy,
    declared: Iterable[DeclaredTool] = (),
    asked: AskedTools = _NONE_ASKED,
    effects: Mapping[str, ToolEffect] = _NOTHING_SAID,
) -> tuple[Boundary, ...]:
    """Everything that the run called, and the tools that it may call.

    What writes comes first, then the rest; of each first what was called, in the order of the first call.

    Args:
        source: where the run is.
        run: the run.
        after: the step that is forked.
        policy: what the fork does with its calls.
        declared: the tools that the agent's code declares.
        asked: the tools that only the run's conversations show.
        effects: what tools do that do not say it themselves, by their names and by patterns.
    """
    declared = tuple(declared)
    found: dict[tuple[object, ...], Boundary] = {}
    models: set[tuple[int, int]] = set()
    processes: set[tuple[int, int]] = set()
    for call in source.call_heads(run.id):
        if call.kind not in _RULED:
            continue
        model = call.facts.model if call.kind == "llm" else None
        if call.kind == "llm":
            models.add((call.step, call.number))
        elif call.kind == "subprocess":
            processes.add((call.step, call.number))
        row = Boundary(
            name=model if isinstance(model, str) else call.name,
            kind=call.kind,
            effect=_effect(call),
            seen=1,
            expected=int(call.step > after),
            rule=_LIVE,
            is_inside=_is_own_doing(call, models, processes),
            called=call.name,
            model=model if isinstance(model, str) else None,
            example=call,
        )
        key = (row.kind, row.name, row.effect, row.is_inside)
        known = found.get(key)
        if known is not None:
            row = replace(row, seen=known.seen + 1, expected=known.expected + row.expected, called=known.called)
        found[key] = row
    listed = [replace(row, example=_whole(source, run, row.example)) for row in found.values()]
    listed += _uncalled(run, declared, {row.called for row in listed})
    listed += _shown(run, asked, [row.called for row in listed if row.kind == "tool"], after)
    listed = _with_effects(run, listed, declared, effects)
    kept = _kept(run)
    rows = [replace(row, kept_by=kept.get(row.called, "")).under(policy) for row in listed]
    return tuple(sorted(rows, key=lambda row: row.effect != "write"))


def _with_effects(
    run: Run, rows: Iterable[Boundary], declared: Iterable[DeclaredTool], effects: Mapping[str, ToolEffect]
) -> list[Boundary]:
    """The rows with the effects that are said of tools, but for those whose code, or `--call`, says one."""
    own = {tool.name for tool in declared if tool.is_said} | {*run.facts.calls_named.values()}
    return [
        replace(row, effect=effect_of_tool(effects, row.called) or row.effect, effect_may_be_said=True)
        if row.kind == "tool" and row.called not in own
        else row
        for row in rows
    ]


def _whole(source: RunSource, run: Run, head: Call | None) -> Call | None:
    calls = [] if head is None else source.calls(run.id, head.step)
    return next((call for call in calls if head is not None and call.number == head.number), None)


def _shown(run: Run, asked: AskedTools, known: Sequence[str], after: int) -> Iterator[Boundary]:
    """The tools that only the conversations show.

    Args:
        run: the run.
        asked: what these show.
        known: names under which tools are recorded where they are called.
        after: the step that is forked.
    """
    ran = {tool.name for tool in asked.unrecorded(ended_well=run.status == "succeeded")}
    later = Counter(each.name for each in asked.times if each.step > after)
    for tool in asked.tools:
        if (tool.asked and tool.name not in ran) or any(is_named(tool.name, name) for name in known):
            continue
        row = Boundary(tool.name, "tool", "write", tool.asked, later[tool.name], _LIVE, called=tool.name)
        yield replace(row, known_by="shown" if tool.asked else "offered")


def _uncalled(run: Run, declared: Iterable[DeclaredTool], called: set[str]) -> list[Boundary]:
    """The tools that are recorded when they are called, and that the run did not call."""
    rows: dict[str, Boundary] = {}
    for path, name in run.facts.calls_named.items():
        effect = run.facts.calls.get(path)
        if effect in ("read", "write", "llm"):
            kind: CallKind = "llm" if effect == "llm" else "tool"
            known = None if effect == "llm" else cast("Effect", effect)
            rows[name] = Boundary(name, kind, known, 0, 0, _LIVE, called=name, known_by="named")
    for tool in declared:
        row = Boundary(tool.name, "tool", tool.effect, 0, 0, _LIVE, called=tool.name, known_by="declared")
        rows.setdefault(tool.name, row)
    return [row for name, row in rows.items() if name not in called]


def _kept(run: Run) -> dict[str, str]:
    """What keeps functions that write where their calls could not be recorded, by the name of those."""
    held, effects = run.facts.calls_held, run.facts.calls
    names = run.facts.calls_named.items()
    return {name: held[path] for path, name in names if path in held and effects.get(path) == "write"}


def _is_own_doing(call: Call, models: Collection[tuple[int, int]], processes: Collection[tuple[int, int]]) -> bool:
    """Whether a call is the doing of the call that made it, which is known by its place among those before it.

    What a program did that the agent started is that program's doing: a fork that starts it again lets it run as it is.
    """
    place = call.facts.inside
    if place is None:
        return False
    return place in processes or is_own_doing(call.kind, place in models)


def _rule(policy: ToolPolicy, row: Boundary) -> Rule:
    if row.is_inside:
        effect = row.effect or effect_of(row.kind, row.called, None)
        found = policy.forbids(row.kind, row.called, effect, model=row.model, by_name=row.kind == "llm")
        return found or _LIVE
    rule = policy.decide(row.kind, row.called, row.effect, model=row.model)
    return _LIVE if row.known_by == "offered" and rule.source == "default" else rule


def _effect(call: Call) -> Effect | None:
    """What it does to the world; a request inside another call is that call's doing."""
    return call.effect if CallFacts.inside.is_in(call.meta) else effect_of(call.kind, call.name, call.effect)


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
        unpriced=sum(later.unpriced for later in rest),
        duration_us=max(ends) - min(starts) if starts and ends else None,
    )


def _total(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
