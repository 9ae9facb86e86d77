"""Copying runs of other programs' files into a store: everything is there, once, and answers the same questions."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop.sessions import SESSION, Session, words
from tests.core.memory_store import Did, MemorySource

from agent_tt import importing
from agent_tt.errors import RunNotFound, UsageError
from agent_tt.importing import import_file
from agent_tt.model import Imported, NewFork, NewRun
from agent_tt.redacting.dropping import drop_checkpoints
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunSource


def telling() -> Session:
    """A tool, a sub-agent, somebody who goes back, a compaction: what a session may hold."""
    session = Session()
    asked = session.says("Which port does the server listen on?")
    read = session.calls("msg_1", "call_1", "Read", {"file_path": "server.toml"}, asked)
    given = session.gives("call_1", "port = 8421", read)
    said = session.answers("msg_2", words("It listens on 8421."), given)
    task = session.calls("msg_3", "call_2", "Task", {"prompt": "Find the log.", "subagent_type": "finder"}, said)
    inner = session.says("Find the log.", None, isSidechain=True)
    session.answers("msg_4", words("server.log"), inner, isSidechain=True)
    found = session.gives("call_2", "server.log", task)
    session.answers("msg_5", words("The log is server.log."), found)
    other = session.says("No: which host?", said)
    session.answers("msg_6", words("localhost"), other)
    return session


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def added(done: list[Imported]) -> list[int]:
    return [each.added for each in done]


def everything(source: RunSource, run_id: str) -> list[object]:
    """What is asked of the steps of a run, without what only the place where it lies says."""
    steps = source.steps(run_id)
    told: list[object] = [source.state(run_id, 0)]
    for step in steps:
        calls = source.calls(run_id, step.number)
        told.append(
            (
                (step.name, step.kind, step.agent, step.lane, step.parent, step.status, step.started_us, step.ended_us),
                (step.tokens_in, step.tokens_out, step.cost_usd, step.inherited, step.decision, dict(step.extra)),
                source.state(run_id, step.number),
                source.digest(run_id, step.number),
                source.base_step(run_id, step.number),
                [(call.kind, call.name, call.status, call.lane, call.signature, call.effect) for call in calls],
                [
                    (call.args, call.result, call.error, call.started_us, call.ended_us, dict(call.meta))
                    for call in calls
                ],
            )
        )
    return told


def test_an_imported_session_is_the_session(tmp_path: Path, store: Path) -> None:
    file = telling().write(tmp_path)
    done = import_file(file, store)
    with closing(open_source(file)) as source, closing(open_store(store)) as kept:
        theirs, ours = {run.id: run for run in source.runs()}, {run.origin["run"]: run for run in kept.runs()}
        assert theirs.keys() == ours.keys() == {each.name for each in done}
        assert len(theirs) == 2
        for name, run in theirs.items():
            there = ours[name]
            assert everything(kept, there.id) == everything(source, run.id)
            assert (there.name, there.status, there.steps, there.fork_step) == (
                name,
                "unknown",
                run.steps,
                run.fork_step,
            )
            assert (there.started_us, there.ended_us, there.model) == (run.started_us, run.ended_us, run.model)
            assert (there.tokens_in, there.tokens_out, there.cost_usd) == (run.tokens_in, run.tokens_out, run.cost_usd)
            assert there.origin == {"system": "Claude Code", "file": str(file), "run": name}
            assert not there.read_only
        assert kept.verify() == []
        check_source(kept)


def test_what_is_there_is_not_copied_again_and_a_session_that_grew_is_gone_on_with(tmp_path: Path, store: Path) -> None:
    session = telling()
    file = session.write(tmp_path)
    first = import_file(file, store)
    again = import_file(file, store)
    assert added(again) == [0, 0]
    assert [each.run for each in again] == [each.run for each in first]
    asked = session.says("Thanks. And the host?", session.lines[8]["uuid"])
    session.answers("msg_7", words("localhost"), asked)
    grown = import_file(session.write(tmp_path), store)
    assert added(grown) == [2, 0]
    assert [each.run for each in grown] == [each.run for each in first]
    elsewhere = tmp_path / "copies"
    elsewhere.mkdir()
    assert added(import_file(session.write(elsewhere), store)) == [0, 0], "the same session in another file"
    with closing(open_store(store)) as kept, closing(open_source(file)) as source:
        assert everything(kept, first[0].run or "") == everything(source, SESSION)
        assert kept.verify() == []


def test_a_call_that_was_pending_is_answered_and_what_people_wrote_down_stays(tmp_path: Path, store: Path) -> None:
    session = telling()
    answered = session.lines[2:]
    session.lines = session.lines[:2]
    (before,) = import_file(session.write(tmp_path), store)
    assert before.run is not None
    with closing(open_store(store)) as kept:
        assert kept.calls(before.run, 1)[1].status == "pending"
        kept.rename_run(before.run, "the port")
        kept.set_tags(before.run, ["ours"])
        kept.add_note(before.run, 1, "note", "look at this")
    session.lines += answered
    after = import_file(session.write(tmp_path), store)
    assert after[0].run == before.run
    with closing(open_store(store)) as kept, closing(open_source(tmp_path / f"{SESSION}.jsonl")) as source:
        run = kept.run("the port")
        assert (run.id, run.tags, [note.body for note in kept.notes(run.id)]) == (
            before.run,
            ("ours",),
            ["look at this"],
        )
        assert everything(kept, run.id) == everything(source, SESSION)
        assert kept.verify() == []


def test_a_run_that_changed_stays_where_something_was_forked_from_it(tmp_path: Path, store: Path) -> None:
    session = telling()
    answered = session.lines[2:]
    session.lines = session.lines[:2]
    (before,) = import_file(session.write(tmp_path), store)
    with closing(open_store(store)) as kept:
        state = kept.state(before.run or "", 1)
        kept.begin_fork(NewFork(before.run or "", 1, state, NewRun("")))
    session.lines += answered
    left, other = import_file(session.write(tmp_path), store)
    assert (left.run, left.added) == (before.run, 0)
    assert "step 1 is not as it was imported" in left.problems[0]
    assert "fork-1 was forked from it" in left.problems[0]
    assert other.added == 0
    assert other.problems


def test_what_was_taken_out_of_a_copy_does_not_come_back(tmp_path: Path, store: Path) -> None:
    file = telling().write(tmp_path)
    (copy, _) = import_file(file, store)
    with closing(open_store(store)) as kept:
        run = kept.run(copy.run or "")
    drop_checkpoints(store, run, [1])
    left, _ = import_file(file, store)
    assert left.problems == ("something was taken out of the copy on purpose, which stays so; it is left out",)
    with closing(open_store(store)) as kept:
        assert kept.steps(copy.run or "")[0].is_unkept


def test_another_run_of_the_same_id_is_another_run(tmp_path: Path, store: Path) -> None:
    files: list[Path] = []
    for said in ("blue", "red"):
        session = Session()
        session.answers("msg_1", words(said), session.says("Which colour?"))
        (tmp_path / said).mkdir()
        files.append(session.write(tmp_path / said))
    one, other = files
    (first,), (second,) = import_file(one, store), import_file(other, store)
    assert first.name == second.name
    assert first.run != second.run
    assert added(import_file(one, store)) == added(import_file(other, store)) == [0]


def test_secrets_are_taken_out_before_anything_is_stored(tmp_path: Path, store: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    session = Session()
    asked = session.says(f"Push with {key}")
    ran = session.calls("msg_1", "call_1", "Bash", {"command": f"git push https://x:{key}@example.com"}, asked)
    given = session.gives("call_1", f"pushed with {key}", ran, toolUseResult={"stdout": f"pushed with {key}"})
    session.answers("msg_2", words(f"Done, with {key}."), given)
    file = session.write(tmp_path)
    import_file(file, store)
    assert added(import_file(file, store)) == [0]
    with closing(open_store(store)) as kept:
        assert key not in json.dumps(everything(kept, kept.run("latest").id), default=str)
        assert kept.verify() == []
    assert not any(key.encode() in path.read_bytes() for path in tmp_path.glob("runs.db*"))


def test_a_long_conversation_takes_little_more_than_itself(tmp_path: Path, store: Path) -> None:
    session = Session()
    last = session.says("Begin.")
    for number in range(300):
        last = session.answers(f"msg_{number}", words(f"answer {number} " + "word " * 60), last)
        last = session.says(f"and then {number}?", last)
    file = session.write(tmp_path)
    import_file(file, store)
    assert store.stat().st_size < 6 * file.stat().st_size
    with closing(open_store(store)) as kept:
        (run,) = kept.runs()
        asked = kept.calls(run.id, run.steps - 1)[0].args
        assert isinstance(asked, dict)
        assert asked["messages"] == kept.state(run.id, run.steps - 2)["messages"]  # type: ignore[call-overload, index]


def test_changes_and_writers_are_the_same_of_the_file_and_of_the_import(tmp_path: Path, store: Path) -> None:
    file = telling().write(tmp_path)
    import_file(file, store)
    with closing(open_source(file)) as source, closing(open_store(store)) as kept:
        ours = {run.origin["run"]: run.id for run in kept.runs()}
        for run in source.runs():
            for step in range(1, run.steps + 1):
                if source.base_step(run.id, step) is None:  # a store says of the first one that all of it is new
                    continue
                assert kept.changes(ours[run.id], step) == source.changes(run.id, step)
                for path in (("messages",), ("messages", 1)):
                    assert kept.last_write(ours[run.id], step, path) == source.last_write(run.id, step, path)


def test_stores_and_unknown_runs_are_refused(tmp_path: Path, store: Path) -> None:
    file = telling().write(tmp_path)
    with pytest.raises(RunNotFound):
        import_file(file, store, ["nobody"])
    import_file(file, store, [SESSION])
    with closing(open_store(store)) as kept:
        assert len(kept.runs()) == 1
    with pytest.raises(UsageError, match="a store of agent-tt"):
        import_file(store, tmp_path / "other.db")


class _InPlaceCursor:
    """Changes the state that it gave before when it moves, as the protocol allows."""

    def __init__(self, source: RunSource, run_id: str, step: int) -> None:
        self._source, self._run_id = source, run_id
        self.state: Any = {"said": []}
        self.seek(step)

    def seek(self, step: int) -> Any:
        self.step = step
        state: Any = self._source.state(self._run_id, step) or {"said": []}
        said = state["said"]
        for held, now in zip(self.state["said"], said, strict=False):
            held.clear()
            held.update(now)
        self.state["said"][:] = [*self.state["said"], *said[len(self.state["said"]) :]][: len(said)]
        return self.state


class _InPlace(MemorySource):
    def cursor(self, run_id: str, step: int) -> Any:
        return _InPlaceCursor(self, run_id, step)


def test_a_source_whose_cursor_changes_its_state_where_it_stands_is_imported_as_it_is(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = _InPlace()
    said = [
        [],
        [{"n": 1, "of": {"m": 1}}],
        [{"n": 2, "of": {"m": 1}}],
        [{"n": 2, "of": {"m": 3}}, {"n": 4}],
        [{"n": 5}],
    ]
    much: list[Any] = [{"text": f"turn {number} " * 40} for number in range(80)]  # small states are compared as a whole
    source.add("moving", [Did("look", state={"said": [*turns, *much]}) for turns in said])
    file = tmp_path / "moving.txt"
    file.write_text("a file that only this source reads")
    monkeypatch.setattr(importing, "open_source", lambda _: source)
    (done,) = import_file(file, store)
    with closing(open_store(store)) as copied:
        run_id = done.run or ""
        assert [copied.state(run_id, number) for number in range(6)] == [
            source.state("moving", number) for number in range(6)
        ]
