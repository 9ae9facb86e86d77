"""`agent-tt answer`, and what a fork asks on the terminal."""

import io
from contextlib import closing

import pytest
from tests.tui.cli.conftest import HOSTILE

from agent_tt.model import NewCall, NewRun, NewStep
from agent_tt.questions import Decision, NewQuestion
from agent_tt.store import open_store
from agent_tt_tui.cli.running import questions
from agent_tt_tui.cli.terminal import Terminal
from agent_tt_tui.glyphs import UNICODE


class Waiting:
    """A run in this process with calls that wait."""

    def __init__(self, store):
        self.store = store
        self.writer = store.begin_run(NewRun("shop"), {})
        self.run_id = self.writer.run_id
        self.process = 0
        self.asked = []
        self.answers = []

    def ask(self, name="charge", **args):
        step = self.writer.open_step(NewStep("pay"))
        call = self.writer.begin_call(step, NewCall("tool", name, args, "00" * 16, "write"))
        self.asked.append(self.writer.ask(step, call, NewQuestion(editable=("amount",))))
        return self.asked[-1]

    def answer(self, question, decision):
        """As a fork's handle does."""
        self.answers.append(decision)
        self.store.answer_question(question.id, decision)


@pytest.fixture
def waiting(tmp_path):
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        yield Waiting(store)


@pytest.fixture
def answer(command, waiting):
    return lambda *arguments: command("answer", "--store", str(waiting.store.path), *arguments)


def test_what_waits_is_listed_and_answered(waiting, answer):
    assert answer().out == "nothing waits for an answer\n"
    first = waiting.ask(amount=5, note=HOSTILE)
    listed = answer("shop").out
    assert "charge  (writes)  waits for you  question 1, step 1 of shop" in listed
    assert "  amount  5\n" in listed
    assert "(as it is)" in listed
    assert "\x1b" not in listed
    assert "\u202e" not in listed
    (shape,) = answer("--json").json
    assert (shape["question"], shape["name"], shape["tool"], shape["editable"]) == (1, "shop", "charge", ["amount"])
    assert shape["args"] == {"amount": 5, "note": HOSTILE}
    done = answer("shop", "--args", '{"amount": 7}')
    assert (done.code, done.out) == (0, "shop step 1: charge goes out with another amount\n")
    assert first.decision() == Decision("run", args={"amount": 7}, by="command")
    second = waiting.ask("mail", amount=1)
    assert answer("--refuse", "--why", "late", "--json").json["answer"] == {
        "word": "refuse",
        "by": "command",
        "why": "late",
    }
    assert second.decision().why == "late"


def test_what_cannot_be_answered_is_one_clear_line(waiting, answer):
    nothing = answer("shop", "--run")
    assert (nothing.code, nothing.err.splitlines()[0]) == (3, "agent-tt: nothing waits in shop")
    waiting.ask(amount=5)
    waiting.ask("mail", amount=1)
    several = answer("shop", "--run")
    assert several.code == 2
    assert "2 calls wait: 1 (charge), 2 (mail)" in several.err
    assert answer("--question", "9", "--run").code == 3
    assert "has no argument 'amout'" in answer("--question", "1", "--args", '{"amout": 1}').err
    assert answer("--question", "1", "--give", "{").code == 2
    assert "exclude each other" in answer("--run", "--refuse").err
    assert "--why goes with --refuse" in answer("--why", "late").err
    assert [each.decision() for each in waiting.asked] == [None, None]
    assert answer("--question", "2", "--error", "OSError: no").code == 0
    assert waiting.asked[1].decision().error.short == "OSError: no"


def test_on_a_terminal_a_person_is_asked_until_the_answer_fits(waiting, monkeypatch, capsys):
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    typed = ["maybe", "g", "{", "f", "Oops", "e", '{"amount": "x', "e", '{"amount": 7}']
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(typed) + "\n"))
    waiting.ask(amount=5, note=HOSTILE)
    questions.answer_waiting(Terminal(80, colour=False, glyphs=UNICODE), waiting.store, waiting)
    assert waiting.answers == [Decision("run", args={"amount": 7}, by="terminal")]
    out = capsys.readouterr().out
    assert "Oops is not a Python exception" in out
    assert out.count("Run it?") == 5
    assert "charge goes out with another amount" in out
    assert "\x1b" not in out


def test_who_was_slower_on_the_terminal_is_told(waiting, monkeypatch, capsys):
    waiting.ask(amount=5)
    (question,) = waiting.store.questions()

    def slow(_text, **_options):
        waiting.store.answer_question(question.id, question.refuse().said_by("app"))
        return "y"

    monkeypatch.setattr("click.prompt", slow)
    questions.answer_waiting(Terminal(80, colour=False, glyphs=UNICODE), waiting.store, waiting)
    assert "was answered already: refuse (app)" in capsys.readouterr().out


def test_where_nobody_can_be_asked_it_is_refused_and_the_way_to_answer_is_named(waiting, capsys):
    waiting.ask(amount=5)
    (question,) = waiting.store.questions()
    decision = questions.refuse_unasked()(question)
    assert (decision.word, decision.by) == ("refuse", "nobody")
    assert "with --hold it waits for `agent-tt answer`" in decision.why
    assert "charge was refused: nobody can be asked here" in capsys.readouterr().err
