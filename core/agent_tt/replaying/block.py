"""Replaying a block of code in this process: `with served("refund-loop") as replay:`."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import agent_tt.seams.install  # noqa: F401  from here on requests are put to the replay, whatever imports their library
from agent_tt.intercepting.recorded_responses import RecordedResponses, ReplayedResponses
from agent_tt.intercepting.run_handoff import StoreOverride
from agent_tt.model import AgentCode, NewRun
from agent_tt.model.facts import RunFacts
from agent_tt.patching.patches import patched_again
from agent_tt.recording.modules.loaded_modules import looking_anew, looking_once
from agent_tt.recording.runs.kept_patterns import use_rules_of
from agent_tt.recording.runs.process_runs import process_of
from agent_tt.recording.runs.recorder import Recording
from agent_tt.recording.session import SESSION
from agent_tt.replaying.clock.virtual_time import virtual_time
from agent_tt.replaying.engine import Replay
from agent_tt.replaying.guard.attempts import answered_again
from agent_tt.replaying.guard.guard import guarded
from agent_tt.replaying.guard.quiet import quiet
from agent_tt.replaying.null_store import NumberingStore
from agent_tt.replaying.tape.tape import read_tape
from agent_tt.replaying.workers.joining import join
from agent_tt.replaying.workers.serving import Serving
from agent_tt.replaying.workers.starting import OWN_WORKERS, Setting, Workers

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.kept_store import Keeping
    from agent_tt.replaying.null_store import StateCheck
    from agent_tt.replaying.tape.siblings import Siblings

__all__ = ["open_tape", "replaying", "served"]


@contextlib.contextmanager
def served(
    run: str | Run,
    *,
    store: str | os.PathLike[str] | None = None,
    observe: bool = False,
    from_step: int = 0,
    whole: bool = True,
) -> Iterator[Replay]:
    """Answer every recorded call of the block from a run; nothing in it reaches the world.

    ```python
    with served("refund-loop") as replay:
        answer = my_agent.main()
    assert not replay.findings
    ```

    It serves the whole process while it lasts: one replay at a time.

    Args:
        run: a run, or its id, name, unique id prefix, or `latest`.
        store: the file that holds the run; else the one that this project uses.
        observe: go on after a changed request, with the answer recorded at that place, and collect what differs.
        from_step: serve the calls after this step only.
        whole: whether calls that the block does not make are missing. Give False for a part of an agent.

    Raises:
        NotFound: there is no such store, run or step.
        Divergence: at the end too, if the block swallowed it, or left calls out.
    """
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    source = open_source(resolve_store_path(store))
    try:
        replay = open_tape(source, run, observe=observe, from_step=from_step, whole=whole)
    finally:
        source.close()
    with replaying(replay):
        yield replay
    replay.check()


def open_tape(
    source: RunSource,
    run: str | Run,
    *,
    observe: bool = False,
    from_step: int = 0,
    whole: bool = True,
    any_order: bool = False,
) -> Replay:
    """A replay of a run that lies in `source`; the arguments are those of `served` and of `Replay`."""
    found = source.run(run) if isinstance(run, str) else run
    source.step_number(found, str(from_step))  # beyond the end there is nothing to serve: the caller is wrong
    return Replay(read_tape(source, found, from_step=from_step), observe=observe, whole=whole, any_order=any_order)


@contextlib.contextmanager
def replaying(
    replay: Replay,
    check: StateCheck | None = None,
    siblings: Siblings | None = None,
    keeping: Keeping | None = None,
    prepare: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Let `replay` answer this process's calls, and its workers', while the block lasts; afterwards it is finished.

    Args:
        replay: what answers. Used once.
        check: compares the states of the agent's own recording.
        siblings: answers other recordings of this process.
        keeping: where the run that comes is kept; None where it is not.
        prepare: called in a worker process that is a new interpreter, before the agent's code is imported there.

    Raises:
        Divergence: the block halted. One that it swallowed stands in `replay.failure`.
    """
    root = replay.tape.run.code.root
    answers = replay if siblings is None else siblings
    # The recording of a whole process has no other one in it: then this one makes the steps.
    is_process = RunFacts.command.is_in(replay.tape.run.metadata)
    _, number = process_of(replay.tape.run.metadata)
    around = Recording(
        NewRun("replay", AgentCode(root=root)),
        None,
        store=None,
        durability="normal",
        steps="model calls" if is_process else "names",
    )
    checked = 0 if is_process else number
    store: NumberingStore
    if keeping is None or check is None:
        store = NumberingStore(check, checked=checked)
    else:
        from agent_tt.replaying.kept_store import KeptStore

        store = KeptStore(keeping, replay.tape.run, check, checked=checked)
    link = RecordedResponses(answers)
    if keeping is not None:
        link = ReplayedResponses(answers, makes_calls=replay.makes_calls)
    rules = partial(use_rules_of, dict(replay.tape.run.metadata), replay.tape.place, ())
    setting = Setting(root, rules, replay.tape.run.facts.patched, replay.kept_headers, prepare, join)
    with (
        looking_once(),
        quiet(),
        virtual_time(answers) as clock,
        SESSION.joined(StoreOverride(store.as_store()), link, *replay.links),
        around,
        patched_again(setting.patched, root),
        guarded(partial(answered_again, replay), root=root, rules=replace(OWN_WORKERS, passes=replay.passes)) as guard,
        looking_anew(),
        # What a worker does would be missing in a run that is kept: then none begins.
        contextlib.nullcontext()
        if keeping is not None
        else Workers(setting, store, clock, (link, guard), lambda: Serving(replay, siblings, store)).standing(),
    ):
        if replay.tape.run.incomplete is not None:
            replay.notes.add("incomplete recording", replay.tape.run.incomplete)
        replay.goes_live = clock.stop
        try:
            yield
        finally:
            if siblings is not None and not store.has_begun:
                replay.not_begun()
            replay.finish()
            if siblings is not None:
                siblings.finish()
            for name in guard.not_held():
                replay.notes.add("not covered", f"{name} may reach the world in a way that is not seen")
            for limit in clock.limits:
                replay.notes.add("not covered", limit)
