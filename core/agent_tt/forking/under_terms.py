"""The terms of a fork while they hold: in its process, around everything that the agent does."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.forking.policy.stand_ins import ParentStandIns
from agent_tt.forking.terms import terms_of
from agent_tt.intercepting.approvals import Approvals
from agent_tt.intercepting.limit_enforcement import LimitEnforcement
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.intercepting.recorded_responses import MockResponses, RecordedResponses
from agent_tt.intercepting.run_handoff import RunHandoff
from agent_tt.intercepting.standing_still import standing_still
from agent_tt.recording.links import Link
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.forking.breaking import StateBreaks
    from agent_tt.intercepting.policy import ToolPolicy
    from agent_tt.intercepting.recorded_responses import Answers
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource, Store

__all__ = ["leave_soon", "links_of_run", "under_terms"]

_GRACE_SECONDS: Final = 5.0

_sleep: Final = time.sleep
"""As it was before an agent's clock is replaced."""

_FIRST_TO_GO: Final = "500"
"""Where memory runs out, the system ends a fork before the interface that started it (of -1000 to 1000)."""


def leave_soon(code: int) -> int:
    """Give an agent that has returned some seconds to end its threads and pools; then its process ends all the same.

    Args:
        code: the exit code, given back.
    """
    threading.Thread(target=_leave, args=(code,), name="agent-tt leaving", daemon=True).start()
    return code


def _leave(code: int) -> None:
    _sleep(_GRACE_SECONDS)
    left = [thread.name for thread in threading.enumerate() if not thread.daemon and thread.is_alive()]
    what = f"its agent had returned, but not its threads ({', '.join(left)})" if left else "its agent had returned"
    print(f"the process was ended: {what}", file=sys.stderr, flush=True)  # noqa: T201  where the agent prints too
    os._exit(code)


def links_of_run(into: Store, source: RunSource, run: Run, policy: ToolPolicy) -> tuple[Link, ...]:
    """The links with which a session starts whose process fills a run that is there already.

    Args:
        into: what the recording of the process writes to.
        source: where the run and its parent lie.
        run: the run.
        policy: what its calls may do.
    """
    stand_ins = None if run.parent is None else ParentStandIns(source, run)
    return (
        RunHandoff(into, run.id, run.code),
        PolicyEnforcement(policy, stand_ins),
        Approvals(stand_ins),
    )


@contextmanager
def under_terms(source: RunSource, run: Run, first: Answers | None = None, *, limited: bool = True) -> Iterator[None]:
    """Keep the limits of a fork, and answer what its terms say that no model is asked, while the block lasts.

    Args:
        source: where it lies.
        run: the fork.
        first: what answers from a recording before that.
        limited: whether the limits hold. A person who resumes a run that came to one wants it to go on.
    """
    terms, links, approvals = terms_of(run), list[Link](), SESSION.link(Approvals)
    with suppress(OSError):  # only Linux has it
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
    with ExitStack() as stack:
        if approvals is not None and any("ask" in str(rule) for rule in run.policy.values()):
            stack.enter_context(standing_still(approvals.asking))
        if first is not None:
            links.append(RecordedResponses(first))
        if terms.is_mock:
            from agent_tt.forking.entry.mock_model import MadeUpAnswers, recorded_answers

            recorded = recorded_answers(source, run if run.parent is None else source.run(run.parent))
            links.append(MockResponses(MadeUpAnswers(recorded, run.fork_step or 0, terms)))
        if limited and terms.limits:
            links.append(LimitEnforcement(terms.limits, run.id, _breaks(source, run, terms.limits.breaks)))
        stack.enter_context(SESSION.joined(*links))
        yield


def _breaks(source: RunSource, run: Run, expressions: Sequence[str]) -> StateBreaks | None:
    """Where the fork stops by what holds; what it takes to ask is loaded where there is something to ask."""
    if not expressions:
        return None
    from agent_tt.forking.breaking import StateBreaks

    return StateBreaks(source, run, expressions)
