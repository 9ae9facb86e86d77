"""Bisecting: the first step after which something holds, over what was recorded and over forks that really run.

| module | what it does |
|---|---|
| `recorded` | over recorded states, at once |
| `live` | over forks: each probe is one, their results are kept with them and found again |

Over versions of the agent's code `git bisect run` does it, with `agent-tt bisect RUN --replay` as its test.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agent_tt.bisecting.recorded import Bisection

__all__ = ["bisect"]


def bisect(
    run: str,
    expression: str,
    *,
    store: str | Path | None = None,
    live: bool = False,
    changes: Mapping[str, object] | None = None,
    agent: str | None = None,
    allow: Iterable[str] = (),
    policy: Mapping[str, object] | None = None,
    stop_at: int | None = None,
    time_limit: str | float | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    most_forks: int | None = None,
) -> Bisection:
    """Find the first step after which `expression` holds.

    ```python
    found = agent_tt.bisect("flaky-checkout", "state.payment.amount > 1500")
    print(found.first, found.last_without, found.is_monotone)  # 6 5 True
    ```

    Args:
        run: the run: its id, name, unique id prefix, or `latest`.
        expression: what is asked, such as `tool == "charge" and args.amount > 100`; the language is described in
            `agent_tt.querying.expressions`.
        store: the store that holds the run; else the one that this project uses.
        live: fork the run at some steps, and find the first at which the fork goes the way that `expression` says:
            it holds after one of the steps that the fork takes itself. About log2 of the run's steps are run, and one
            that was asked the same before is found again.
        changes: with `live`, new values by path that each fork begins with: `{"budget.max_searches": 3}`.
        agent: with `live`, another entry point that each fork runs.
        allow: with `live`, names of writing tools that may run.
        policy: with `live`, what becomes of calls, as `agent_tt.fork` takes it; who would be asked refuses.
        stop_at: with `live`, the last step that a fork takes.
        time_limit: with `live`, seconds for each fork, or `5m`.
        max_tokens: with `live`, tokens that the models of each fork may read and write.
        max_cost: with `live`, US dollars that they may cost.
        most_forks: with `live`, how many forks may be run now; asked again it goes on from there.

    Returns:
        A `Bisection`: `first` (the step; None where it holds nowhere), `last_without` (the step before, after which it
        does not hold), `last`, `is_monotone` (whether it holds from there to the end), `spans` (`first` and `last` of
        each stretch of steps in which it holds) or, of forks, `probes` (`step`, `run`, `name`, `holds`, `known`) and
        `stopped` (why it ended early). `to_json()` gives what `agent-tt bisect --json` writes.

    Raises:
        NotFound: there is no such store or run.
        InvalidExpression: the expression cannot be read; `error.position` says where.
        UsageError: the run cannot be forked so.
        AgentFailed: a fork took no step of its own.
    """
    from agent_tt.bisecting.live import bisect_live
    from agent_tt.bisecting.recorded import bisect_recorded
    from agent_tt.errors import UsageError
    from agent_tt.forking.policy.policies import configured_policy, written_rules
    from agent_tt.forking.request import ForkRequest
    from agent_tt.forking.terms import terms_from
    from agent_tt.protocols import check_proven
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    of_forks = {
        "stop_at": stop_at,
        "time_limit": time_limit,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
        "changes": changes,
        "agent": agent,
        "allow": allow,
        "policy": policy,
        "most_forks": most_forks,
    }
    given = [name for name, value in of_forks.items() if value is not None and value != ()]
    if given and not live:
        raise UsageError(f"{given[0]} is for forks", hint="add live=True")
    with closing(open_source(resolve_store_path(store))) as source:
        found = source.run(run)
        check_proven(source, found)
        if not live:
            return bisect_recorded(source, found, expression)
        request = ForkRequest(
            changes=changes or {},
            agent=agent,
            policy=configured_policy().with_all(written_rules(allow, policy or {})),
            terms=terms_from(stop_at=stop_at, time_limit=time_limit, max_tokens=max_tokens, max_cost=max_cost),
        )
        return bisect_live(source, found, expression, request, most=most_forks)
