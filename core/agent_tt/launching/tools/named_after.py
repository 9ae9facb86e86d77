"""After a command: which functions and tools were not recorded, named from outside or not; kept with its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.comparing.steps.asked_tools import read_asked_tools
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.protocols import Store

__all__ = ["held_paths", "remember", "unmatched_paths", "unrecorded_tools"]


def held_paths(lines: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """What is to be said of functions that something holds where they cannot be replaced, by path."""
    return {str(line["path"]): str(line["message"]) for line in lines if line["event"] == "held"}


def unmatched_paths(lines: Sequence[Mapping[str, object]], calls: Iterable[str]) -> list[str]:
    """Paths, of those that were named, of which no process said that it made a call."""
    called = {line["path"] for line in lines if line["event"] == "called"}
    return [path for path in calls if path not in called]


def remember(
    store: Store, lines: Sequence[Mapping[str, object]], runs: Sequence[str], calls: Mapping[str, OutsideEffect]
) -> list[str]:
    """Write down with the runs of a command what was named and is not recorded; gives the paths without a call.

    Args:
        store: where the runs are.
        lines: what the processes said.
        runs: the ids of the runs that are there.
        calls: what was named.
    """
    if not calls:
        return []
    unmatched, held = unmatched_paths(lines, calls), held_paths(lines)
    own = {str(line["id"]) for line in lines if line["event"] == "run" and line.get("own") is True}
    for run in runs:
        facts: dict[str, Wire] = {}
        if run in own:  # the program recorded itself: its run does not know what was named
            facts |= {
                **RunFacts.calls.entry(dict(calls)),
                **RunFacts.calls_named.entry({path: _shown_name(path) for path in calls}),
            }
        if unmatched:
            RunFacts.calls_unmatched.put(facts, tuple(unmatched))
        if held:
            RunFacts.calls_held.put(facts, {**held})
        if facts:
            store.set_metadata(run, facts)
    return unmatched


def unrecorded_tools(store: Store, runs: Sequence[str]) -> list[str]:
    """Write down with the runs of a command which tools only their conversations show; gives a sentence for each.

    Args:
        store: where the runs are.
        runs: the ids of the runs that are there.
    """
    said: dict[str, None] = {}
    for run in map(store.run, runs):
        asked = read_asked_tools(store, run)
        if asked.answered:
            store.set_metadata(run.id, RunFacts.asked_unrecorded.entry({**asked.answered}))
        said.update((tool.said, None) for tool in asked.unrecorded(ended_well=run.status == "succeeded"))
    return list(said)


def _shown_name(path: str) -> str:
    """Under which name the calls of a function are recorded, where its modules were not looked at."""
    names = path.split(".")
    return ".".join(names[-2:]) if len(names) > 2 and names[-2][:1].isupper() else names[-1]
