"""The commands that keep order among runs: tree, rename, note, tag, meta, pin, archive, delete."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest
from tests.core.interop.support import database_of, digest_of_folder
from tests.core.store.recordings import chat, fork, new_store, step
from tests.core.store.rows import update
from tests.tui.cli.conftest import HOSTILE

from agent_tt.model import AgentCode, Edit, ErrorInfo, NewFork, NewRun
from agent_tt.store import open_store
from agent_tt_tui.text import width

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command, Finished


@pytest.fixture
def ours(command: Command, tmp_path: Path) -> Command:
    """Run a command line on a store of a run, two forks of it, a fork of a fork, and another run."""
    store = new_store(tmp_path, "ours.db")
    root = chat(store, 4, "root")
    edits = (Edit("set", "n", 9, 2), Edit("set", "messages[0].content", "hello", "message 1"))
    first = store.begin_fork(NewFork(root, 2, state={"n": 9}, new=NewRun(""), edits=edits, policy={"send": "deny"}))
    writer = store.adopt_run(first, NewRun("demo"), {"n": 9})
    step(writer, {"n": 10})
    writer.finish("failed", ErrorInfo("builtins:ValueError", "told to"))
    for parent, at in ((first, 3), (root, 4)):
        _, writer = fork(store, parent, at, {"n": 1})
        step(writer, {"n": 2})
        writer.finish("succeeded")
    chat(store, 1, "other")
    store.close()

    def call(*arguments: str) -> Finished:
        return command(*arguments, "--store", str(tmp_path / "ours.db"))

    return call


def names(done: Finished) -> list[str]:
    return [run["name"] for run in done.json]


def test_the_tree_nests_forks_in_what_they_were_forked_from(ours: Command) -> None:
    other, root = ours("tree", "--json").json
    assert (other["name"], other["forks"]) == ("other", [])
    first, second = root["forks"]
    assert (first["name"], second["name"]) == ("root/fork-1", "root/fork-2")
    assert first["fork_step"] == 2
    assert first["policy"] == {"send": "deny"}
    assert first["way_back_in"] == "restore"
    assert [(edit["path"], edit["value"]) for edit in first["edits"]] == [("n", 9), ("messages[0].content", "hello")]
    assert [run["name"] for run in first["forks"]] == ["root/fork-1/fork-1"]
    listed = {run["name"]: run for run in ours("runs", "--json").json}
    assert {name: value for name, value in first.items() if name != "forks"} == listed["root/fork-1"]


def test_the_tree_of_any_run_is_the_whole_one_that_it_stands_in(ours: Command) -> None:
    for run in ("root", "root/fork-2", "root/fork-1/fork-1"):
        (root,) = ours("tree", run, "--json").json
        assert root["name"] == "root"
        assert len(root["forks"]) == 2
    assert names(ours("tree", "other", "--json")) == ["other"]


def test_the_tree_says_what_was_edited_how_it_got_back_in_and_how_it_ended(ours: Command) -> None:
    out = ours("tree").out
    assert [line for line in out.splitlines() if width(line) > 80] == []
    lines = [line.strip(" │├╰") for line in out.splitlines()]
    assert lines[0].split() == ["RUN", "AT", "STATUS", "STEPS", "TOKENS", "COST"]
    at = next(index for index, line in enumerate(lines) if line.startswith("fork-1"))
    assert lines[at].split()[:4] == ["fork-1", "2", "✗", "failed"]
    assert lines[at + 1 : at + 5] == [
        "~ n  2 → 9",
        '~ messages[0].content  "message 1" → "hello"',
        "restore · send deny",
        "ValueError: told to",
    ]


def test_the_tree_says_where_a_fork_ran_another_agent(ours: Command, tmp_path: Path) -> None:
    store = open_store(tmp_path / "ours.db")
    code = AgentCode(entry="first.py:main")
    root = store.begin_run(NewRun("two", code=code), {"n": 0})
    step(root, {"n": 1})
    root.finish("succeeded")
    parent = store.run("two").id
    for entry in ("second.py:main", "first.py:main"):
        store.begin_fork(NewFork(parent, 1, state={"n": 1}, new=NewRun("", code=AgentCode(entry=entry))))
    store.close()
    out = ours("tree", "two").out
    assert out.count("runs second.py:main") == 1
    assert "runs first.py:main" not in out


def test_archived_runs_are_listed_when_all_are_asked_for(ours: Command) -> None:
    done = ours("archive", "root/fork-2", "--json")
    assert (done.code, names(done)) == (0, ["root/fork-2"])
    assert done.json[0]["archived"] is True
    assert "root/fork-2" not in names(ours("runs", "--json"))
    assert "root/fork-2" in names(ours("runs", "--all", "--json"))
    assert [run["name"] for run in ours("tree", "root", "--json").json[0]["forks"]] == ["root/fork-1"]
    assert len(ours("tree", "root", "--all", "--json").json[0]["forks"]) == 2
    assert "root/fork-2" in [run["name"] for run in ours("tree", "root/fork-2", "--json").json[0]["forks"]], "asked for"
    assert "archived" in ours("runs", "--all").out
    ours("unarchive", "root/fork-2")
    assert "root/fork-2" in names(ours("runs", "--json"))


def test_a_tree_is_archived_as_one_where_that_is_asked_for(ours: Command) -> None:
    assert len(names(ours("archive", "root", "--with-forks", "--json"))) == 4
    assert names(ours("runs", "--json")) == ["other"]
    assert ours("show", "root", "--json").json["run"]["archived"] is True
    ours("archive", "other")
    for listing in ("runs", "tree"):
        assert "--all lists them" in ours(listing).out
        assert ours(listing, "--json").json == []
    assert len(names(ours("unarchive", "root", "other", "--with-forks", "--json"))) == 5
    assert len(ours("runs", "--json").json) == 5


def test_a_page_of_runs_is_the_newest_of_them(ours: Command) -> None:
    assert names(ours("runs", "--limit", "2", "--json")) == names(ours("runs", "--json"))[:2]
    assert ours("runs", "--limit", "0").code == 2


def test_renaming_takes_the_forks_along_and_old_names_still_work(ours: Command) -> None:
    done = ours("rename", "root", "loop of March", "--json")
    assert (done.code, done.json["name"], done.json["step"]) == (0, "loop of March", None)
    assert {"loop of March", "loop of March/fork-1/fork-1"} <= set(names(ours("runs", "--json")))
    assert ours("show", "root/fork-1/fork-1", "--json").json["run"]["name"] == "loop of March/fork-1/fork-1"
    assert ours("show", "root", "--json").json["run"]["former_names"] == ["root"]
    taken = ours("rename", "other", "loop of March", "--json")
    assert (taken.code, taken.error["kind"]) == (2, "usage")
    assert "already" in taken.error["message"]


def test_a_checkpoint_with_a_name_is_found_by_it(ours: Command) -> None:
    assert "root@2 is now called before it" in ours("rename", "root", "before it", "--at", "2").out
    assert ours("show", "root", "before it", "--json").json["step"] == 2
    assert ours("diff", "root", "before it", "3", "--json").code == 1
    ours("meta", "root", "ticket=OPS-1", "--at", "before it")
    shown = ours("show", "root", "--json").json
    assert shown["labels"] == [{"step": 2, "name": "before it", "metadata": {"ticket": "OPS-1"}}]
    assert "before it" in ours("show", "root").out
    assert ours("rename", "root", "", "--at", "2", "--json").json["name"] is None
    assert ours("show", "root", "before it").code == 3


def test_notes_are_written_listed_and_removed(ours: Command) -> None:
    ours("note", "root", "the help centre\nwas down")
    done = ours("note", "root", "same words again", "--at", "2", "--json")
    (note,) = done.json["notes"]
    assert (note["step"], note["text"]) == (2, "same words again")
    assert [(note["step"], note["text"]) for note in ours("note", "root", "--json").json["notes"]] == [
        (None, "the help centre\nwas down"),
        (2, "same words again"),
    ]
    assert ours("show", "root", "--json").json["notes"] == ours("note", "root", "--json").json["notes"]
    assert "was down" in ours("note", "root").out
    assert ours("note", "other", "--remove", str(note["id"])).code == 3
    ours("note", "root", "--remove", str(note["id"]))
    assert len(ours("note", "root", "--json").json["notes"]) == 1
    assert ours("note", "root", " ").code == 2
    assert ours("note", "root", "text", "--remove", "1").code == 2
    assert ours("note", "root", "text", "--at", "99").code == 3


def test_tags_are_added_and_removed(ours: Command) -> None:
    assert ours("tag", "root", "flaky", "march", "flaky", "--json").json["tags"] == ["flaky", "march"]
    assert ours("tag", "root", "april", "--remove", "march", "--json").json["tags"] == ["april", "flaky"]
    assert ours("tag", "root").out == "april flaky\n"
    assert ours("tag", "root", "a\tb").code == 2


def test_facts_are_json_but_purpose_and_ticket_are_texts(ours: Command) -> None:
    done = ours("meta", "root", "ticket=12", "purpose=find the loop = soon", "budget=3", 'who=["a"]', "--json")
    assert done.json == {
        "run": done.json["run"],
        "step": None,
        "name": "root",
        "metadata": {"ticket": "12", "purpose": "find the loop = soon", "budget": 3, "who": ["a"]},
    }
    assert ours("meta", "root", "--remove", "who", "--remove", "budget", "--json").json["metadata"].keys() == {
        "ticket",
        "purpose",
    }
    assert "find the loop" in ours("meta", "root").out
    for wrong, kind in (("budget=three", "invalid_value"), ("budget", "usage"), ("=3", "usage")):
        refused = ours("meta", "root", wrong, "--json")
        assert (refused.code, refused.error["kind"]) == (2, kind)


def test_what_is_pinned_is_neither_archived_nor_deleted(ours: Command) -> None:
    assert ours("pin", "root/fork-1", "--json").json[0]["pinned"] is True
    assert "pinned" in ours("runs").out
    for refused in (
        ours("archive", "other", "root/fork-1", "--json"),
        ours("archive", "root", "--with-forks", "--json"),
        ours("delete", "root", "--with-forks", "--yes", "--json"),
    ):
        assert (refused.code, refused.error["kind"]) == (1, "pinned")
        assert "root/fork-1" in refused.error["message"]
    assert len(ours("runs", "--json").json) == 5
    ours("unpin", "root/fork-1")
    assert ours("delete", "root", "--with-forks", "--yes").code == 0
    assert names(ours("runs", "--all", "--json")) == ["other"]


def test_a_run_with_forks_is_deleted_with_them_or_not_at_all(ours: Command) -> None:
    refused = ours("delete", "root", "--yes", "--json")
    assert (refused.code, refused.error["kind"]) == (1, "has_forks")
    assert all(name in refused.error["message"] for name in ("root/fork-1", "root/fork-2", "root/fork-1/fork-1"))
    assert "--with-forks" in refused.error["hint"]
    done = ours("delete", "root", "--with-forks", "--yes", "--json")
    assert [run["name"] for run in done.json["deleted"]] == [
        "root",
        "root/fork-1",
        "root/fork-1/fork-1",
        "root/fork-2",
    ]
    assert done.json["freed_bytes"] >= 0
    assert ours("verify").code == 0
    assert ours("delete", "root", "--yes").code == 3


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 4), ("n\n", 1, 5), ("\n", 1, 5)])
def test_deleting_asks_on_a_terminal(
    ours: Command, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int
) -> None:
    class Typed(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Typed(answer))
    done = ours("delete", "other")
    assert done.code == code
    assert "other" in done.out
    assert len(ours("runs", "--json").json) == left


def test_deleting_where_nobody_can_be_asked_needs_to_be_told(ours: Command) -> None:
    for arguments in (("delete", "other"), ("delete", "other", "--json")):
        done = ours(*arguments)
        assert done.code == 2
        assert "--yes" in done.err
    assert len(ours("runs", "--json").json) == 5


def test_a_running_run_is_not_deleted(ours: Command, tmp_path: Path) -> None:
    store = open_store(tmp_path / "ours.db")
    _, writer = fork(store, store.run("root").id, 1, {"n": 1})
    refused = ours("delete", "root", "--with-forks", "--yes", "--json")
    assert (refused.code, refused.error["kind"]) == (1, "running")
    writer.finish("succeeded")
    store.close()
    assert ours("delete", "root", "--with-forks", "--yes").code == 0


def test_marks_on_runs_of_another_systems_file_are_kept_in_the_own_store(command: Command, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    path = database_of("forks", tmp_path / "theirs")
    own = tmp_path / ".agent-tt" / "runs.db"
    own.parent.mkdir()
    before = digest_of_folder(path.parent)

    def theirs(*arguments: str) -> Finished:
        return command(*arguments, "--json", "--store", str(path))

    for reading in (("note", "t"), ("tag", "t"), ("meta", "t"), ("tree", "t"), ("tree",), ("runs",), ("show", "t")):
        assert theirs(*reading).code == 0, reading
    assert not own.exists()
    for verb, *more in (
        ("note", "second thoughts", "--at", "2"),
        ("tag", "odd"),
        ("meta", "ticket=OPS-1"),
        ("rename", "after two", "--at", "2"),
        ("pin",),
        ("rename", "edited by hand"),
    ):
        done = theirs(verb, "t", *more)
        assert done.code == 0, (verb, done.err)
    assert own.exists()
    (run,) = [run for run in theirs("runs").json if run["name"] == "edited by hand"]
    assert (run["id"], run["tags"], run["pinned"], run["read_only"]) == ("t", ["odd"], True, True)
    assert theirs("meta", "edited by hand").json["metadata"]["ticket"] == "OPS-1"
    assert [(note["step"], note["text"]) for note in theirs("note", "t").json["notes"]] == [(2, "second thoughts")]
    assert theirs("show", "edited by hand", "after two").json["step"] == theirs("show", "t", "2").json["step"]
    assert "edited by hand" in theirs("tree").out
    refused = theirs("archive", "t")
    assert (refused.code, refused.error["kind"]) == (1, "pinned")
    for refusal, why in ((("delete", "t", "--yes"), "read_only"), (("fork", "t", "--at", "1"), "invalid_entry_point")):
        done = theirs(*refusal)
        assert (done.code, done.error["kind"]) == (2, why), refusal
    number = str(theirs("note", "t").json["notes"][0]["id"])
    assert theirs("note", "t", "--remove", number).json["notes"] == []
    assert digest_of_folder(path.parent) == before
    assert command("runs", "--json").json == []


def test_what_an_agent_wrote_does_not_reach_the_terminal_as_it_is(ours: Command, tmp_path: Path) -> None:
    store = open_store(tmp_path / "ours.db")
    run = store.run("other").id
    store.add_note(run, 1, "note", HOSTILE)
    store.set_tags(run, [HOSTILE])
    store.set_metadata(run, {HOSTILE: HOSTILE, "ticket": HOSTILE})
    with store.database.transaction() as tx:
        update(tx, "runs", "id = ?", (run,), name=HOSTILE)
    store.close()
    for arguments in (("tree",), ("runs",), ("note", run), ("tag", run), ("meta", run), ("show", run), ("pin", run)):
        done = ours(*arguments)
        assert done.code == 0, done.err
        assert "\x1b" not in done.out
        assert "\u202e" not in done.out
    assert json.loads(ours("note", run, "--json").out)["notes"][0]["text"] == HOSTILE
