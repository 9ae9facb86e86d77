"""The first step at which a fork goes a certain way: each probe is a fork that really runs, and there are few.

It is taken for granted that forks at later steps hold where one at an earlier step does: what a late fork inherits is
already spoilt. What a fork was asked and answered is written into its run's metadata under `bisected`, so that the same
question later finds it and runs nothing.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.bisecting.recorded import Bisection, Probe
from agent_tt.errors import AgentFailed, UsageError
from agent_tt.forking.plan import plan_fork
from agent_tt.model import STOPPED_BY_LIMIT
from agent_tt.model.facts import BisectedFacts, RunFacts
from agent_tt.querying.expressions import parse
from agent_tt.querying.watches.step_search import Watch
from agent_tt.rerunning.launch import start_fork
from agent_tt.rerunning.warm.pool import WarmAgents
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.request import ForkRequest
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["bisect_live", "first_where"]


def first_where(first: int, last: int, holds: Callable[[int], bool]) -> int | None:
    """Find the first number of first..last from which on something holds; ask as seldom as possible."""
    if not holds(last):
        return None
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


def bisect_live(
    source: RunSource,
    run: Run,
    expression: str,
    request: ForkRequest,
    *,
    most: int | None = None,
    started: Callable[[ForkPlan], None] = lambda _: None,
    probed: Callable[[Probe], None] = lambda _: None,
) -> Bisection:
    """Find the first step at which a fork goes the way that an expression says.

    Args:
        source: the store that holds the run.
        run: the run.
        expression: what is asked of the steps that a fork takes itself.
        request: what each fork is, but for the step that it begins after.
        most: how many forks may be run; those that ran before are not counted. What is not known then is said, and
            found by asking again.
        started: told before a fork is started.
        probed: told when a fork has answered.

    Raises:
        InvalidExpression: the expression cannot be read.
        UsageError: the run has no steps, or cannot be forked so.
        AgentFailed: a fork could not be asked: it took no step of its own, or was broken off before it held.
    """
    parse(expression)
    if any(edit.step is not None for edit in request.edits):
        raise UsageError(
            "a call of one step, or a muted step, is edited, but each probe begins after another step",
            hint="edit the state, the model, its parameters or its prompt",
        )
    last = source.step_count(run.id) - 1  # after the last step there is nothing to run
    if last < 0:
        raise UsageError(f"{run.name} has no steps to bisect", hint="Name a run with steps.")
    probes: list[Probe] = []

    def holds(step: int) -> bool:
        plan = plan_fork(source, run, replace(request, step=step))
        key = _key(plan, expression)
        probe = _known(source, run, step, key)
        if probe is None:
            if most is not None and sum(not each.known for each in probes) >= most:
                raise _Spent
            started(plan)
            probe = _ask(plan, step, expression, key, warm)
        probes.append(probe)
        probed(probe)
        return probe.holds

    stopped = ""
    warm = WarmAgents()
    try:
        first = first_where(0, last, holds)
    except _Spent:
        first = min((probe.step for probe in probes if probe.holds), default=None)
        stopped = f"{most} forks were run, and no more were wanted"
    finally:
        warm.close()
    without = max((probe.step for probe in probes if not probe.holds), default=None)
    return Bisection(run.id, expression, first, without, last, probes=tuple(probes), stopped=stopped)


class _Spent(Exception):
    """No more forks may be run."""


def _came_to_an_end(fork: Run) -> bool:
    """Whether an agent ended by itself, or at a limit that it was given: what it did not do by then it did not do."""
    is_limit = fork.error is not None and fork.error.class_name in STOPPED_BY_LIMIT
    return fork.status in ("succeeded", "failed") or (fork.status == "interrupted" and is_limit)


def _key(plan: ForkPlan, expression: str) -> str:
    """What tells one probe from another: the question, the step, what was changed, and the code as it is now."""
    facts: list[Wire] = [
        plan.run.id,
        plan.step,
        expression,
        [[edit.op, edit.path, edit.value] for edit in plan.edits],
        plan.code.entry,
        _source_of(plan),
        dict(sorted(plan.policy.items())),
        plan.terms.to_mapping(),
    ]
    if plan.effects:
        facts.append(dict[str, "Wire"](plan.effects))
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


def _source_of(plan: ForkPlan) -> str:
    """The text of the agent's file; other files that it imports are not looked at."""
    try:
        return "" if plan.code.file is None else plan.code.file.read_text(errors="replace")
    except OSError:
        return ""


def _known(source: RunSource, run: Run, step: int, key: str) -> Probe | None:
    for fork in source.forks(run.id):
        kept = fork.facts.bisected
        if kept.key == key and kept.holds is not None:
            return Probe(step, fork.id, fork.name, kept.holds, known=True)
    return None


def _ask(plan: ForkPlan, step: int, expression: str, key: str, warm: WarmAgents) -> Probe:
    with start_fork(plan, asked=lambda question: question.refuse("a bisection asks nobody"), warm=warm) as handle:
        handle.wait()
        with suppress(AgentFailed):  # an agent that fails has answered too, if it took a step
            handle.result()
    with closing(open_store(plan.store)) as store:
        fork = store.run(handle.run_id)
        if fork.steps <= plan.step:
            why = "" if fork.error is None else f": {fork.error.short}"
            raise AgentFailed(f"{fork.name} took no step of its own{why}", hint="Fork there by hand to see why.")
        found = Watch(store, fork.id, expression).next(plan.step)
        if found is None and not _came_to_an_end(fork):
            why = "" if fork.error is None else f": {fork.error.short}"
            raise AgentFailed(
                f"whether it holds after a step of {fork.name} is not known: it is {fork.status}{why}",
                hint="Fork there by hand to see why; the same bisection goes on with what is known.",
            )
        answer = BisectedFacts.answer(key, expression, step, holds=found is not None)
        store.set_metadata(fork.id, RunFacts.bisected.entry(answer))
        return Probe(step, fork.id, fork.name, found is not None, known=False)
