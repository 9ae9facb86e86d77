"""What happens before a call of an agent that is held: in this process, with somebody else at the store."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import MemoryStore
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import InvalidExpression, ToolDenied, UsageError
from agent_tt.holding.conditions import condition
from agent_tt.model import Edit, NewRun
from agent_tt.recording.session import SESSION
from agent_tt.redaction.marks import MARK
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.store import SqliteStore

MADE: list[object] = []


@agent_tt.tool(effect="write")
def pay(amount: int) -> object:
    MADE.append(amount)
    return {"paid": amount}


@agent_tt.tool
async def look(page: int) -> object:
    MADE.append(page)
    return {"page": page}


@agent_tt.tool
def outer(amount: int) -> object:
    return pay(amount)


class Somebody:
    """Somebody who holds a run, from a thread, through a store of their own."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.asked: list[CallQuestion] = []

    def hold(self, run_id: str, when: str = "") -> int:
        return self.store.hold_run(run_id, when=when).id

    def decides(self, run_id: str, *decide: Callable[[CallQuestion], Decision], after: float = 0.0) -> threading.Thread:
        """Decide about one call after another; `after` so many seconds that nothing of the agent's clock sees."""

        def answer() -> None:
            for each in decide:
                question = self._next(run_id)
                self.asked.append(question)
                time.sleep(after)
                self.store.answer_question(question.id, each(question).said_by("test"))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        return thread

    def _next(self, run_id: str) -> CallQuestion:
        ends = time.perf_counter() + PATIENCE_SECONDS
        while not (found := self.store.questions(run_id)):
            assert time.perf_counter() < ends, "nothing waits"
            time.sleep(0.005)
        return found[0]

    def calls(self, run_id: str) -> list[object]:
        return [call for step in self.store.steps(run_id) for call in self.store.calls(run_id, step.number)]


@pytest.fixture
def somebody(tmp_path: Path) -> Iterator[Somebody]:
    MADE.clear()
    with closing(open_store(tmp_path / "runs.db", create=True)) as store:
        yield Somebody(store)
    assert not SESSION.chain.links


