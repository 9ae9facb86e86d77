"""Forking: run an agent again from one of its checkpoints, with an edited state, in a process of its own.

| module | what it does |
|---|---|
| `edits` | edits of a state: read, checked, applied to a copy |
| `advice` | what is odd about an edit that fits |
| `between` | the edits that lie between two states |
| `checks` | where a fork may start, and which values it can carry over |
| `code`, `entry_point`, `entry_source` | which code will run, where it lies and how it takes a state |
| `boundary` | what the run called and spent |
| `plan` | all of that in one: the pre-flight |
| `launch`, `handle` | the child process, and what can be done with it |
| `child_environment`, `entry_run`, `rebuild` | the child's side |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.handle import ForkHandle
    from agent_tt.model import Edit, Run

__all__ = ["fork"]


def fork(
    run: str | Run,
    step: int | str,
    changes: Mapping[str, object] | Sequence[Edit] | None = None,
    *,
    store: str | Path | None = None,
    agent: str | None = None,
    allow: Iterable[str] = (),
    name: str | None = None,
) -> ForkHandle:
    """Run the agent of `run` again from the state after `step`, changed as asked.

    The agent really runs, in a child process: models are asked and reading tools run. Tools that write are denied, as
    an error that the agent sees, unless `allow` names them.

    ```python
    handle = agent_tt.fork("refund-loop", 1, {"budget.max_searches": 3})
    print(handle.result().status)
    ```

    Args:
        run: a run, or its id, name, unique id prefix, or `latest`.
        step: number of the step whose state it starts from (0: the input), or `~1`, `@error`.
        changes: new values by path (`{"messages[3].content": "hello"}`), or edits.
        store: the store that holds the run; else the one that this project uses.
        agent: another entry point, `module:callable` or `path/file.py:callable`.
        allow: names of writing tools that may run.
        name: the new run's name; else `NAME/fork-N`.

    Returns:
        A handle with `run_id`, `wait()`, `result()` and `stop()`.

    Raises:
        NotFound: there is no such store, run or step.
        UsageError: an edit does not fit, or the run cannot be forked there; the message says why.
        NotRebuildable: the state holds a value that cannot become a Python object again.
    """
    from agent_tt.forking.launch import start_fork
    from agent_tt.forking.plan import plan_fork
    from agent_tt.store import open_store
    from agent_tt.store.locate import resolve_store_path

    source = open_store(resolve_store_path(store))
    try:
        original = source.run(run) if isinstance(run, str) else run
        number = source.step_number(original, step) if isinstance(step, str) else step
        edits = _edits(source.state(original.id, number), changes) if isinstance(changes, Mapping) else changes or ()
        plan = plan_fork(source, original, number, edits=edits, agent=agent, allow=allow, name=name)
    finally:
        source.close()
    return start_fork(plan)


def _edits(state: Wire, changes: Mapping[str, object]) -> tuple[Edit, ...]:
    from agent_tt.forking.edits import apply_edits, edit_from_value

    edits: list[Edit] = []
    for path, value in changes.items():
        edits.append(edit_from_value(state, path, value))
        state = apply_edits(state, edits[-1:])
    return tuple(edits)
