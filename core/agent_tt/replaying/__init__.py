"""Running a recorded agent again, with every call answered from its recording. Nothing reaches the world.

| module | what it does |
|---|---|
| `tape` | a recorded run in memory, by lane, question and order of answers |
| `matching` | which recorded call answers a question |
| `turns`, `waiters` | the order in which answers are given out, and who waits for them |
| `engine`, `answer` | one replay: questions in, recorded answers out, failures that stay |
| `course`, `repeats`, `siblings` | what else its process did: other runs, and what a resumed run holds twice |
| `divergence`, `findings`, `likeness`, `changed_lines`, `notes` | what differs, and how it is said |
| `report` | all of that as data and JSON |
| `rebuilt_errors`, `special_exceptions`, `unusable`, `loaded_classes` | recorded exceptions and values, made again |
| `standard_input`, `same_screen`, `program_end` | what a program reads, prints on, and does as it ends |
| `guard`, `guard_events`, `attempts`, `quiet` | nothing gets past the replay; nobody complains about its exception |
| `foreign_calls`, `uvloop_calls` | what C code is called for, asked about where Python raises no audit event |
| `virtual_time`, `timeline`, `sleepers`, `busy_threads` | nobody waits, and time moves on |
| `without_clock` | waiting for answers where time is real |
| `loop_inside`, `standard_loops`, `paces` | event loops whose clock is moved, and how many passes an answer took |
| `trio_loop`, `trio_time` | the same of trio |
| `numbering` | where the replaying agent's own recording goes: nowhere |
| `block`, `given` | replaying a block of code in this process; answers that are given for a name |
| `shown_tools` | tools that the conversation shows and no call stands for |
| `preflight`, `source_trees` | what a run has answers for; the source of its agent |
| `launch`, `job`, `agent_process`, `progress` | replaying a whole run in a process of its own, and how far it is |
| `debugging` | pdb inside the agent of a replay |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._lazy import lazily

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.replaying.block import served
    from agent_tt.replaying.divergence import Divergence
    from agent_tt.replaying.given import given, in_order
    from agent_tt.replaying.report import ReplayReport

__all__ = ["Divergence", "ReplayReport", "given", "in_order", "replay", "served"]

_HOMES = {
    "Divergence": "agent_tt.replaying.divergence",
    "ReplayReport": "agent_tt.replaying.report",
    "given": "agent_tt.replaying.given",
    "in_order": "agent_tt.replaying.given",
    "served": "agent_tt.replaying.block",
}


def replay(
    run: str | Run,
    *,
    observe: bool = False,
    store: str | Path | None = None,
    arguments: Sequence[str] = (),
    timeout: float | None = None,
    agent: str | None = None,
) -> ReplayReport:
    """Run the agent of `run` again in a child process, with every call answered from the recording.

    Models, tools and requests are not reached: what the recording does not answer halts the agent. The run itself is
    not changed, and no new one is made.

    ```python
    report = agent_tt.replay("refund-loop")
    assert report.is_faithful, report.divergences
    ```

    Args:
        run: a run, or its id, name, unique id prefix, or `latest`.
        observe: go on after a changed request with the answer recorded at that place, and collect all that differs.
        store: the store that holds the run; else the one that this project uses.
        arguments: what the agent finds behind its name in `sys.argv`.
        timeout: longest time in seconds; None waits as long as it takes.
        agent: another entry point, of code that has moved: `module:callable`, `path/file.py:callable`, or of a program
            that was recorded as a whole `path/file.py:__main__`.

    Returns:
        What differs, with its places, in `report.verdict` whether it went as recorded; `report.check()` raises where
        the replay failed.

    Raises:
        NotFound: there is no such store or run.
        UsageError: `agent` cannot stand for the program that was recorded.
        InvalidEntryPoint: the agent cannot be found or started.
        AgentFailed: its process died without a report, or took too long.
    """
    from agent_tt.replaying.launch import run_replay
    from agent_tt.sources import open_source
    from agent_tt.store.locate import resolve_store_path

    source = open_source(resolve_store_path(store))
    try:
        found = source.run(run) if isinstance(run, str) else run
        return run_replay(source, found, observe=observe, arguments=arguments, timeout=timeout, agent=agent)
    finally:
        source.close()


__getattr__ = lazily(__name__, _HOMES)
