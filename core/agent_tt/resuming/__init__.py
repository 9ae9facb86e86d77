"""Going on with a run that broke off: it crashed, was killed, or was interrupted.

The agent runs from its beginning in a process of its own. What its calls were answered is given to it again from the
recording, in the same order, and they are not made again. When all of that has been given, it goes on for real. A
call that was in flight is made again where it only reads, asks a model, or has an idempotency key; of any other that
writes somebody has to say whether it happened.

It goes on in the run itself, which then is as if nothing had happened, with one row for each call. No row that was
there is changed: a call that was in flight stays as it was, and the one in its place names it. (A fork would hold what
was served a second time, and count its tokens twice; and a second crash would leave the calls that the first run had
finished, and the second had not yet come to, in neither's reach.)

| module | what it does |
|---|---|
| `past` | what the run had done: what is given again, what was in flight |
| `plan` | what is to be asked about before anything runs |
| `said` | what a person says that a call gave |
| `engine` | questions in; recorded answers out, or the world |
| `writer`, `continued` | keep what is recorded already, and what is the parent's, from being written again |
| `launch` | the child process |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.model import Call, Run
    from agent_tt.resuming.launch import ResumeHandle
    from agent_tt.resuming.plan import Happened

__all__ = ["Happened", "resume"]


def resume(
    run: str | Run,
    *,
    in_flight: Callable[[Call], Happened | None] | None = None,
    redo_unrecorded: bool = False,
    store: str | Path | None = None,
) -> ResumeHandle:
    """Resume a run that broke off, in a child process.

    Calls that were answered are not made again. The agent's own code runs again from its beginning, as in a replay; it
    is halted where it asks something else than was recorded, and then the run is left as it was.

    ```python
    handle = agent_tt.resume("refund-loop", in_flight=lambda call: Happened({"id": 7}) if paid(call.args) else None)
    print(handle.result().status)
    ```

    Args:
        run: a run that crashed or was interrupted; or its id, name, unique id prefix, or `latest`.
        in_flight: asked of each call that writes and was in flight, unless it has an idempotency key. It gives
            `Happened(result)` where that did happen, None where it did not and is to be made.
        redo_unrecorded: let the agent do again, before the break, what nothing was recorded of: connections that it
            opens, processes that it starts. Else that halts it, since nobody knows how much of it was done.
        store: the store that holds the run; else the one that this project uses.

    Returns:
        A handle with `run_id`, `wait()`, `result()` and `stop()`.

    Raises:
        NotFound: there is no such store or run.
        UsageError: the run did not break off; or there are calls in flight to decide about, and no `in_flight`.
        InvalidEntryPoint: the agent cannot be started.
    """
    from dataclasses import replace

    from agent_tt.resuming.launch import start_resume
    from agent_tt.resuming.plan import plan_resume
    from agent_tt.store import open_store
    from agent_tt.store.locate import resolve_store_path

    source = open_store(resolve_store_path(store))
    try:
        plan = plan_resume(source, source.run(run) if isinstance(run, str) else run)
    finally:
        source.close()
    plan = replace(plan, redo_unrecorded=redo_unrecorded)
    return start_resume(plan if in_flight is None else plan.decide(in_flight))


__getattr__ = lazily(__name__, {"Happened": "agent_tt.resuming.plan"})
