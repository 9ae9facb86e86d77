"""Runs in a bundle are the same runs elsewhere, without secrets, and nothing of it runs unasked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.conformance.reading import check_source
from tests.core.golden.desk import AGENT
from tests.core.store.recordings import begin, call, chat, fork, new_store, step
from tests.core.strategies import values
from tests.fresh_source import write_source
from tests.tui.graph_thread import desk_thread

from agent_tt.codec.encode import encode
from agent_tt.errors import ReadOnlySource, Untrusted, UsageError
from agent_tt.exporting.agent_code import changed_since
from agent_tt.exporting.bundle import Bundle
from agent_tt.exporting.export import Exported
from agent_tt.exporting.redacted import RedactedRuns
from agent_tt.golden.run_rules import Ends
from agent_tt.golden.saving import save_golden
from agent_tt.interop.bundle.source import BundleSource, import_bundle, unpack_project
from agent_tt.model import AgentCode, NewRun, NewStep
from agent_tt.model.kinds import LANGGRAPH_KEY
from agent_tt.protocols import MarkedRuns
from agent_tt.rerunning.replay import run_replay
from agent_tt.sources import open_source
from agent_tt.store import open_store
from agent_tt.store.file.provenance import is_made_here

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunSource
    from agent_tt.store import SqliteStore

KEY = "sk-proj-Abc123Def456Ghi789"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def bundled(source: RunSource, folder: Path, *runs: str, name: str = "x.att", **asked: object) -> Path:
    path = folder / name
    Bundle(**asked).write(Exported(source, tuple(source.run(run) for run in runs)), path)  # type: ignore[arg-type]
    return path


def told(source: RunSource, run_id: str) -> object:
    """All that a run says, but for where its code lies and who recorded it."""
    run = source.run(run_id)
    steps = range(source.step_count(run_id) + 1)
    return (
        replace(run, code=replace(run.code, root=None, cwd=None, interpreter=None)),
        source.steps(run_id),
        [source.calls(run_id, number) for number in steps],
        [source.state(run_id, number) for number in steps],
        [source.changes(run_id, number) for number in steps],
        [source.digest(run_id, number) for number in steps],
        [(note.kind, note.step, note.body, note.created_us) for note in source.notes(run_id)],
        source.labels(run_id),
        source.output(run_id),
    )


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(values, values, st.text(max_size=20)), min_size=1, max_size=4))
def test_a_run_in_a_bundle_is_the_run(tmp_path_factory: pytest.TempPathFactory, parts: list[tuple]) -> None:
    folder = tmp_path_factory.mktemp("law")
    with closing(new_store(folder)) as store:
        writer = begin(store, {"n": 0}, tags=("a",), metadata={"ticket": "T-1"})
        for state, answer, words in parts:
            number = writer.open_step(NewStep("s"))
            call(writer, number, encode({"q": words}), encode(answer))
            step(writer, {"v": state, "words": words})
        writer.finish("succeeded")
        store.add_note(writer.run_id, 1, "note", "look")
        with closing(open_source(bundled(store, folder, writer.run_id))) as opened:
            assert told(opened, writer.run_id) == told(store, writer.run_id)
            assert opened.verify() == []


def family(store: SqliteStore) -> tuple[str, str, str, str]:
    """A run, a fork of it, a fork of that, and another run that has nothing to do with them."""
    root = chat(store, 6)
    first, writer = fork(store, root, 3, {"n": "edited"})
    step(writer, {"n": "first"})
    writer.finish("succeeded")
    second, writer = fork(store, first, 4, {"n": "again"})
    step(writer, {"n": "second"})
    writer.finish("failed")
    return root, first, second, chat(store, 2, "other")


def test_a_bundle_has_the_forks_of_a_run_and_what_it_was_forked_from_and_no_other(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        root, first, second, _ = family(store)
        store.add_note(second, 5, "note", "look")
        store.rename_run(root, "desk")
        with closing(open_source(bundled(store, tmp_path, first))) as opened:
            assert {run.id for run in opened.runs()} == {root, first, second}
            for run_id in (root, first, second):
                assert told(opened, run_id) == told(store, run_id)
            assert opened.run("desk").id == root
            assert opened.read_only
            check_source(opened)


def test_a_bundle_of_a_bundle_is_the_same_again(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        root, *_ = family(store)
        path = bundled(store, tmp_path, root)
        with (
            closing(BundleSource(path)) as once,
            closing(BundleSource(bundled(once, tmp_path, root, name="y.att"))) as twice,
        ):
            assert told(twice, root) == told(store, root)


def test_secrets_are_not_in_a_bundle_nor_who_made_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(new_store(tmp_path)) as store:
        monkeypatch.setattr("agent_tt.redaction.values.redact", lambda value, *_: value)
        monkeypatch.setattr("agent_tt.redaction.values.given", lambda value: value)
        monkeypatch.setattr("agent_tt.redaction.texts.redact_text", lambda text: text)
        writer = begin(store, {"n": 0, "key": KEY})  # as what nothing redacted: LangGraph's checkpointer, an older one
        number = writer.open_step(NewStep(f"use {KEY}"))
        call(writer, number, {"key": KEY}, {"password": "hunter2-secret"})
        step(writer, {"n": 1, "key": KEY})
        writer.finish("succeeded")
        store.add_note(writer.run_id, 1, "note", KEY)
        assert KEY in repr(told(store, writer.run_id))
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        with closing(BundleSource(bundled(store, tmp_path, writer.run_id))) as opened:
            assert KEY not in repr(told(opened, writer.run_id))
            assert "hunter2-secret" not in repr(told(opened, writer.run_id))
            raw = opened.database.path.read_bytes()
            assert KEY.encode() not in raw
            assert b"hunter2-secret" not in raw
            assert is_made_here(store.path)
            assert not is_made_here(opened.database.path)
            assert opened.state(writer.run_id, 2)["n"] == 1


def test_a_run_that_goes_on_is_refused(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {})
        with pytest.raises(UsageError, match="still runs"):
            bundled(store, tmp_path, writer.run_id)
    assert not (tmp_path / "x.att").exists()


def test_a_run_of_a_file_of_another_system_is_bundled_with_what_was_written_about_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own.db"))
    key = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5mN7pQ9sT1vX3"
    file = tmp_path / "talk.json"
    turns = [{"role": "user", "content": f"Hello {key}"}, {"role": "assistant", "content": "Hi."}]
    file.write_text(json.dumps({"messages": turns}))
    with closing(open_source(file)) as source:
        assert isinstance(source, MarkedRuns)
        source.add_note("talk", 1, "note", "look here")
        source.set_tags("talk", ["odd"])
        source.name_checkpoint("talk", 1, "greeted")
        path = bundled(RedactedRuns(source), tmp_path, "talk")
        steps = [(step.name, step.status) for step in source.steps("talk")]

    file.unlink()
    (tmp_path / "own.db").unlink()
    with closing(open_source(path)) as opened:
        (run,) = opened.runs()
        assert (run.name, run.tags) == ("talk", ("odd",))
        assert [(step.name, step.status) for step in opened.steps(run.id)] == steps
        assert [(note.step, note.body) for note in opened.notes(run.id)] == [(1, "look here")]
        assert opened.labels(run.id)[1].name == "greeted"
        assert run.origin["file"] == "talk.json"
        assert not opened.verify(run.id)
        assert b"Hello" in str(opened.state(run.id, 1)).encode()
    with zipfile.ZipFile(path) as archive:
        held = b"".join(map(archive.read, archive.namelist()))
    assert key.encode() not in held
    assert str(tmp_path).encode() not in held


def test_an_imported_run_names_no_code_and_is_taken_in_once(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        code = AgentCode(entry="os:system", root="/", interpreter="/tmp/evil", restore="state")
        facts = {"script": "/tmp/evil.py", "effects": {"pay": "read"}, "python_options": ["-c", "evil"]}
        writer = store.begin_run(NewRun("evil", code=code, metadata={**facts, "kept": 1}), "rm")
        writer.finish("succeeded")
        path = bundled(store, tmp_path, writer.run_id)
    target = tmp_path / "mine.db"
    with closing(BundleSource(path)) as source:
        assert import_bundle(source, target) == {writer.run_id: writer.run_id}
        assert import_bundle(source, target) == {}
    with closing(open_store(target)) as mine:
        run = mine.run("evil")
        assert run.code == AgentCode()
        assert run.metadata == {"kept": 1}
        assert run.origin == {"file": str(path)}
        assert is_made_here(target)
        assert mine.verify() == []


def recorded(folder: Path) -> Path:
    """A project whose agent imports a package of it and reads a file, with other files; gives the store of its run."""
    (folder / "helpers").mkdir(parents=True)
    (folder / "helpers/__init__.py").write_text("from . import words\n")
    (folder / "helpers/words.py").write_text("HELLO = 'hello'\n")
    (folder / "unused.py").write_text("1 / 0\n")
    (folder / "prompt.txt").write_text("be kind\n")
    (folder / ".hidden").mkdir()
    (folder / ".hidden/secret.py").write_text("")
    imports = "import pathlib\nfrom helpers.words import HELLO\nassert pathlib.Path('prompt.txt').exists()\n"
    write_source(folder / "agent.py", f"{imports}{AGENT}")
    store = folder / "runs.db"
    environment = {**os.environ, "AGENT_TT_STORE": str(store)}
    subprocess.run([sys.executable, "agent.py"], cwd=folder, env=environment, check=True)
    return store


@pytest.mark.warm
def test_code_in_a_bundle_replays_as_recorded_elsewhere_once_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    with closing(open_store(recorded(project))) as store:
        save_golden(store, store.run("desk"), project / "tests/agents", "kept", [Ends()])
        assert changed_since(store.run("desk")) == []
        path = bundled(store, tmp_path, "desk", with_code=True, more=["*.txt"])
    shutil.rmtree(project)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("HOME", str(elsewhere))
    with closing(BundleSource(path)) as source:
        names = {member.name for member in source.container.manifest.members}
        assert names == {
            *("runs.db", "requirements.txt", "code/agent.py", "code/prompt.txt", "code/helpers/__init__.py"),
            *("code/helpers/words.py", "goldens/kept.toml", "goldens/kept.recording.zst"),
        }
        run = source.run("desk")
        assert str(project) not in repr((run.code, run.metadata))
        with pytest.raises(ReadOnlySource, match="asked each time"):
            run_replay(source, run)
        unpacked = unpack_project(source, run, elsewhere)
        assert unpacked.differing() == []
    with closing(open_store(unpacked.store)) as store:
        report = run_replay(store, store.run(unpacked.run_id))
    assert report.verdict == "as_recorded", report.output
    assert (report.served, report.state_compared) == (2, True)


@pytest.mark.warm
def test_code_that_cannot_be_handed_on_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    with closing(open_store(recorded(project))) as store:
        with pytest.raises(UsageError, match=r"no file .* fits 'nothing/\*'"):
            bundled(store, tmp_path, "desk", with_code=True, more=["nothing/*"])
        for pattern in ("/etc/hosts", "../*", ".hidden/*"):
            with pytest.raises(UsageError):
                bundled(store, tmp_path, "desk", with_code=True, more=[pattern])
        (project / "helpers/words.py").write_text(f"HELLO = 'hello'\nKEY = '{KEY}'\n")
        with pytest.raises(UsageError, match=r"words\.py, line 2 holds what looks like a secret"):
            bundled(store, tmp_path, "desk", with_code=True)
        (project / "helpers/words.py").unlink()
        (project / "helpers/words.py").symlink_to("/etc/hosts")
        with closing(BundleSource(bundled(store, tmp_path, "desk", with_code=True))) as source:
            assert [member.name for member in source.code_members] == ["code/agent.py", "code/helpers/__init__.py"]
        (project / "agent.py").write_text((project / "agent.py").read_text() + "\n")
        (told_of_it,) = changed_since(store.run("desk"))
        assert "agent.py was changed since desk was recorded" in told_of_it
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr("agent_tt.exporting.agent_code.is_made_here", lambda _: False)
            with pytest.raises(Untrusted, match="which of your files"):
                bundled(store, tmp_path, "desk", with_code=True)
        (project / "agent.py").unlink()
        with pytest.raises(UsageError, match="there is no"):
            bundled(store, tmp_path, "desk", with_code=True)
        path = bundled(store, tmp_path, "desk", name="y.att")
    with closing(BundleSource(path)) as source, pytest.raises(UsageError, match="no code"):
        unpack_project(source, source.run("desk"), tmp_path)


def test_a_thread_of_langgraph_is_bundled_and_names_where_it_is_from(tmp_path: Path) -> None:
    with closing(open_source(desk_thread(tmp_path))) as source:
        run = source.run("desk")
        path = bundled(RedactedRuns(source), tmp_path, "desk")
        states = [source.state("desk", step) for step in range(1, run.steps + 1)]
    with closing(open_source(path)) as opened:
        (copy,) = opened.runs()
        assert copy.metadata["origin"] == "LangGraph, checkpoints.db"
        kept: list[Any] = [opened.state(copy.id, step) for step in range(1, copy.steps + 1)]
        assert [{key: value for key, value in each.items() if key != LANGGRAPH_KEY} for each in kept] == states
        assert not opened.verify(copy.id)
