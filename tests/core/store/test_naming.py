"""How runs are named and found, and where the store is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.store.recordings import begin, chat, fork, new_store
from tests.core.store.rows import update

from agent_tt import config
from agent_tt.errors import RunNotFound, UsageError
from agent_tt.store import project_root, resolve_store_path
from agent_tt.store.file import locate
from agent_tt.store.rows import ids


def test_ids_are_twelve_characters_that_begin_with_a_letter():
    drawn = {ids.new_run_id() for _ in range(2000)}
    assert len(drawn) == 2000
    assert all(len(run_id) == 12 and run_id[0].isalpha() and run_id == ids.normalise(run_id) for run_id in drawn)


@given(st.text())
def test_normalising_twice_is_normalising_once(text):
    assert ids.normalise(ids.normalise(text)) == ids.normalise(text)


def test_typed_ids_may_be_sloppy():
    assert ids.normalise(" FYTO1Lkm ") == "fyt011km"


def test_a_run_is_found_by_id_name_word_age_and_prefix(tmp_path):
    store = new_store(tmp_path)
    oldest, middle, newest = (chat(store, 1) for _ in range(3))
    other = chat(store, 1, "other")
    fork_id, _ = fork(store, middle, 1, {"n": 5})
    assert store.run(oldest).id == oldest
    assert store.run(oldest.upper()).id == oldest
    assert store.run("chat").id == newest
    assert store.run("chat~1").id == middle
    assert store.run("chat~2").id == oldest
    assert store.run("chat/fork-1").id == fork_id
    assert store.run("latest").id == fork_id
    assert store.run("latest~1").id == other
    assert store.run(other[:10]).id == other
    for absent in ("chat~3", "chatt", "", "zzzz", "%", "chat~", "latest~99"):
        with pytest.raises(RunNotFound) as caught:
            store.run(absent)
        assert caught.value.hint
    with pytest.raises(RunNotFound, match="chatt") as caught:
        store.run("chatt")
    assert "chat" in caught.value.nearest


def test_a_beginning_that_fits_several_runs_lists_them(tmp_path):
    store = new_store(tmp_path)
    first, second = chat(store, 1), chat(store, 1)
    with store.database.transaction() as tx:
        update(tx, "runs", "id = ?", (first,), id="abcd00000001")
        update(tx, "runs", "id = ?", (second,), id="abcd00000002")
    with pytest.raises(RunNotFound, match="several") as caught:
        store.run("abcd")
    assert caught.value.nearest == ("abcd00000001", "abcd00000002")
    assert store.run("abcd00000002").id == "abcd00000002"


def test_a_whole_id_wins_over_words_and_names(tmp_path):
    store = new_store(tmp_path)
    run_id = chat(store, 1)
    chat(store, 1, run_id)
    assert store.run(run_id).id == run_id


def test_an_empty_store_says_that_it_is_empty(tmp_path):
    with pytest.raises(RunNotFound, match="empty"):
        new_store(tmp_path).run("latest")


def test_counting_back_too_far_says_how_many_runs_there_are(tmp_path):
    store = new_store(tmp_path)
    for _ in range(3):
        chat(store, 1, "demo")
    for ref in ("demo~3", "latest~3"):
        with pytest.raises(RunNotFound, match="only 3") as caught:
            store.run(ref)
        assert f"{ref[:-2]}~2" in caught.value.hint
    with pytest.raises(RunNotFound, match="no run 'other~1'"):
        store.run("other~1")


def test_names_with_wildcards_and_surrogates_are_only_names(tmp_path):
    store = new_store(tmp_path)
    for name in ("100%", "a_b", "'; DROP TABLE runs --", "läuft ✓", "\ud800"):
        writer = begin(store, {}, name)
        assert store.run(writer.run_id).id == writer.run_id
    assert store.run("a_b").name == "a_b"
    with pytest.raises(RunNotFound):
        store.run("aXb")


def test_the_store_is_named_or_in_the_environment_or_in_the_project(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "user_file", lambda: tmp_path / "user" / "config.toml")
    monkeypatch.setattr(locate, "_user_data", lambda: tmp_path / "data")
    project = tmp_path / "project"
    inner = project / "src" / "deep"
    inner.mkdir(parents=True)

    def resolved(explicit: str | None = None, **environ: str) -> Path:
        return resolve_store_path(explicit, start=inner, environ=environ)

    assert resolved("x.db", AGENT_TT_STORE="/y.db") == inner / "x.db"
    assert resolved(AGENT_TT_STORE="/y.db") == Path("/y.db")
    assert resolved() == tmp_path / "data" / "runs.db"
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "config.toml").write_text('store = "mine.db"\n')
    assert resolved() == tmp_path / "user" / "mine.db"
    (project / ".git").mkdir()
    assert resolved() == project / ".agent-tt" / "runs.db"
    (project / "src" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert project_root(inner) == project / "src"
    (project / "src" / "pyproject.toml").write_text('[tool.agent-tt]\nstore = "runs/agents.db"\n')
    assert resolved() == project / "src" / "runs" / "agents.db"
    (project / ".agent-tt").mkdir()
    assert resolved() == project / ".agent-tt" / "runs.db"
    assert sorted(path.name for path in project.rglob("*.db")) == []


def test_settings_that_make_no_sense_are_errors(tmp_path):
    for text in ("store = 3", 'store = ""', 'stor = "runs.db"', "not toml ["):
        (tmp_path / "pyproject.toml").write_text(f"[tool.agent-tt]\n{text}\n")
        with pytest.raises(UsageError, match=r"pyproject\.toml"):
            resolve_store_path(start=tmp_path, environ={})


def test_recording_makes_a_folder_that_keeps_itself_out_of_git(tmp_path):
    store = new_store(tmp_path / ".agent-tt")
    assert (tmp_path / ".agent-tt" / ".gitignore").read_text() == "*\n"
    store.close()
    new_store(tmp_path / "elsewhere").close()
    assert not (tmp_path / "elsewhere" / ".gitignore").exists()