def test_state_and_arguments_are_changed_before_the_call_goes_out(somebody: Somebody) -> None:
    state = {"budget": 10, "log": [1, 2]}
    held = state["log"]
    with agent_tt.record("shop", state=state, store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        edits = [Edit("set", "budget", 3), Edit("insert", "log[1]", 9)]
        somebody.decides(run.id, lambda question: question.with_state(question.run(amount=5), edits))
        with run.step("pay", state):
            assert pay(2) == {"paid": 5}
        assert (state, MADE) == ({"budget": 3, "log": [1, 9, 2]}, [5])
        assert state["log"] is held
        assert somebody.store.let_go(run.id) == 1
        pay(3)
    (question,) = somebody.asked
    assert (question.state, question.lane, question.editable) == ({"budget": 10, "log": [1, 2]}, "main", ("amount",))
    first, second = somebody.calls(run.id)
    assert (first.args, first.meta["args_asked"]) == ({"amount": 5}, {"amount": 2})
    assert [edit.path for edit in first.facts.hold.state] == ["budget", "log[1]"]
    assert first.meta["answered"] == {"word": "run", "edited": ["amount"], "by": "test"}
    assert "hold" not in second.meta
    assert somebody.store.run(run.id).facts.attached


def test_a_result_or_an_error_is_given_in_its_place_or_it_is_refused(somebody: Somebody) -> None:
    with agent_tt.record("shop", store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        somebody.decides(
            run.id,
            lambda question: question.give({"paid": "nothing"}),
            lambda question: question.fail("TimeoutError: no answer"),
            lambda question: question.refuse("not today"),
        )
        assert pay(1) == {"paid": "nothing"}
        with pytest.raises(TimeoutError, match="no answer"):
            pay(2)
        with pytest.raises(ToolDenied, match="not today"):
            pay(3)
    assert MADE == []
    assert [call.status for call in somebody.calls(run.id)] == ["ok", "error", "denied"]


def test_what_cannot_be_changed_is_said_and_asked_again(somebody: Somebody) -> None:
    state = {"pair": (1, 2), "budget": 1}
    with agent_tt.record("shop", state=state, store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        somebody.decides(
            run.id,
            lambda question: question.with_state(question.run(), [Edit("set", "nowhere.at.all", 3)]),
            lambda question: question.with_state(question.run(), [Edit("set", "budget", 3)]),
        )
        with run.step("pay", state):
            pay(1)
    assert "nowhere" in somebody.asked[1].trouble
    assert state == {"pair": (1, 2), "budget": 3}


def test_a_secret_of_the_state_is_shown_by_its_mark_and_stays(somebody: Somebody) -> None:
    state = {"password": "correct horse battery", "budget": 1}
    with agent_tt.record("shop", state=state, store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        somebody.decides(run.id, lambda question: question.with_state(question.run(), [Edit("set", "budget", 2)]))
        with run.step("pay", state):
            pay(1)
    shown = somebody.asked[0].state
    assert isinstance(shown, dict)
    assert MARK in shown["password"]
    assert state == {"password": "correct horse battery", "budget": 2}
    with pytest.raises(UsageError, match="secret"):
        somebody.asked[0].with_state(somebody.asked[0].run(), [Edit("set", "budget", shown["password"])])


def test_the_deadlines_of_an_agent_stand_still_while_it_is_held(somebody: Somebody) -> None:
    async def impatient() -> object:
        return await asyncio.wait_for(look(1), 0.2)

    with agent_tt.record("shop", store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        somebody.decides(run.id, lambda question: question.run(), after=0.6)
        began, really = time.monotonic(), time.perf_counter()
        assert asyncio.run(impatient()) == {"page": 1}
    assert time.perf_counter() - really >= 0.6
    assert time.monotonic() - began < PATIENCE_SECONDS


def test_only_calls_wait_before_which_the_expression_holds(somebody: Somebody) -> None:
    state = {"budget": 100}
    with agent_tt.record("shop", state=state, store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id, 'tool == "pay" and args.amount > 5 and state.budget < 50')
        with run.step("early", state):
            pay(7)
        state["budget"] = 10
        somebody.decides(run.id, lambda question: question.give("held"))
        with run.step("late", state):
            assert pay(1) == {"paid": 1}
            assert pay(7) == "held"
    assert condition("state.budget < 3").text == "state.budget < 3"
    with pytest.raises(InvalidExpression, match="what has changed"):
        condition("changed(state.budget)")


def test_lanes_wait_each_for_itself_and_the_loop_goes_on(somebody: Somebody) -> None:
    beats: list[int] = []

    async def heart() -> None:
        while True:
            beats.append(1)
            await asyncio.sleep(0)

    async def everything() -> object:
        beating = asyncio.create_task(heart())
        found = await asyncio.gather(look(1), look(2))
        beating.cancel()
        return found

    def gives(value: str) -> Callable[[CallQuestion], Decision]:
        """Decide once the loop has gone on for a while, however busy the machine is."""

        def decide(question: CallQuestion) -> Decision:
            enough, ends = len(beats) + 10, time.perf_counter() + PATIENCE_SECONDS
            while len(beats) < enough and time.perf_counter() < ends:
                time.sleep(0.001)
            return question.give(value)

        return decide

    with agent_tt.record("shop", store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        somebody.decides(run.id, gives("one"), gives("two"))
        assert sorted(asyncio.run(everything())) == ["one", "two"]
    assert len({question.lane for question in somebody.asked}) == 2
    assert len(beats) > 10


def test_what_a_call_makes_inside_can_be_held_but_no_state_changed_there(somebody: Somebody) -> None:
    state = {"budget": 1}
    with agent_tt.record("shop", state=state, store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        somebody.decides(run.id, lambda question: question.run(), lambda question: question.run())
        with run.step("pay", state):
            outer(4)
    assert [(question.name, question.can_edit_state) for question in somebody.asked] == [
        ("outer", True),
        ("pay", False),
    ]
    with pytest.raises(UsageError, match="cannot be changed"):
        somebody.asked[1].with_state(somebody.asked[1].run(), [Edit("set", "budget", 2)])


def test_a_recording_that_is_not_attached_is_not_held(somebody: Somebody) -> None:
    with agent_tt.record("shop", store=somebody.store.path) as run:
        somebody.hold(run.id)
        assert pay(1) == {"paid": 1}
    with pytest.raises(UsageError, match="it is succeeded"):
        somebody.hold(run.id)


def test_an_agent_goes_on_where_its_store_cannot_be_asked(somebody: Somebody, monkeypatch: pytest.MonkeyPatch) -> None:
    from agent_tt.errors import StoreBusy
    from agent_tt.store.writer import SqliteRunWriter

    def busy(*_args: object) -> None:
        raise StoreBusy("somebody has locked it")

    with agent_tt.record("shop", store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        monkeypatch.setattr(SqliteRunWriter, "ask", busy)
        assert pay(1) == {"paid": 1}
        monkeypatch.setattr(SqliteRunWriter, "holds", busy)
        assert pay(2) == {"paid": 2}
    assert somebody.store.run(run.id).status == "succeeded"
    assert [call.status for call in somebody.calls(run.id)] == ["ok", "ok"]


@dataclasses.dataclass
class Shop:
    budget: int = 5

    def get_state(self) -> dict[str, int]:
        return {"budget": self.budget}

    def load_state(self, state: dict[str, int]) -> None:
        self.budget = state["budget"]


def test_an_object_that_says_its_state_is_changed_by_what_loads_it(somebody: Somebody) -> None:
    shop = Shop()
    with agent_tt.record("shop", state=shop, store=somebody.store.path, attach=True) as run:
        somebody.hold(run.id)
        somebody.decides(run.id, lambda question: question.with_state(question.run(), [Edit("set", "budget", 1)]))
        with run.step("pay", shop):
            pay(1)
    assert shop.budget == 1


@pytest.mark.parametrize("make", [MemoryStore, None], ids=["records", "file"])
def test_a_hold_stands_as_long_as_its_run_goes_on_and_nobody_lets_go(
    make: Callable[[], MemoryStore] | None, tmp_path: Path
) -> None:
    store = MemoryStore() if make else open_store(tmp_path / "runs.db", create=True)
    with closing(store):
        writer = store.begin_run(NewRun("shop"), {})
        other = store.begin_run(NewRun("other"), {})
        first = store.hold_run(writer.run_id, when="step > 3", by="test")
        second = store.hold_run(writer.run_id)
        store.hold_run(other.run_id)
        assert [hold.id for hold in store.holds(writer.run_id)] == [first.id, second.id]
        held = store.holds()[0]
        assert (held.when, held.by, held.run_id) == ("step > 3", "test", writer.run_id)
        assert [hold.id for hold in writer.holds()] == [first.id, second.id] if make else True
        assert store.let_go(writer.run_id, first.id) == 1
        assert store.let_go(writer.run_id, first.id) == 0
        assert [hold.id for hold in store.holds(writer.run_id)] == [second.id]
        writer.finish("succeeded")
        assert store.holds(writer.run_id) == []
        assert store.let_go(other.run_id) == 1
        assert store.holds() == []
        assert store.notes(writer.run_id) == []
        assert store.verify() == []
