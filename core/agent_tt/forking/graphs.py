"""A fork of a LangGraph thread: which checkpoint it goes on from, and with which graph. Nothing is imported."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEdit, InvalidEntryPoint, UsageError
from agent_tt.forking.editing.edits import apply_edits, with_old_values
from agent_tt.forking.entry.code import CodePlan
from agent_tt.forking.entry.entry_point import find_source, package_of, parse_entry_point
from agent_tt.forking.terms import GRAPH, MOCK
from agent_tt.model.kinds import LANGGRAPH_KEY
from agent_tt.model.threads import is_in_database

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.request import ForkRequest
    from agent_tt.forking.terms import Terms
    from agent_tt.model import Edit, Run, Step

__all__ = [
    "AS_NODE",
    "LOOK",
    "beginning_of",
    "edit_channels",
    "graph_terms",
    "is_copied_first",
    "plan_graph",
    "told_graph",
]

AS_NODE = "as_node"
"""The override that names the node which an edit counts as."""

LOOK = "only_look"
"""The override with which a fork ends when its state is edited."""


def is_copied_first(request: ForkRequest, run: Run, *, is_graph: bool) -> bool:
    """Whether a run lies in a file of another system, of which it is copied before it is forked."""
    return is_in_database(run) if is_graph else run.read_only and request.continue_with is not None


def graph_terms(terms: Terms) -> Terms:
    """The terms of a fork of a thread.

    Raises:
        UsageError: another executor was asked for.
    """
    if terms.executor == MOCK or terms.is_custom:
        raise UsageError(
            f"the executor {terms.executor} cannot go on with a thread of LangGraph",
            hint="leave out --executor, and name the graph with --agent module:graph",
        )
    return replace(terms, executor=GRAPH)


def told_graph(*, as_node: str | None = None, answer: str | None = None, as_before: bool = False) -> tuple[str, ...]:
    """What a graph is told, as overrides.

    Args:
        as_node: the node that an edit counts as.
        answer: the answer to its question, in JSON or as a text.
        as_before: whether it is answered as it was then.
    """
    said = [] if as_node is None else [f"as_node={json.dumps(as_node)}"]
    if answer is not None:
        value: object = answer
        with suppress(ValueError):
            value = json.loads(answer)
        said.append(f"resume={json.dumps(value)}")
    return (*said, "reuse_answers=true") if as_before else tuple(said)


def plan_graph(run: Run, agent: str | None) -> tuple[CodePlan, tuple[str, ...]]:
    """Find the graph that a fork goes on with: `agent`, else that of the fork that is forked.

    Raises:
        InvalidEntryPoint: none is named, or it is not there.
    """
    text = agent or run.code.entry
    if text is None:
        raise InvalidEntryPoint(
            f"{run.name} is a thread of LangGraph, which names no code that could be run",
            hint="name the graph, or a function that gives one, with --agent module:graph",
        )
    entry, here = parse_entry_point(text), Path.cwd()
    folders = [here] if agent is not None else []
    folders += [Path(folder) for folder in (run.code.root, run.code.cwd) if folder]
    file = find_source(entry, folders)
    if file is None and entry.is_file:
        raise InvalidEntryPoint(f"there is no file {entry.location}", hint=f"looked in {', '.join(map(str, folders))}")
    problems: tuple[str, ...] = ()
    if file is None:
        problems = (f"{entry.location} cannot be found from here; the Python that runs the fork will look for it",)
    root = here if file is None else package_of(file.resolve())[0]
    if file is not None and entry.is_file:
        entry = type(entry)(str(file.resolve()), entry.qualname, is_file=True)
    code = CodePlan(
        entry=str(entry),
        file=file,
        line=None,
        function=entry.qualname,
        changed=None,
        restore=None,
        interpreter=run.code.interpreter or sys.executable,
        cwd=run.code.cwd or str(here),
        root=str(root),
        executor=GRAPH,
    )
    return code, problems


def beginning_of(run: Run, steps: Sequence[Step], asked: int, edits: Sequence[Edit]) -> tuple[int, tuple[str, ...]]:
    """The step with the checkpoint that a fork goes on from, and how that differs from what was asked for.

    Raises:
        UsageError: there is none, or the state of a subgraph is edited.
    """
    if not asked:
        raise UsageError(
            f"{run.name} has no checkpoint at step 0: a thread begins with its first one",
            hint="fork after a later step; `agent-tt show` lists them",
        )
    top = steps[asked - 1]
    inside = top.facts.checkpoint_ns or ""
    while top.parent is not None:
        top = steps[top.parent - 1]
    if not inside and top.number == asked and top.facts.checkpoint_id is not None:
        return asked, ()
    own = [
        step
        for step in steps
        if not step.facts.checkpoint_ns and step.parent is None and step.facts.checkpoint_id is not None
    ]
    told = steps[asked - 1].facts.graph_checkpoint_id
    before = next((step for step in own if told and step.facts.checkpoint_id == told), None)
    if before is None:  # the order of the steps tells; two of LangGraph's threads may have written them the other way
        before = next((step for step in reversed(own) if step.number < top.number), None)
    if before is None:
        raise UsageError(f"no checkpoint of the graph itself lies before step {asked}", hint="fork a later step")
    if not inside and top.number == asked:
        return before.number, (
            f"step {asked} {top.name} ended in no checkpoint: it runs again, from step {before.number}",
        )
    if edits:
        raise UsageError(
            f"step {asked} is inside the subgraph {top.agent or top.name}, whose state LangGraph does not go on from",
            hint=f"edit the graph's own state: fork after step {before.number}",
        )
    subgraph = inside.partition(":")[0] or top.name
    why = f"step {asked} is inside the subgraph {subgraph}, which LangGraph runs from its beginning"
    return before.number, (f"{why}: the fork goes on from step {before.number}",)


def edit_channels(state: Wire, edits: Sequence[Edit]) -> tuple[tuple[Edit, ...], Wire, tuple[str, ...]]:
    """The edits with what was there, the edited state, and what each does to a channel with a reducer.

    Raises:
        InvalidEdit: it is no edit of the state, or one of what only LangGraph uses.
        InvalidPath: the state has no such place.
    """
    known: tuple[Edit, ...] = ()
    edited = state
    for edit in edits:
        if edit.target != "state":
            raise InvalidEdit(
                "of a thread of LangGraph only the state can be edited",
                hint="change it with --set, --insert or --delete",
            )
        if edit.path.startswith(LANGGRAPH_KEY):
            raise InvalidEdit(f"{LANGGRAPH_KEY} is LangGraph's own", hint="edit a channel of the graph")
        fresh = with_old_values(edited, [edit])
        known += fresh
        edited = apply_edits(edited, fresh)
    return known, edited, tuple(_said(state, edited))


def _said(before: Wire, after: Wire) -> Iterable[str]:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return
    for name in before.keys() - after.keys():
        raise InvalidEdit(f"LangGraph cannot unset the channel {name}", hint="set it to a value")
    for name, value in after.items():
        was = before.get(name)
        if name in before and value == was:
            continue
        if isinstance(value, list) and isinstance(was, list) and len(value) > len(was) and value[: len(was)] == was:
            items = "1 item is" if len(value) - len(was) == 1 else f"{len(value) - len(was)} items are"
            yield f"{name}: {items} appended; where the graph has a reducer for it, that joins them"
        else:
            yield f"{name}: overwritten; where the graph has a reducer for it, that is passed by"
