"""Runs are copied from a file to a server and back, with all that people wrote down: nothing of them is another's.

`AGENT_TT_COPIED_RUNS=1000` makes that many of them, as `make copies` does.
"""

from __future__ import annotations

import itertools
import os
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.conformance.reading import check_source
from tests.core.store import test_keeping
from tests.core.store.recordings import begin, call, fork, step

from agent_tt.addresses import Address
from agent_tt.codec.encode import encode
from agent_tt.errors import IsRunning, Untrusted, UsageError
from agent_tt.golden.evidence import Evidence
from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.proposing import propose
from agent_tt.golden.recording_file import open_recording
from agent_tt.golden.saving import save_golden
from agent_tt.model import NewStep, StepEnd
from agent_tt.store import SqliteStore, open_store
from agent_tt.store.copying import copy_between
from agent_tt.store.file.provenance import check_made_here

if TYPE_CHECKING:
    from tests.postgres_server import TestDatabase

    from agent_tt.codec.wire import Wire
    from agent_tt.golden.golden_file import KeptRule

TEXTS = st.text(max_size=12)
STATES = st.dictionaries(
    TEXTS, st.none() | st.integers() | st.floats() | TEXTS | st.lists(TEXTS, max_size=4), max_size=4
).map(encode)
"""As recorders keep them: what JSON does not hold, as `inf` and large whole numbers, is in envelopes."""
LARGE = "large " * 2000
RUNS = int(os.environ.get("AGENT_TT_COPIED_RUNS", "10"))


def everything(store: SqliteStore) -> dict[str, Any]:
    """All that a store tells of its runs, by their names."""
    runs = store.runs(archived=True)
    names = {run.id: run.name for run in runs}
    return {
        run.name: (
            (run.status, run.steps, run.pinned, run.archived, run.tags, dict(run.metadata), run.fork_step),
            names.get(run.parent or ""),
            [(note.step, note.kind, note.body) for note in store.notes(run.id)],
            {number: (label.name, label.metadata) for number, label in store.labels(run.id).items()},
            [store.digest(run.id, number) for number in range(run.steps + 1)],
            [store.state(run.id, number) for number in range(run.steps + 1)],
            [each for number in range(1, run.steps + 1) for each in store.calls(run.id, number)],
            [(each.verdict, each.message) for each in store.replays(run.id)],
        )
        for run in runs
    }


def with_marks(store: SqliteStore) -> None:
    ids = test_keeping.family(store)
    test_keeping.with_blobs(store, "large", LARGE, LARGE + "!")
    store.add_note(ids["root"], 1, "note", "odd \0 and \U0010fffd0")
    store.set_tags(ids["root"], ["slow", "demo"])
    store.name_checkpoint(ids["other"], 1, "before it went wrong")
    store.set_metadata(ids["other"], {"ticket": "OPS-7"}, step=1)
    store.set_pinned([ids["root/fork-2"]], pinned=True)
    store.set_archived([ids["other"]], archived=True)
    with_forks(store, RUNS - len(ids) - 1)


def with_forks(store: SqliteStore, count: int) -> None:
    """So many runs with notes, two in three forks of the one before."""
    parent = ""
    for number in range(count):
        if number % 3 and parent:
            _, writer = fork(store, parent, 1, {"n": number, "edited": True}, f"many {number}")
        else:
            writer = begin(store, {"n": number}, f"many {number}")
        for n in range(2):
            step(writer, {"n": n, "of": number})
        writer.finish("succeeded")
        parent = writer.run_id
        store.add_note(parent, 1, "note", f"about {number}")


def golden_of(store: SqliteStore, run_id: str, folder: Path) -> tuple[tuple[KeptRule, ...], dict[str, Any]]:
    """The rules and the recording of a run that is kept as a golden."""
    golden = save_golden(store, store.run(run_id), folder, "kept", propose(Evidence(store, store.run(run_id))))
    with open_recording(read_golden(golden.path)) as recorded:
        return golden.rules, everything(recorded)


def test_a_copy_to_a_server_and_back_is_what_it_was(postgres: TestDatabase, tmp_path: Path) -> None:
    here, back = tmp_path / "here.db", tmp_path / "back.db"
    with closing(open_store(here, create=True, durability="normal")) as store:
        with_marks(store)
        before = everything(store)
        ids = {run.id for run in store.runs(archived=True)}
        assert len(ids) == RUNS
        fork_id = store.run("root/fork-1").id
        golden = golden_of(store, fork_id, tmp_path / "here")
    there = copy_between(here, postgres.address)
    assert there.copies == {each: each for each in ids}
    assert not there.problems
    with closing(open_store(postgres.address)) as store:
        assert everything(store) == before
        check_source(store)
        assert store.verify() == []
    again = copy_between(here, postgres.address)
    assert (again.copies, set(again.there)) == ({}, ids)
    assert copy_between(postgres.address, back).copies == {each: each for each in ids}
    with closing(open_store(back)) as store:
        assert everything(store) == before
        assert golden_of(store, fork_id, tmp_path / "back") == golden
        assert store.verify() == []


