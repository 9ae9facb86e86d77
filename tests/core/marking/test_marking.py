"""Marks on runs in files that are only read lie in the own store, point to where they belong, and change no file."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tests.core.conformance.keeping import check_marks
from tests.core.conformance.reading import check_source
from tests.core.interop import graphs
from tests.core.interop.support import database_of, digest_of_folder
from tests.core.store.recordings import chat, fork, new_store, step
from tests.core.store.rows import insert, update

from agent_tt import samples, sources
from agent_tt.errors import InvalidEntryPoint, NewerFormat, ReadOnlySource, RunNotFound, StepNotFound, UsageError
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.marking import MarkedSource
from agent_tt.protocols import RunSource, Store
from agent_tt.sources import marks_of, open_source
from agent_tt.store import open_store
from agent_tt.store.reader import StoreReader


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the own store is; nobody has made it yet."""
    path = tmp_path / "own" / "runs.db"
    monkeypatch.setenv("AGENT_TT_STORE", str(path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A real LangGraph database, with branches, alone in its folder."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    return database_of("forks", folder)


def opened(path: Path, *, read_only: bool = False) -> MarkedSource:
    source = open_source(path, read_only=read_only)
    assert isinstance(source, MarkedSource)
    return source


def a_family(folder: Path) -> Path:
    """A store with the runs that the conformance suite wants."""
    store = new_store(folder, "family.db")
    root = chat(store, 4, "root")
    first, writer = fork(store, root, 2, {"n": 9})
    step(writer, {"n": 10})
    writer.finish("succeeded")
    for parent, at in ((first, 3), (root, 4)):
        _, writer = fork(store, parent, at, {"n": 1})
        step(writer, {"n": 2})
        writer.finish("succeeded")
    chat(store, 3, "other")
    store.close()
    return folder / "family.db"


def test_a_read_only_store_takes_every_mark_that_a_store_takes(tmp_path: Path) -> None:
    path = a_family(tmp_path)
    with closing(open_store(path, read_only=True)) as store:
        before = {run.id: run for run in store.runs(archived=True)}
    with closing(opened(path, read_only=True)) as source:
        check_marks(source)
    with closing(open_store(path, read_only=True)) as store:
        assert {run.id: run for run in store.runs(archived=True)} == before
        assert all(store.notes(run) == [] and store.labels(run) == {} for run in before)


def test_marked_sources_are_run_sources_in_every_respect(tmp_path: Path, theirs: Path) -> None:
    for path in (a_family(tmp_path), theirs):
        with closing(opened(path, read_only=True)) as source:
            run = source.runs()[0]
            source.rename_run(run.id, "another name")
            source.name_checkpoint(run.id, 1, "first")
            source.add_note(run.id, 1, "note", "odd")
            check_source(source)
            assert isinstance(source, RunSource)
            assert not isinstance(source, Store)
            assert source.read_only


def test_a_read_only_store_loses_none_of_its_abilities() -> None:
    public = {name for name in vars(RunSource) if not name.startswith("_")}
    knows = {name for name in public if getattr(StoreReader, name) is not getattr(RunSource, name)}
    hands_on = {name for name in public if getattr(MarkedSource, name) is not getattr(RunSource, name)}
    assert knows >= {"call_heads", "damage", "steps_touching", "output"}
    assert knows <= hands_on


def test_reading_makes_no_own_store_and_marks_outlive_the_source(theirs: Path, own: Path) -> None:
    before = digest_of_folder(theirs.parent)
    with closing(opened(theirs)) as source:
        run = source.run("t")
        assert (source.notes("t"), source.labels("t"), source.runs()[0].pinned) == ([], {}, False)
        assert not own.parent.exists()
        version = source.version()
        source.add_note("t", 2, "bookmark", "a")
        assert own.exists()
        assert source.version() != version
        source.set_pinned(["t"], pinned=True)
        source.set_tags("t", ["odd"])
        source.set_metadata("t", {"purpose": "look closer"})
    with closing(opened(theirs)) as again, closing(opened(theirs)) as beside:
        assert [(note.kind, note.step, note.body) for note in again.notes("t")] == [("bookmark", 2, "a")]
        shown = again.run("t")
        assert (shown.pinned, shown.tags) == (True, ("odd",))
        assert shown.metadata == {**run.metadata, "purpose": "look closer"}
        assert beside.run("t") == shown
        again.set_tags("t", [])
        assert beside.run("t").tags == (), "what another process writes is seen"
    assert digest_of_folder(theirs.parent) == before
    with closing(open_store(own)) as store:
        assert store.runs(archived=True) == []
        assert store.verify() == []
        rows = store.database.query("SELECT DISTINCT file, run, checkpoint IS NOT NULL FROM foreign_marks")
        assert rows == [(os.path.realpath(theirs), "t", 1)]


def test_marks_stay_with_their_branch_and_checkpoint_when_ids_and_numbers_move(tmp_path: Path) -> None:
    path = tmp_path / "grows.db"
    with graphs.saver(path) as checkpointer:
        graph = graphs.chain("one", "two").compile(checkpointer=checkpointer)
        graph.invoke({"log": ["in"]}, graphs.thread())
        with closing(opened(path)) as source:
            last = source.run("t").steps
            source.rename_run("t", "the first try")
            source.add_note("t", 1, "note", "the same in both")
            source.add_note("t", last, "note", "only there")
            source.add_note("t", 0, "note", "the input")
            at_two = next(s for s in graph.get_state_history(graphs.thread()) if s.next == ("two",))
            graph.update_state(at_two.config, {"log": ["edited"]}, as_node="two")
            first = source.run("the first try")
            assert first.id != "t"
            assert source.run("t").name == "t"
            said = [(note.step, note.body) for note in source.notes(first.id)]
            assert said == [(1, "the same in both"), (last, "only there"), (0, "the input")]
            assert [note.body for note in source.notes("t")] == ["the same in both"]


def test_every_row_of_every_graph_takes_a_note_that_is_found_again(tmp_path: Path) -> None:
    for name in ("react", "nested_interrupted", "fails", "functional_interrupted", "saved_at_exit"):
        with closing(opened(database_of(name, tmp_path))) as source:
            for run in source.runs():
                for number in range(run.steps + 1):
                    source.add_note(run.id, number, "note", f"{run.id} {number}")
                found = {note.body: note.step for note in source.notes(run.id)}
                assert {f"{run.id} {n}": n for n in range(run.steps + 1)}.items() <= found.items(), name


def test_names_and_steps_that_mean_something_else_are_refused(theirs: Path, own: Path) -> None:
    with closing(opened(theirs)) as source:
        other = next(run.id for run in source.runs() if run.id != "t")
        for name in (other, "latest", "a~1", "a@2", " ", "x\ny"):
            with pytest.raises(UsageError):
                source.rename_run("t", name)
        with pytest.raises(StepNotFound):
            source.add_note("t", source.run("t").steps + 1, "note", "nowhere")
        with pytest.raises(RunNotFound):
            source.set_tags("no such run", ["x"])
        assert not own.exists(), "what is refused makes no store"
        source.rename_run("t", "try")
        assert source.run("try").id == source.run("t").id == "t"
        assert source.run("try~1") == source.run("t~1")
        source.set_archived([source.run("latest").id], archived=True)
        assert source.run("latest") == source.runs()[0]
        assert source.runs(limit=1) == source.runs()[:1]


def test_what_the_file_says_itself_shows_beside_and_below_the_marks(tmp_path: Path) -> None:
    path = a_family(tmp_path)
    with closing(open_store(path)) as store:
        run = store.run("other").id
        theirs = store.add_note(run, 1, "note", "from the file")
        store.set_metadata(run, {"a": 1, "b": 2})
        store.set_metadata(run, {"c": 3}, step=1)
        store.name_checkpoint(run, 1, "named there")
        store.set_pinned([run], pinned=True)
    with closing(opened(path, read_only=True)) as source:
        ours = source.add_note(run, 1, "note", "from here")
        assert source.notes(run) == [theirs, ours]
        assert theirs.id != ours.id
        with pytest.raises(ReadOnlySource, match="lies in"):
            source.delete_note(theirs.id)
        source.delete_note(ours.id)
        assert source.notes(run) == [theirs]
        source.set_metadata(run, {"a": 5, "d": 4}, remove=["b"])
        assert source.run(run).metadata == {"a": 5, "d": 4}
        source.set_metadata(run, {"b": 6})
        assert source.run(run).metadata == {"a": 5, "b": 6, "d": 4}
        source.name_checkpoint(run, 1, None)
        assert source.labels(run)[1].name is None
        assert source.labels(run)[1].metadata == {"c": 3}
        source.set_pinned([run], pinned=False)
        assert not source.run(run).pinned
        assert source.capabilities.records
        assert source.sweeps() == []


def test_deleting_and_forking_stay_refused(theirs: Path, tmp_path: Path) -> None:
    for path in (theirs, a_family(tmp_path)):
        with closing(opened(path, read_only=True)) as source:
            assert marks_of(source) is source
            assert not isinstance(source, Store)
    with closing(opened(theirs)) as source, pytest.raises(InvalidEntryPoint, match="names no code that could be run"):
        plan_fork(source, "t", ForkRequest(1))


def test_a_write_protected_store_is_only_read_and_takes_marks(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = a_family(tmp_path)
    real = os.access
    # Whoever runs the tests may have the right to write everything.
    monkeypatch.setattr(sources.os, "access", lambda at, how: real(at, how) and Path(at) != path)
    with closing(opened(path)) as source:
        source.add_note(source.run("other").id, None, "note", "odd")
        assert own.exists()


def test_a_file_is_never_its_own_store(theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of_folder(theirs.parent)
    monkeypatch.setenv("AGENT_TT_STORE", str(theirs))
    (tmp_path / ".agent-tt").mkdir()
    with closing(opened(theirs)) as source:
        source.set_tags("t", ["odd"])
        assert source.run("t").tags == ("odd",)
    assert (tmp_path / ".agent-tt" / "runs.db").exists()
    assert digest_of_folder(theirs.parent) == before


def test_an_own_store_that_cannot_be_read_is_no_hindrance(theirs: Path, own: Path) -> None:
    samples.ensure("refund-loop", own)
    with closing(opened(theirs)) as source:
        assert source.notes("t") == []
        source.set_tags("t", ["odd"])
        assert source.run("t").tags == ("odd",)
    with closing(open_store(own)) as store, store.database.transaction() as tx:
        tx.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    with closing(opened(theirs)) as source:
        assert source.run("t").tags == ()
        with pytest.raises(NewerFormat):
            source.set_tags("t", ["odder"])


def test_what_somebody_else_put_into_the_table_is_only_data(theirs: Path, own: Path) -> None:
    with closing(opened(theirs)) as source:
        source.set_tags("t", ["odd"])
        source.name_checkpoint("t", 1, "first")
    with closing(open_store(own)) as store, store.database.transaction() as tx:
        body = '{"name":7,"tags":"x","metadata":[1],"former_names":{},"pinned":"yes","removed":3}'
        update(tx, "foreign_marks", body=body)
        ((file, run, checkpoint),) = tx.query("SELECT file, run, checkpoint FROM foreign_marks LIMIT 1")
        place = {"file": file, "run": run, "checkpoint": checkpoint, "step": "x", "created_us": "then"}
        for kind, body in (("note", "5"), ("elsewhat", "x"), ("run", b"\xff"), ("label", "[]")):
            insert(tx, "foreign_marks", **place, kind=kind, body=body)
    with closing(opened(theirs)) as source:
        assert source.run("t").name == "t"
        assert (source.run("t").tags, source.run("t").pinned) == ((), False)
        assert [note.body for note in source.notes("t")] == ["5"]
        assert source.labels("t") == {}
        source.set_tags("t", ["even so"])
        assert source.run("t").tags == ("even so",)


def test_a_copy_of_the_file_elsewhere_is_another_file(theirs: Path, tmp_path: Path) -> None:
    with closing(opened(theirs)) as source:
        source.set_tags("t", ["odd"])
    link, copied = tmp_path / "link.db", tmp_path / "copy.db"
    link.symlink_to(theirs)
    shutil.copy(theirs, copied)
    with closing(opened(link)) as source, closing(opened(copied)) as copy:
        assert source.run("t").tags == ("odd",)
        assert copy.run("t").tags == ()


def test_an_own_store_that_cannot_be_made_is_named(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("not a folder")
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "a file" / "runs.db"))
    with closing(opened(theirs)) as source:
        assert source.notes("t") == []
        with pytest.raises(ReadOnlySource, match="no store can be made at"):
            source.set_tags("t", ["odd"])
