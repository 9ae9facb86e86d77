"""Questions about calls that wait: kept with their run, open only while somebody is there who asked."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.store.recordings import begin, new_store
from tests.core.store.rows import update

from agent_tt.errors import QuestionClosed, QuestionNotFound, ReadOnlySource
from agent_tt.model import NewCall, NewStep, StepEnd
from agent_tt.model.error_text import error_from_text
from agent_tt.questions import Decision, NewQuestion
from agent_tt.store import open_store
from agent_tt.store.transfer import copy_run

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import OpenQuestion
    from agent_tt.store.writer import SqliteRunWriter

LARGE = "large " * 4000


def ask(writer: SqliteRunWriter, amount: object = 5, **options: object) -> tuple[int, OpenQuestion]:
    """A step with a call that waits."""
    step = writer.open_step(NewStep("pay"))
    call = writer.begin_call(step, NewCall("tool", "charge", {"amount": amount}, "00" * 16, "write"))
    return step, writer.ask(step, call, NewQuestion(editable=("amount",), **options))


def test_a_question_shows_its_call_and_takes_one_answer(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {}, "shop")
    step, asked = ask(writer, LARGE, trouble="no number")
    with closing(open_store(store.path)) as elsewhere:
        (question,) = elsewhere.questions(writer.run_id)
        assert (question.run_id, question.step, question.call) == (writer.run_id, step, 1)
        assert (question.name, question.kind, question.effect) == ("charge", "tool", "write")
        assert question.args == {"amount": LARGE}
        assert (question.editable, question.can_give, question.trouble) == (("amount",), True, "no number")
        assert elsewhere.questions() == [question]
        assert asked.decision() is None
        elsewhere.answer_question(question.id, question.run(amount=6).said_by("app"))
        assert asked.decision() == Decision("run", args={"amount": 6}, by="app")
        assert elsewhere.questions() == []
        with pytest.raises(QuestionClosed, match=r"question 1 of shop was answered already: run \(app\)"):
            elsewhere.answer_question(question.id, question.refuse())
        with pytest.raises(QuestionNotFound, match="there is no question 77"):
            elsewhere.answer_question(77, question.refuse())
    store.close()


@pytest.mark.parametrize(
    "decision",
    [
        Decision("give", value={"$type": "bytes", "$v": "AAE="}),
        Decision("raise", error=error_from_text("TimeoutError: no answer")),
        Decision("refuse", why="not on a Sunday", by="terminal"),
    ],
    ids=lambda decision: decision.word,
)
def test_decisions_come_back_as_they_were_made(tmp_path: Path, decision: Decision) -> None:
    store = new_store(tmp_path)
    _, asked = ask(begin(store, {}, "shop"))
    (question,) = store.questions()
    store.answer_question(question.id, decision)
    assert asked.decision() == decision
    store.close()


def test_a_question_is_closed_with_its_run_withdrawn_or_stopped(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    first, second, third = (begin(store, {}, name) for name in ("ended", "withdrawn", "stopped"))
    questions = [ask(writer)[1] for writer in (first, second, third)]
    ids = [question.id for question in store.questions()]
    assert [question.run_id for question in store.questions()] == [first.run_id, second.run_id, third.run_id]
    first.finish("succeeded")
    questions[1].withdraw()
    store.stop_questions(third.run_id)
    assert store.questions() == []
    assert [question.decision() for question in questions] == [None, Decision("stop"), Decision("stop")]
    for each in ids:
        with pytest.raises(QuestionClosed, match="nobody waits for an answer"):
            store.answer_question(each, Decision("run"))
    store.close()


def test_a_question_goes_with_the_process_that_asked(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    program = (
        "import sys\nfrom tests.core.store.recordings import begin\nfrom agent_tt.store import open_store\n"
        "from agent_tt.model import NewCall, NewStep\nfrom agent_tt.questions import NewQuestion\n"
        "writer = open_store(sys.argv[1]).join_run(sys.argv[2])\nstep = writer.open_step(NewStep('pay'))\n"
        "call = writer.begin_call(step, NewCall('tool', 'charge', {}, '00' * 16, 'write'))\n"
        "writer.ask(step, call, NewQuestion())\nprint('asked', flush=True)\nsys.stdin.read()\n"
    )
    writer = begin(store, {}, "shop")
    command = [sys.executable, "-c", program, str(store.path), writer.run_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as asker:
        assert asker.stdout is not None
        assert asker.stdout.readline() == "asked\n"
        (question,) = store.questions()
        assert question.process == asker.pid
        asker.kill()
    assert store.run(writer.run_id).status == "running"
    assert store.questions() == []
    with pytest.raises(QuestionClosed, match="that process is gone"):
        store.answer_question(question.id, question.run())
    store.close()


def test_questions_are_no_notes_are_copied_closed_and_are_deleted_with_their_run(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {}, "shop")
    step, _ = ask(writer)
    store.add_note(writer.run_id, step, "note", "who pays?")
    assert [note.body for note in store.notes(writer.run_id)] == ["who pays?"]
    copies = open_store(tmp_path / "copies.db", create=True)
    copy = copy_run(store, copies, writer.run_id)
    assert copies.questions(copy) == []
    assert [note.body for note in copies.notes(copy)] == ["who pays?"]
    writer.close_step(step, StepEnd("ok"), {})
    writer.finish("succeeded")
    assert store.verify() == copies.verify() == []
    store.delete_runs([writer.run_id])
    assert store.database.query("SELECT count(*) FROM notes") == [(0,)]
    for opened in (store, copies):
        opened.close()


def test_a_file_whose_questions_hold_anything_can_be_read(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    writer = begin(store, {}, "shop")
    _, asked = ask(writer)
    ((body,),) = store.database.query("SELECT body FROM notes")
    facts = json.loads(body)
    odd = [b"\xff", "5", "{", "[]", json.dumps({**facts, "call": "1"}), json.dumps({**facts, "owner": {"pid": "x"}})]
    odd += [json.dumps({**facts, "editable": [1, {}], "trouble": 7, "can_give": "yes"})]
    for each in odd:
        with store.database.transaction() as tx:
            update(tx, "notes", body=each)
        for question in store.questions():
            assert question.can_give is False
            assert question.trouble == ""
    with store.database.transaction() as tx:
        update(tx, "notes", body=json.dumps({**facts, "decision": {"word": "sudo", "args": 5}}))
    assert asked.decision() == Decision("refuse"), "what cannot be read does not let a call go out"
    with store.database.transaction() as tx:
        tx.execute("UPDATE notes SET body = ?", (json.dumps({**facts, "decision": {"word": "run"}}),))
    decided = asked.decision()
    assert decided is not None
    assert (decided.word, decided.why) == ("refuse", f"what is stored of question {asked.id} is damaged")
    assert store.questions() == []
    with store.database.transaction() as tx:
        tx.execute("DELETE FROM notes")
    assert asked.decision() == Decision("stop", why="the question was deleted")
    store.close()


def test_a_store_that_is_only_read_answers_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    ask(begin(store, {}, "shop"))
    with closing(open_store(store.path, read_only=True)) as readable:
        (question,) = readable.questions()
        with pytest.raises(ReadOnlySource):
            readable.answer_question(question.id, question.run())
    store.close()
