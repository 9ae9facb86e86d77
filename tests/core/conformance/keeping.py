"""What every `Store` must do to keep order among runs: names, notes, labels, tags, pins, the archive, deleting.

Call `check_keeping(store)` with a store that holds `FAMILY`: runs that are over, of at least two steps each, with forks
named after what they were forked from. It asserts, and leaves the store without any of these runs. `check_marks` is the
part that also holds where marks are kept in another file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent_tt.errors import HasForks, IsPinned, RunNotFound, StepNotFound, UsageError
from agent_tt.model import Replay
from agent_tt.protocols import Store

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import MarkedRuns

FAMILY = ("root", "root/fork-1", "root/fork-1/fork-1", "root/fork-2", "other")


def check_keeping(store: Store) -> None:
    """Everything below, in an order in which the store is left empty of the family."""
    assert isinstance(store, Store)
    check_marks(store)
    check_replays(store)
    check_deleting(store)


def check_marks(store: MarkedRuns) -> None:
    """Everything but deleting."""
    assert {run.name for run in store.runs()} >= set(FAMILY)
    check_family(store)
    check_pages(store)
    check_metadata(store)
    check_notes(store)
    check_labels(store)
    check_names(store)
    check_archive(store)


def _names(runs: list[Run]) -> list[str]:
    return [run.name for run in runs]


def check_family(store: MarkedRuns) -> None:
    root = store.run("root")
    assert sorted(_names(store.forks(root.id))) == ["root/fork-1", "root/fork-2"]
    below = store.forks(root.id, deep=True)
    assert sorted(_names(below)) == ["root/fork-1", "root/fork-1/fork-1", "root/fork-2"]
    order = [root.id, *(run.id for run in below)]
    assert all(order.index(run.parent) < order.index(run.id) for run in below if run.parent)
    assert store.forks(store.run("other").id, deep=True) == []
    assert all(store.run(run.id) == run for run in below)


def check_pages(store: MarkedRuns) -> None:
    everything = store.runs()
    for limit in (0, 1, 3, len(everything), len(everything) + 5):
        assert store.runs(limit=limit) == everything[:limit]


def check_metadata(store: MarkedRuns) -> None:
    run = store.run("other").id
    store.set_metadata(run, {"purpose": "cheaper model", "ticket": "OPS-12", "budget": {"usd": 1.5}})
    store.set_metadata(run, {"ticket": "OPS-13"}, remove=["budget", "not there"])
    assert store.run(run).metadata == {"purpose": "cheaper model", "ticket": "OPS-13"}
    for facts in ({"ticket": 13}, {"purpose": None}, {" ": 1}):
        with pytest.raises(UsageError):
            store.set_metadata(run, facts)
    assert store.run(run).metadata["ticket"] == "OPS-13"
    store.set_tags(run, ["slow", "demo"])
    assert set(store.run(run).tags) == {"slow", "demo"}
    assert next(found for found in store.runs() if found.id == run).tags == store.run(run).tags


def check_notes(store: MarkedRuns) -> None:
    run = store.run("other").id
    about_run = store.add_note(run, None, "note", "two\nlines")
    about_step = store.add_note(run, 1, "note", "odd")
    bookmark = store.add_note(run, 2, "bookmark", "a")
    assert [(note.step, note.kind, note.body) for note in store.notes(run)] == [
        (None, "note", "two\nlines"),
        (1, "note", "odd"),
        (2, "bookmark", "a"),
    ]
    store.delete_note(about_run.id)
    store.delete_note(about_run.id)
    assert store.notes(run) == [about_step, bookmark]


def check_labels(store: MarkedRuns) -> None:
    run = store.run("other")
    assert store.labels(run.id) == {}
    store.name_checkpoint(run.id, 1, "before it went wrong")
    store.set_metadata(run.id, {"ticket": "OPS-7"}, step=1)
    store.set_metadata(run.id, {"checked": True}, step=0)
    labels = store.labels(run.id)
    assert list(labels) == [0, 1]
    assert (labels[1].name, labels[1].metadata) == ("before it went wrong", {"ticket": "OPS-7"})
    assert store.step_number(run, "before it went wrong") == 1
    assert store.notes(run.id), "notes are beside labels"
    assert all(note.kind in ("note", "bookmark") for note in store.notes(run.id))
    for step, name in ((2, "before it went wrong"), (2, "12"), (2, "~1"), (2, "@error"), (2, " "), (2, "a\nb")):
        with pytest.raises(UsageError):
            store.name_checkpoint(run.id, step, name)
    with pytest.raises(UsageError):
        store.set_metadata(run.id, {"ticket": 7}, step=1)
    for step in (-1, run.steps + 1):
        with pytest.raises(StepNotFound):
            store.name_checkpoint(run.id, step, "nowhere")
        with pytest.raises(StepNotFound):
            store.set_metadata(run.id, {"a": 1}, step=step)
    store.name_checkpoint(run.id, 1, None)
    store.set_metadata(run.id, {}, remove=["ticket"], step=1)
    assert list(store.labels(run.id)) == [0]
    with pytest.raises(StepNotFound):
        store.step_number(run, "before it went wrong")


def check_names(store: MarkedRuns) -> None:
    root, other = store.run("root"), store.run("other")
    taken = ["other", "", "latest", "root~1", "root@2", "other/fork-1", "a\nb", "-x", "x" * 201, other.id]
    for name in taken:
        with pytest.raises(UsageError):
            store.rename_run(root.id, name)
    assert store.run("root").id == root.id
    store.rename_run(root.id, "  refund desk ")
    assert {"refund desk", "refund desk/fork-1", "refund desk/fork-1/fork-1", "refund desk/fork-2"} <= set(
        _names(store.runs())
    )
    assert store.run("refund desk").id == store.run("root").id == root.id
    assert store.run("root/fork-1/fork-1").name == "refund desk/fork-1/fork-1"
    assert "root" in store.run(root.id).former_names
    store.rename_run(other.id, "root")
    assert store.run("root").id == other.id, "what is called so now comes before what was"
    store.rename_run(other.id, "other")
    fork = store.run("refund desk/fork-2")
    store.rename_run(fork.id, "dearer model")
    store.rename_run(root.id, "root")
    assert store.run("dearer model").id == fork.id, "a fork with a name of its own keeps it"
    assert store.run("root/fork-1/fork-1").parent == store.run("root/fork-1").id
    store.rename_run(fork.id, "root/fork-2")
    assert "root" not in store.run(root.id).former_names


def check_archive(store: MarkedRuns) -> None:
    root, other = store.run("root"), store.run("other")
    latest = store.run("latest")
    store.set_archived([latest.id], archived=True)
    assert latest.id not in {run.id for run in store.runs()}
    assert next(run for run in store.runs(archived=True) if run.id == latest.id).archived
    assert store.run("latest").id != latest.id
    assert store.run(latest.name).id == store.run(latest.id).id == latest.id
    store.set_archived([latest.id], archived=False)
    assert store.run("latest") == latest
    store.set_pinned([root.id], pinned=True)
    assert store.run("root").pinned
    with pytest.raises(IsPinned) as caught:
        store.set_archived([other.id, root.id], archived=True)
    assert caught.value.runs == ("root",)
    assert not store.run("other").archived, "all of them, or none"
    store.set_archived([other.id], archived=True)
    store.set_pinned([other.id], pinned=True)
    assert not store.run("other").archived, "what is pinned is listed"
    store.set_pinned([other.id, root.id], pinned=False)
    assert not store.run("root").pinned


def check_replays(store: Store) -> None:
    root, other = store.run("root"), store.run("other")
    assert (store.replays(), store.replays(other.id)) == ([], [])
    first = Replay(other.id, "as_recorded", duration_us=1_000, recorded=2, served=2, fingerprint="ab" * 16)
    second = Replay(
        *(other.id, "diverged", "observe", 2_000, 2, 1),
        reservations={"nothing recorded": 3},
        divergences=4,
        divergence="changed request",
        step=2,
        call=1,
        message="asked with sk-ant-api03-" + "x" * 80,
        agent="moved.py:main",
    )
    third = Replay(root.id, "failed", message="its process died")
    kept = [store.keep_replay(each) for each in (first, second, third)]
    assert [replace(each, id=0, at_us=0, message="") for each in kept] == [
        replace(each, message="") for each in (first, second, third)
    ]
    assert "xxxx" not in kept[1].message, "secrets are taken out"
    assert store.replays() == kept[::-1]
    assert store.replays(other.id) == [kept[1], kept[0]]
    assert all(each.kind in ("note", "bookmark") for each in store.notes(other.id)), "they are beside the notes"
    assert store.verify() == []
    with pytest.raises(RunNotFound):
        store.keep_replay(replace(first, run="no such run"))
    with pytest.raises(RunNotFound):
        store.replays("no such run")


def check_deleting(store: Store) -> None:
    root, other = store.run("root"), store.run("other")
    forks = store.forks(root.id, deep=True)
    with pytest.raises(HasForks) as caught:
        store.delete_runs([root.id])
    assert set(caught.value.runs) == {run.name for run in forks}
    with pytest.raises(HasForks):
        store.delete_runs([root.id, store.run("root/fork-1").id])
    store.set_pinned([forks[-1].id], pinned=True)
    with pytest.raises(IsPinned):
        store.delete_runs([root.id], with_forks=True)
    store.set_pinned([forks[-1].id], pinned=False)
    with pytest.raises(RunNotFound):
        store.delete_runs([other.id, "no such run"])
    assert {run.name for run in store.runs()} >= set(FAMILY), "nothing was deleted so far"

    planned = store.plan_deletion([root.id], with_forks=True)
    assert {run.id for run in planned} == {root.id, *(run.id for run in forks)}
    with pytest.raises(HasForks):
        store.plan_deletion([root.id])
    leaf = store.run("root/fork-2")
    kept = store.state(root.id, root.steps)
    assert [run.id for run in store.delete_runs([leaf.id]).runs] == [leaf.id]
    assert store.state(root.id, root.steps) == kept
    for gone in (leaf.id, leaf.name):
        with pytest.raises(RunNotFound):
            store.run(gone)
    for write in (
        lambda: store.add_note(leaf.id, None, "note", "too late"),
        lambda: store.set_tags(leaf.id, ["late"]),
        lambda: store.set_metadata(leaf.id, {"late": True}),
        lambda: store.rename_run(leaf.id, "late"),
        lambda: store.set_pinned([leaf.id], pinned=True),
        lambda: store.delete_runs([leaf.id]),
    ):
        with pytest.raises(RunNotFound):
            write()
    assert store.verify() == []

    deletion = store.delete_runs([other.id, root.id], with_forks=True)
    assert {run.name for run in deletion.runs} == set(FAMILY) - {"root/fork-2"}
    order = [run.id for run in deletion.runs]
    assert all(order.index(run.parent) < order.index(run.id) for run in deletion.runs if run.parent)
    assert deletion.freed_bytes >= 0
    assert not {run.name for run in store.runs(archived=True)} & set(FAMILY)
    assert store.replays() == []
    assert store.verify() == []
