"""Going on with a graph from a checkpoint of a run, in the process of a fork.

1. The graph is what was named, or what the function gives that was named. A copy of it gets a saver whose thread is
   read from the run that is forked; nothing is written to that run, or to the file that it came from.
2. The state is edited by the graph's own `update_state`. A list that was only added to gives the items that were added,
   so that the graph's reducer joins them; any other change of a channel with a reducer takes the reducer's place.
3. Each superstep is a step of the fork's run, with the calls that were made in it, the state after it, and what is
   needed to fork it again. One that a question or an error stopped ends with the checkpoint that it ran from.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, Final, cast

from langgraph.errors import InvalidUpdateError
from langgraph.pregel import Pregel
from langgraph.types import Command, Overwrite

from agent_tt.codec.plain import parts_of
from agent_tt.errors import InvalidEntryPoint
from agent_tt.langgraph.message_ids import same_message_ids
from agent_tt.langgraph.past import ForkedThread, ForkSaver
from agent_tt.model import NewRun
from agent_tt.model.facts import StepFacts
from agent_tt.model.kinds import LANGGRAPH_KEY
from agent_tt.recording.runs.recorder import Recording

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.recording.steps.recorded_step import RecordedStep

__all__ = ["AS_NODE", "RESUME", "REUSE", "run_graph"]

AS_NODE: Final = "as_node"
RESUME: Final = "resume"
REUSE: Final = "reuse_answers"
LOOK: Final = "only_look"

_MODE: Final = "checkpoints"
_CONFIG: Final[dict[str, Any]] = {"configurable": {"thread_id": ForkedThread.id}}


def run_graph(store: RunSource, run: Run, module: ModuleType, told: Mapping[str, object]) -> None:
    """Run the graph that a fork names, from the checkpoint that is forked.

    Args:
        store: the store, with the fork's run.
        run: the fork.
        module: the module of the graph.
        told: `as_node`, `resume` and `reuse_answers`, where they were said; `only_look` ends it after the edit.

    Raises:
        InvalidEntryPoint: what is named is no graph; LangGraph cannot tell which node the edited state comes from; no
            answer is there to be used again; or an edit is none that the graph can take.
    """
    step = run.fork_step or 0
    thread = ForkedThread(store, run.parent or "", step, answers=bool(told.get(REUSE)))
    _check_delta(store, run, thread)
    if told.get(REUSE) and not thread.has_answers:
        raise InvalidEntryPoint(
            f"no answer to a question was recorded at step {step} of {store.run(run.parent or '').name}",
            hint="give one with --resume, or leave out --reuse-answers: the question is asked again",
        )
    if RESUME not in told and not told.get(REUSE):
        thread.without_questions()
    saver = ForkSaver(thread)
    graph = _graph(run.code.entry or "", module).copy({"checkpointer": saver})
    edited = store.state(run.id, step)
    values = _edits(graph, saver, thread.saved.state, edited if isinstance(edited, dict) else {})
    live: dict[str, object] = {}
    with (
        Recording(NewRun(run.name, run.code), live, store=None, durability="full") as recording,
        same_message_ids(run.code.root),
    ):
        if values or told.get(AS_NODE) is not None:
            with recording.step("update") as taken:
                _update(graph, values, cast("str | None", told.get(AS_NODE)))
                _note(saver, live, taken)
        if told.get(LOOK):
            return
        given: Command[Any] | None = Command(resume=told[RESUME]) if RESUME in told else None
        if _is_async(graph):
            asyncio.run(_run_async(graph, given, saver, recording, live))
        else:
            _run(graph, given, saver, recording, live)


def _graph(name: str, module: ModuleType) -> Any:
    """The graph that is named, or that the function gives that is named."""
    found: Any = module
    for part in name.rpartition(":")[2].split("."):
        found = getattr(found, part, None)
    if not isinstance(found, Pregel) and callable(found) and not hasattr(found, "compile"):
        found = found()
        if inspect.isawaitable(found):
            found = asyncio.run(_awaited(found))
    if not isinstance(found, Pregel) and callable(getattr(found, "compile", None)):
        found = found.compile()
    if not isinstance(found, Pregel):
        kind = "nothing" if found is None else f"a {type(found).__name__}"
        raise InvalidEntryPoint(
            f"{name} is {kind}, not a graph", hint="name a compiled graph, or a function that gives one, module:graph"
        )
    return found


async def _awaited(given: Any) -> Any:
    return await given


def _check_delta(store: RunSource, run: Run, thread: ForkedThread) -> None:
    """Refuse a fork of a fork with delta channels: what was written between two snapshots is gone."""
    parent = store.run(run.parent or "")
    said = StepFacts(thread.saved.extra).checkpoint_metadata
    if parent.facts.langgraph_thread is None and isinstance(said, dict) and said.get("counters_since_delta_snapshot"):
        raise InvalidEntryPoint(
            f"{parent.name} is a fork of a graph with delta channels, whose values between two snapshots it lacks",
            hint="fork the thread that it came from",
        )


# ---------------------------------------------------------------- the state


def _edits(graph: Any, saver: ForkSaver, before: Mapping[str, Wire], after: Mapping[str, Wire]) -> dict[str, object]:
    """What `update_state` is given so that the state becomes the edited one."""
    gone = [name for name in before if name not in after]
    if gone:
        raise InvalidEntryPoint(
            f"{gone[0]} was taken away, and LangGraph cannot unset a channel", hint="set it to a value"
        )
    values: dict[str, object] = {}
    for name, wire in after.items():
        was = before.get(name)
        if name == LANGGRAPH_KEY or (name in before and wire == was):
            continue
        channel = graph.channels.get(name)
        if channel is None:
            known = ", ".join(
                sorted(each for each in graph.channels if not each.startswith(("__", "branch:", "join:")))
            )
            raise InvalidEntryPoint(f"the graph has no channel {name}", hint=f"it has {known}")
        has_reducer = hasattr(channel, "operator") or hasattr(channel, "reducer")
        added = isinstance(wire, list) and isinstance(was, list) and len(wire) > len(was) and wire[: len(was)] == was
        if has_reducer and added:
            values[name] = saver.value_of(cast("list[Wire]", wire)[len(cast("list[Wire]", was)) :])
        else:
            value = saver.value_of(wire)
            values[name] = Overwrite(value) if has_reducer else value
    return values


def _update(graph: Any, values: dict[str, object], as_node: str | None) -> None:
    if as_node is not None and as_node not in graph.nodes:
        known = ", ".join(name for name in graph.nodes if name != "__start__")
        raise InvalidEntryPoint(f"the graph has no node {as_node}", hint=f"it has {known}")
    try:
        if _is_async(graph):
            asyncio.run(graph.aupdate_state(_CONFIG, values or None, as_node=as_node))
        else:
            graph.update_state(_CONFIG, values or None, as_node=as_node)
    except InvalidUpdateError as error:
        if as_node is not None or "mbiguous" not in str(error):
            raise
        known = ", ".join(name for name in graph.nodes if name != "__start__")
        raise InvalidEntryPoint(
            "it is not known which node the edited state is to come from, and so which run next",
            hint=f"say it with --as-node: {known}",
        ) from error


# ---------------------------------------------------------------- the supersteps


def _run(graph: Any, given: object, saver: ForkSaver, recording: Recording, live: dict[str, object]) -> None:
    going = graph.stream(given, _CONFIG, stream_mode=_MODE, durability="sync")
    while saver.next_nodes:
        with recording.step(saver.next_step) as step:
            try:
                before = saver.thread.latest
                while saver.thread.latest == before:
                    next(going)
            except StopIteration:
                return
            finally:
                _note(saver, live, step)
    for _ in going:
        pass


async def _run_async(
    graph: Any, given: object, saver: ForkSaver, recording: Recording, live: dict[str, object]
) -> None:
    going = graph.astream(given, _CONFIG, stream_mode=_MODE, durability="sync")
    while saver.next_nodes:
        async with recording.step(saver.next_step) as step:
            try:
                before = saver.thread.latest
                while saver.thread.latest == before:
                    await anext(going)
            except StopAsyncIteration:
                return
            finally:
                _note(saver, live, step)
    async for _ in going:
        pass


def _note(saver: ForkSaver, live: dict[str, object], step: RecordedStep) -> None:
    """Let a step end with the latest checkpoint."""
    live.clear()
    live.update(parts_of(saver.thread.saved.state))
    step.extra.update(saver.facts())


def _is_async(graph: Any) -> bool:
    """Whether a node of the graph can only be awaited."""
    return any(
        getattr(part, "func", part) is None and getattr(part, "afunc", None) is not None
        for node in graph.nodes.values()
        for part in (node.bound, *getattr(node.bound, "steps", ()))
    )
