"""Calls that wait for somebody's decision: the question goes into the store, and what is decided is what happens."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import QuestionClosed, ToolDenied, UsageError
from agent_tt.intercepting.approvals import Approvals
from agent_tt.intercepting.limit_enforcement import LimitEnforcement
from agent_tt.intercepting.limits import LimitReached, Limits
from agent_tt.intercepting.policy import ToolPolicy
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.intercepting.rules import Rule
from agent_tt.intercepting.run_handoff import RunHandoff
from agent_tt.model import NewFork, NewRun
from agent_tt.recording.session import SESSION
from agent_tt.redaction.marks import MARK
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_tt.model import Call
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.store import SqliteStore

CHARGED: list[object] = []


@dataclasses.dataclass
class Card:
    owner: str
    number: str


@agent_tt.tool(effect="write")
def charge(amount: int, card: object = None, note: str = "", **more: object) -> object:
    CHARGED.append((amount, card, note, more))
    return {"charged": amount}


@agent_tt.tool(effect="write")
async def charge_later(amount: int) -> object:
    CHARGED.append(amount)
    return {"charged": amount}


@agent_tt.tool(effect="write")
async def charge_by_parts(amount: int):
    CHARGED.append(amount)
    yield amount


class Fork:
    """The process of a fork, which is this one, and somebody who looks at its store from elsewhere."""

    def __init__(self, path: Path) -> None:
        self.store: SqliteStore = open_store(path, create=True)
        parent = self.store.begin_run(NewRun("shop"), {})
        parent.finish("succeeded")
        self.run_id = self.store.begin_fork(NewFork(parent.run_id, 0, state={}, new=NewRun("")))

    def asked(self, count: int = 1) -> list[CallQuestion]:
        ends = time.monotonic() + PATIENCE_SECONDS
        while len(found := self.store.questions(self.run_id)) < count:
            assert time.monotonic() < ends, "nobody asked"
            time.sleep(0.005)
        return found

    def calls(self) -> list[Call]:
        return [call for step in self.store.steps(self.run_id) for call in self.store.calls(self.run_id, step.number)]

    def somebody(self, *decide: Callable[[CallQuestion], Decision]) -> threading.Thread:
        """Answers one question after another."""

        def answer() -> None:
            for each in decide:
                question = self.asked()[0]
                self.store.answer_question(question.id, each(question).said_by("test"))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        return thread


@pytest.fixture
def fork(tmp_path: Path) -> Iterator[Fork]:
    CHARGED.clear()
    made = Fork(tmp_path / "runs.db")
    policy = ToolPolicy((("charge*", Rule("ask")),))
    with closing(open_store(made.store.path)) as own:
        SESSION.start(RunHandoff(own, made.run_id), PolicyEnforcement(policy), Approvals())
        try:
            yield made
        finally:
            SESSION.start()
    made.store.close()


def test_a_call_waits_and_then_goes_out_as_it_was(fork: Fork) -> None:
    answers = fork.somebody(lambda question: question.run())
    with agent_tt.record("shop"):
        assert charge(5, note="tip") == {"charged": 5}
    answers.join()
    assert CHARGED == [(5, None, "tip", {})]
    (call,) = fork.calls()
    assert call.status == "ok"
    assert call.meta["policy"]["word"] == "ask"
    assert call.meta["answered"] == {"word": "run", "by": "test"}


def test_while_it_waits_its_row_is_pending_and_the_question_shows_what_will_go_out(fork: Fork) -> None:
    seen: list[tuple[CallQuestion, Call, list[object]]] = []

    def look(question: CallQuestion) -> Decision:
        seen.append((question, fork.calls()[0], list(CHARGED)))
        return question.refuse("too much")

    fork.somebody(look)
    with agent_tt.record("shop"), pytest.raises(ToolDenied, match="charge was not run: it was refused: too much"):
        charge(500)
    ((question, call, charged),) = seen
    assert charged == CHARGED == []
    assert call.status == "pending"
    assert (question.step, question.call, question.name, question.effect) == (1, 1, "charge", "write")
    assert question.args["amount"] == 500
    (call,) = fork.calls()
    assert call.status == "denied"
    assert call.meta["answered"] == {"word": "refuse", "by": "test", "why": "too much"}


def test_an_edited_argument_is_what_goes_out_and_the_others_are_the_agents_own(fork: Fork) -> None:
    card, basket = Card("Ada", "4111"), ["a", "b"]
    fork.somebody(lambda question: question.run(amount=7, more={"basket": ["a", "c"]}))
    with agent_tt.record("shop"):
        assert charge(5, card, basket=basket) == {"charged": 7}
    ((amount, sent, _, more),) = CHARGED
    assert amount == 7
    assert sent is card
    assert more == {"basket": ["a", "c"]}
    assert basket == ["a", "b"], "the agent's own list is not what was edited"
    (call,) = fork.calls()
    assert call.args["amount"] == 7
    assert call.meta["args_asked"] == {"amount": 5, "more": {"basket": ["a", "b"]}}
    assert call.meta["answered"]["edited"] == ["amount", "more"]


def test_a_secret_is_shown_by_its_mark_and_goes_out_as_it_is(fork: Fork) -> None:
    key = "sk-ant-" + "k3y0" * 12
    shown: list[object] = []

    def decide(question: CallQuestion) -> Decision:
        shown.append(question.args["more"])
        return question.run(more={"api": {"api_key": MARK, "tries": 2}})

    fork.somebody(decide)
    with agent_tt.record("shop"):
        charge(5, api={"api_key": key, "tries": 1})
    assert shown == [{"api": {"api_key": MARK, "tries": 1}}]
    assert CHARGED[0][3] == {"api": {"api_key": key, "tries": 2}}
    assert key.encode() not in fork.store.path.read_bytes()


def test_a_decision_that_cannot_be_carried_out_is_asked_for_again(fork: Fork) -> None:
    troubles: list[str] = []

    def right(question: CallQuestion) -> Decision:
        troubles.append(question.trouble)
        return question.run(amount=6)

    fork.somebody(
        lambda question: question.run_text('{"card": {"$type": "dataclass", "class": "gone:Card", "$v": {}}}'), right
    )
    with agent_tt.record("shop"):
        charge(5)
    assert "gone:Card" in troubles[0]
    assert CHARGED == [(6, None, "", {})]


def test_a_coroutine_waits_and_its_event_loop_goes_on(fork: Fork) -> None:
    beats: list[int] = []

    async def agent() -> list[object]:
        async def beat() -> None:
            while fork.store.questions(fork.run_id) or not beats:
                beats.append(len(fork.store.questions(fork.run_id)))
                if len(beats) == 3:
                    for question in fork.asked(2):
                        fork.store.answer_question(question.id, question.run(amount=question.args["amount"] * 2))
                await asyncio.sleep(0)

        async def parts() -> list[object]:
            return [part async for part in charge_by_parts(4)]

        first, second = asyncio.create_task(charge_later(1)), asyncio.create_task(parts())
        await asyncio.sleep(0)
        await beat()
        return [await first, await second]

    with agent_tt.record("shop"):
        assert asyncio.run(agent()) == [{"charged": 2}, [8]]
    assert len(beats) >= 3
    assert sorted(CHARGED) == [2, 8]


def test_lanes_ask_at_once_and_each_gets_its_own_answer(fork: Fork) -> None:
    results: dict[int, object] = {}

    def pay(amount: int) -> None:
        try:
            results[amount] = charge(amount)
        except ToolDenied:
            results[amount] = "denied"

    with agent_tt.record("shop"):
        threads = [threading.Thread(target=pay, args=(amount,)) for amount in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for question in reversed(fork.asked(3)):
            amount = question.args["amount"]
            decision = {1: question.run(), 2: question.refuse(), 3: question.run(amount=30)}[amount]
            fork.store.answer_question(question.id, decision)
        for thread in threads:
            thread.join()
    assert results == {1: {"charged": 1}, 2: "denied", 3: {"charged": 30}}
    assert fork.store.questions(fork.run_id) == []


def test_nobody_waits_any_more_when_the_time_is_over_or_the_run_is_stopped(fork: Fork) -> None:
    with agent_tt.record("shop"):
        with (
            SESSION.joined(LimitEnforcement(Limits(seconds=0.15), fork.run_id)),
            pytest.raises(LimitReached, match="time limit"),
        ):
            charge(5)
        question = CHARGED or fork.store.questions(fork.run_id)
        assert question == []
        stopper = threading.Thread(target=lambda: (fork.asked(), fork.store.stop_questions(fork.run_id)))
        stopper.start()
        with pytest.raises(KeyboardInterrupt):
            charge(6)
        stopper.join()
    assert CHARGED == []
    assert [call.status for call in fork.calls()] == ["error", "error"]


def test_a_task_that_is_cancelled_takes_its_question_back(fork: Fork) -> None:
    async def agent() -> None:
        task = asyncio.create_task(charge_later(1))
        while not fork.store.questions(fork.run_id):
            await asyncio.sleep(0.005)
        (question,) = fork.store.questions(fork.run_id)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(QuestionClosed, match="nobody waits"):
            fork.store.answer_question(question.id, question.run())

    with agent_tt.record("shop"):
        asyncio.run(agent())
    assert CHARGED == []


def test_an_answer_counts_once(fork: Fork) -> None:
    done = threading.Event()

    def pay() -> None:
        charge(5)
        done.set()

    with agent_tt.record("shop"):
        thread = threading.Thread(target=pay)
        thread.start()
        (question,) = fork.asked()
        fork.store.answer_question(question.id, question.run().said_by("app"))
        with pytest.raises(QuestionClosed, match=r"answered already: run \(app\)"):
            fork.store.answer_question(question.id, question.refuse())
        thread.join()
    assert len(CHARGED) == 1


def test_what_does_not_fit_a_question_is_refused_before_it_is_written_down(fork: Fork) -> None:
    seen: list[CallQuestion] = []

    def decide(question: CallQuestion) -> Decision:
        seen.append(question)
        return question.refuse()

    fork.somebody(decide)
    with agent_tt.record("shop"), pytest.raises(ToolDenied):
        charge(5, object(), api={"api_key": "sk-ant-" + "k3y0" * 12})
    (question,) = seen
    with pytest.raises(UsageError, match="charge has no argument 'amout'") as error:
        question.run(amout=1)
    assert error.value.hint == "did you mean amount?"
    with pytest.raises(UsageError, match="not a JSON object"):
        question.run_text("[5]")
    with pytest.raises(UsageError, match="not JSON"):
        question.run_text("{")
    with pytest.raises(UsageError, match="known only by its text"):
        question.run(card={"inner": object()})
    with pytest.raises(UsageError, match="looks like a secret"):
        question.run(note="sk-ant-" + "0th3" * 12)
    with pytest.raises(UsageError, match="a secret in note was moved"):
        question.run(note=MARK)
    assert question.run_with(question.args).args == {}, "what is as it was is not an edit"
    with pytest.raises(UsageError, match="nothing can be given in place of charge"):
        question.give(5)
    with pytest.raises(UsageError, match="Oops is not a Python exception"):
        dataclasses.replace(question, can_give=True).fail("Oops")