def test_of_a_fork_what_it_was_forked_from_goes_along(postgres: TestDatabase, tmp_path: Path) -> None:
    here = tmp_path / "here.db"
    with closing(open_store(here, create=True, durability="normal")) as store:
        ids = test_keeping.family(store)
    done = copy_between(here, postgres.address, ["root/fork-1/fork-1"])
    assert set(done.copies) == {ids[name] for name in ("root", "root/fork-1", "root/fork-1/fork-1")}
    with closing(open_store(postgres.address)) as store:
        assert store.run("root/fork-1/fork-1").parent == ids["root/fork-1"]


def test_a_run_that_somebody_else_recorded_arrives_without_its_program(postgres: TestDatabase, tmp_path: Path) -> None:
    with closing(open_store(postgres.address, create=True)) as store:
        ours = test_keeping.with_blobs(store, "ours", LARGE)
        theirs = test_keeping.with_blobs(store, "theirs", LARGE)
        check_made_here(postgres.address, store.run(theirs))
        postgres.execute(f"UPDATE agent_tt.stamps SET stamp = '\\x00' FROM agent_tt.runs r WHERE r.id = '{theirs}'"
                         " AND stamps.run = r.run")  # fmt: skip
        with pytest.raises(Untrusted):
            check_made_here(postgres.address, store.run(theirs))
        check_made_here(postgres.address, store.run(ours))
    done = copy_between(postgres.address, tmp_path / "here.db")
    assert done.foreign == [theirs]
    with closing(open_store(tmp_path / "here.db")) as store:
        assert store.run(theirs).code.entry is None
        assert store.run(ours).code.entry is not None


def test_what_still_runs_is_not_copied(postgres: TestDatabase, tmp_path: Path) -> None:
    with closing(open_store(postgres.address, create=True)) as store:
        running = begin(store, {}, "running")
        with pytest.raises(IsRunning):
            copy_between(postgres.address, tmp_path / "here.db", [running.run_id])
        assert copy_between(postgres.address, tmp_path / "here.db").left == ["running"]
        running.finish("succeeded")
    with pytest.raises(UsageError, match="both"):
        copy_between(postgres.address, postgres.address)


@st.composite
def recordings(draw: st.DrawFn) -> list[tuple[str, list[Wire], int | None, list[str]]]:
    """Runs: a name, the states of their steps, the step at which they are forked from the one before, and notes."""
    count = draw(st.integers(1, 3))
    return [
        (
            f"run {number} {draw(TEXTS)}".replace("\n", " ").strip(),
            draw(st.lists(STATES, min_size=1, max_size=4)),
            draw(st.none() | st.integers(0, 1)) if number else None,
            draw(st.lists(TEXTS, max_size=2)),
        )
        for number in range(count)
    ]


_COUNT = itertools.count()


@given(recordings())
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_is_recorded_on_a_server_is_read_and_copied_as_from_a_file(
    postgres_server: str, made: list[tuple[str, list[Wire], int | None, list[str]]]
) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        name = f"law{next(_COUNT)}"
        connection = stack.enter_context(psycopg.connect(f"{postgres_server}/postgres", autocommit=True))
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        stack.callback(connection.execute, f"DROP DATABASE {name} WITH (FORCE)")
        address = Address.of(f"{postgres_server}/{name}")
        told = []
        for path in (folder / "here.db", address):
            with closing(open_store(path, create=True, durability="normal")) as store:
                parent = ""
                for run_name, states, at, notes in made:
                    if at is None or not parent:
                        writer = begin(store, {"n": 0}, run_name)
                    else:
                        _, writer = fork(store, parent, at, {"edited": True}, run_name)
                    for state in states:
                        number = writer.open_step(NewStep("s"))
                        call(writer, number, {"asked": state}, state, name="a\0b")
                        writer.close_step(number, StepEnd("ok", tokens_in=1), state)
                    step(writer, states[0])
                    writer.finish("succeeded")
                    parent = writer.run_id
                    for note in notes:
                        store.add_note(parent, None, "note", note)
                assert store.verify() == []
                told.append(everything(store))
        for of_file, of_server in zip(told[0].values(), told[1].values(), strict=True):
            assert of_file[4:6] == of_server[4:6], "digests and states are the same in both"
        copy_between(address, folder / "back.db")
        with closing(open_store(folder / "back.db")) as store:
            assert everything(store) == told[1]
