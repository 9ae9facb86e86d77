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
) -> Bisection:
    """Find the first step after which `expression` holds.

    ```python
    found = agent_tt.bisect("flaky-checkout", "state.payment.amount > 1500")
    print(found.first, found.is_monotone)
    ```

    Args:
        run: the run: its id, name, unique id prefix, or `latest`.
        expression: what is asked, as `agent_tt.querying.expressions` says.
        store: the store that holds the run; else the one that this project uses.
        live: fork the run at some steps, and find the first at which the fork goes the way that `expression` says:
            it holds after one of the steps that the fork takes itself.
        changes: with `live`, new values by path that each fork begins with.
        agent: with `live`, another entry point that each fork runs.
        allow: with `live`, names of writing tools that may run.

    Returns:
        The step, and whether that is all there is to say.

    Raises:
        NotFound: there is no such store or run.
        InvalidExpression: the expression cannot be read.
        UsageError: the run cannot be forked so.
    """
    from agent_tt.bisecting.live import bisect_live
    from agent_tt.bisecting.recorded import bisect_recorded
    from agent_tt.sources import open_source
    from agent_tt.store.locate import resolve_store_path

    path = resolve_store_path(store)
    with closing(open_source(path)) as source:
        found = source.run(run)
        if not live:
            return bisect_recorded(source, found, expression)
        return bisect_live(source, found, expression, changes=changes or {}, agent=agent, allow=allow)
