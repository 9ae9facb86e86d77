"""Tools that are done once for a key: over calls, runs, processes that are killed, forks and resumed runs."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.agent_folder import AgentFolder
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import OutcomeUnknown, StoreUnreadable, UsageError
from agent_tt.redaction.keyed import key_path
from agent_tt.resuming import Happened
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Call, Run

pytestmark = pytest.mark.warm


@dataclass
class Receipt:
    number: int
    order: str


class Shop:
    """A tool, what it really did, and the store that its runs are recorded into."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "runs.db"
        self.done: list[str] = []

        @agent_tt.tool(effect="write", once="order-{order}")
        def charge(order: Any, amount: int = 1) -> Receipt:
            self.done.append(str(order))
            if amount < 0:
                raise ValueError("no such amount")
            return Receipt(len(self.done), order)

        self.charge = charge

    def record(self, **options: Any) -> Any:
        return agent_tt.record("shop", store=self.path, **options)

    def calls(self) -> list[tuple[Run, Call]]:
        with closing(open_store(self.path, read_only=True)) as store:
            assert store.verify() == []
            runs = store.runs()[::-1]
            return [
                (run, call) for run in runs for step in store.steps(run.id) for call in store.calls(run.id, step.number)
            ]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_the_same_key_is_done_once_in_a_run_and_in_the_next_and_its_answer_is_given_again(shop: Shop):
    with shop.record() as first:
        answers = [shop.charge("7"), shop.charge("7", amount=2), shop.charge(order="8")]
    with shop.record():
        answers.append(shop.charge("7"))
    assert shop.done == ["7", "8"]
    assert answers == [Receipt(1, "7"), Receipt(1, "7"), Receipt(2, "8"), Receipt(1, "7")]
    made, again, other, later = [call.facts.once for _, call in shop.calls()]
    assert (made.raw, other.raw) == ({"key": "order-7"}, {"key": "order-8"})
    assert again.raw == later.raw == {"key": "order-7", "run": first.id, "step": 1, "call": 1}
    assert [call.status for _, call in shop.calls()] == ["ok"] * 4


def test_each_tool_has_its_own_keys(shop: Shop):
    other = agent_tt.tool(effect="write", once="order-{order}", name="refund")(lambda order: shop.done.append("refund"))
    with shop.record():
        shop.charge("7")
        other("7")
    assert shop.done == ["7", "refund"]


@pytest.mark.parametrize(
    ("once", "message"),
    [
        ("order-{id}", "'id' is not an argument of the tool"),
        ("order-{}", "a field without a name"),
        ("order-{order:{width}}", "'width' is not an argument"),
        ("order-{order", "not a format string"),
        ("{self}", "'self' is not an argument"),
        ("{rest}", "'rest' is not an argument"),
    ],
)
def test_a_key_that_names_no_argument_is_refused_when_the_tool_is_declared(once: str, message: str):
    with pytest.raises(UsageError, match=message):

        class _Tools:
            @agent_tt.tool(effect="write", once=once)
            def charge(self, order: str, **rest: str) -> None: ...


def test_what_cannot_be_done_once_is_refused_when_it_is_declared():
    with pytest.raises(UsageError, match="only reads"):
        agent_tt.tool(effect="read", once="{order}")
    with pytest.raises(UsageError, match="in pieces"):

        @agent_tt.tool(once="{order}")
        def lines(order: str) -> Any:
            yield order


@pytest.mark.parametrize("order", [None, "", object(), {"a"}])
def test_an_argument_that_makes_no_key_stops_the_call(shop: Shop, order: object):
    with shop.record(), pytest.raises(UsageError, match=r"its key once='order-\{order\}' cannot be made"):
        shop.charge(order)
    assert shop.done == []


def test_one_that_failed_may_have_happened_so_it_is_not_made_again(shop: Shop):
    with shop.record() as first:
        with pytest.raises(ValueError, match="no such amount"):
            shop.charge("7", amount=-1)
        with pytest.raises(
            OutcomeUnknown, match=f"call 1 of step 1 of run {first.id} has its key 'order-7'. It failed"
        ):
            shop.charge("7")
    assert shop.done == ["7"]
    assert [call.status for _, call in shop.calls()] == ["error", "denied"]


@pytest.mark.parametrize("happened", [True, False])
def test_a_person_says_whether_one_happened_that_failed(shop: Shop, happened: bool):
    with shop.record() as first, pytest.raises(ValueError, match="no such amount"):
        shop.charge("7", amount=-1)
    with closing(open_store(shop.path)) as store:
        store.settle_key(first.id, [(1, 1)], {"said": 1}, happened=happened)
        assert store.verify() == []
        with pytest.raises(UsageError, match="nothing is unknown" if happened else "no call of run"):
            store.settle_key(first.id, [(1, 1)], 0, happened=True)
    with shop.record():
        assert shop.charge("7") == ({"said": 1} if happened else Receipt(2, "7"))
    assert len(shop.done) == (1 if happened else 2)


def test_one_with_an_idempotency_key_is_made_again_where_it_may_have_happened_and_else_not(shop: Shop):
    @agent_tt.tool(effect="write", idempotency_key="key")
    def pay(order: str, key: object = None) -> int:
        shop.done.append(order)
        if order == "fails":
            raise TimeoutError
        return len(shop.done)

    with shop.record(), pytest.raises(TimeoutError):
        pay("fails", key=1)
    with shop.record():
        assert [pay("a", key=1), pay("b", key=1), pay("c", key=2), pay("d"), pay("e")] == [2, 2, 3, 4, 5]
    assert pay("f", key=2) == 6  # no recording, and the world recognises it
    assert shop.done == ["fails", "a", "c", "d", "e", "f"]


def test_a_key_in_no_recording_is_not_asked_of_any_store_so_the_tool_is_not_run(shop: Shop):
    with pytest.raises(UsageError, match="no recording is open"):
        shop.charge("7")
    assert shop.done == []


def test_where_the_store_cannot_be_asked_it_is_not_run_although_the_agent_goes_on_without_it(shop: Shop):
    shop.path.mkdir()  # no store can be there
    read = agent_tt.tool(effect="write")(lambda: shop.done.append("other"))
    with shop.record(on_store_error="continue"):
        read()
        with pytest.raises(StoreUnreadable, match="charge was not run"):
            shop.charge("7")
    assert shop.done == ["other"]


def test_keys_hold_nothing_of_what_they_are_made_of_and_only_with_the_file_beside_the_store(shop: Shop):
    mail = "jane.roe@example.org"
    with shop.record(redact="personal"):
        shop.charge(mail)
        assert shop.charge(mail).number == 1
    for file in shop.path.parent.iterdir():
        assert mail.encode() not in file.read_bytes()
    key_path(shop.path).unlink()
    with shop.record(on_store_error="continue"), pytest.raises(StoreUnreadable, match="keys were kept by"):
        shop.charge(mail)
    assert shop.done == [mail]


def test_what_was_done_stays_done_when_its_run_is_deleted(shop: Shop):
    with shop.record() as run:
        shop.charge("7")
    with closing(open_store(shop.path)) as store:
        store.delete_runs([run.id])
        assert store.verify() == []
    with shop.record(), pytest.raises(OutcomeUnknown, match="its answer is not kept any more"):
        shop.charge("7")
    assert shop.done == ["7"]


def test_threads_and_tasks_wait_for_the_one_that_is_being_made(shop: Shop):
    begun, goes_on = threading.Event(), threading.Event()

    @agent_tt.tool(effect="write", once="{order}")
    def slow(order: str) -> int:
        begun.set()
        assert goes_on.wait(PATIENCE_SECONDS)
        shop.done.append(order)
        return 1

    @agent_tt.tool(effect="write", once="{order}")
    async def soon(order: str) -> int:
        await asyncio.sleep(0)
        shop.done.append(order)
        return 2

    async def both() -> list[int]:
        return await asyncio.gather(*(soon("task") for _ in range(5)))

    with shop.record() as run:
        answers: list[int] = []
        threads = [threading.Thread(target=run_in(slow, answers)) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert begun.wait(PATIENCE_SECONDS)
        goes_on.set()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        assert asyncio.run(both()) == [2] * 5
    assert run.id
    assert (answers, shop.done) == ([1] * 3, ["thread", "task"])


def run_in(function: Any, answers: list[int]) -> Any:
    return lambda: answers.append(function("thread"))


def test_a_tool_that_calls_itself_with_its_own_key_is_told(shop: Shop):
    @agent_tt.tool(effect="write", once="{order}")
    def nested(order: str) -> int:
        return nested(order)

    with shop.record(), pytest.raises(UsageError, match="its own key inside call 1 of step 1"):
        nested("7")


# ------------------------------------------------------------------------ processes


PRELUDE = """
import json, os, signal, sys, time
import agent_tt

def ledger(word):
    file = os.open("ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, (word + "\\n").encode())
    os.close(file)
"""

RACING = (
    PRELUDE
    + """
me = int(sys.argv[1])
keys = [f"k{n}" for n in range(12)]

@agent_tt.tool(effect="write", once="{key}")
def effect(key):
    if me < 4 and me % 2:
        ledger(key)
    if me < 4:
        open(f"took-{me}", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    ledger(key)
    return f"{me} did {key}"

def main():
    found = {}
    with agent_tt.record(f"process {me}"):
        for key in [f"k{me}"] if me < 4 else keys[me:] + keys[:me]:
            while me >= 4 and key in keys[:4] and not os.path.exists("took-" + key[1:]):
                time.sleep(0.01)
            try:
                found[key] = effect(key)
            except agent_tt.AgentTTError as error:
                found[key] = error.kind
    print(json.dumps(found))

main()
"""
)


def test_eight_processes_of_which_four_are_killed_do_each_effect_once_or_ask(tmp_path: Path):
    (tmp_path / "race.py").write_text(RACING)
    started = [
        subprocess.Popen(
            [sys.executable, "race.py", str(number)],
            cwd=tmp_path,
            env={"AGENT_TT_STORE": str(tmp_path / "runs.db"), "PATH": "", "HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    said = [process.communicate(timeout=PATIENCE_SECONDS)[0] for process in started]
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 4 + [0] * 4
    found = [json.loads(text) for text in said[4:]]
    assert found[0] == found[1] == found[2] == found[3], "all were given the same answers"
    asked = {key for key, answer in found[0].items() if answer == "outcome_unknown"}
    assert asked == {"k0", "k1", "k2", "k3"}
    done = Counter((tmp_path / "ledger").read_text().split())
    assert done == Counter({f"k{number}": 1 for number in (1, 3, *range(4, 12))})
    with closing(open_store(tmp_path / "runs.db")) as store:
        assert store.verify() == []


SHOP = (
    PRELUDE
    + """
@agent_tt.tool(effect="write", once="{order}")
def charge(order):
    ledger(str(order))
    if os.path.exists("breaks"):
        os.remove("breaks")
        os.kill(os.getpid(), signal.SIGKILL)
    return {"charged": order}

def main(state=None):
    state = state or {"paid": []}
    with agent_tt.record("shop", state=state) as run:
        for order in (1, 2):
            with run.step("order", state):
                try:
                    state["paid"].append(charge(order))
                except agent_tt.AgentTTError as error:
                    state["paid"].append(error.kind)

if __name__ == "__main__":
    main()
"""
)


class ShopFolder(AgentFolder):
    def ledger(self) -> list[str]:
        return (self.folder / "ledger").read_text().split()

    def last(self) -> Any:
        with closing(open_store(self.store_path, read_only=True)) as store:
            run = store.run("latest")
            return store.state(run.id, store.step_count(run.id))


@pytest.fixture
def folder(tmp_path: Path) -> ShopFolder:
    found = ShopFolder(tmp_path)
    found.write(SHOP)
    return found


@pytest.mark.parametrize("did_happen", [True, False])
def test_what_is_said_when_a_run_is_resumed_holds_for_the_key(folder: ShopFolder, did_happen: bool):
    folder.put("breaks", "")
    folder.run(exit_code=-signal.SIGKILL)
    folder.run()
    assert folder.last() == {"paid": ["outcome_unknown", {"charged": 2}]}
    happened = Happened({"charged": "by hand"}) if did_happen else None
    with closing(open_store(folder.store_path)) as store:
        crashed = store.runs()[-1]
    handle = agent_tt.resume(crashed, store=folder.store_path, in_flight=lambda _: happened)
    assert handle.result().status == "succeeded"
    folder.run()
    charged = {"charged": "by hand" if did_happen else 1}
    assert folder.last() == {"paid": [charged, {"charged": 2}]}
    assert folder.ledger() == (["1", "2"] if did_happen else ["1", "2", "1"])


def test_a_replay_asks_no_keys_and_a_fork_that_may_write_does(folder: ShopFolder):
    folder.run()
    folder.run()
    for run in ("latest", "latest~1"):
        folder.check_replay(run)
    allowed = agent_tt.fork("latest~1", 0, store=folder.store_path, allow=["charge"]).result()
    denied = agent_tt.fork("latest~1", 0, store=folder.store_path).result()
    with closing(open_store(folder.store_path, read_only=True)) as store:
        assert store.state(allowed.id, 2) == {"paid": [{"charged": 1}, {"charged": 2}]}
        assert store.calls(allowed.id, 1)[0].facts.once.run == store.runs()[-1].id
        assert store.state(denied.id, 2) == {"paid": ["tool_denied"] * 2}
    assert folder.ledger() == ["1", "2"]


def test_a_fork_asks_a_person_about_what_may_have_happened(folder: ShopFolder):
    folder.put("breaks", "")
    folder.run(exit_code=-signal.SIGKILL)
    handle = agent_tt.fork("latest", 0, store=folder.store_path, allow=["charge"])
    waits = threading.Event()
    for _ in range(int(PATIENCE_SECONDS * 100)):
        if asked := handle.questions():
            break
        waits.wait(0.01)
    assert "was in flight when its process ended, and may have happened" in asked[0].trouble
    handle.answer(asked[0], asked[0].give({"charged": "yes"}))
    run = handle.result()
    with closing(open_store(folder.store_path, read_only=True)) as store:
        assert store.state(run.id, 2) == {"paid": [{"charged": "yes"}, {"charged": 2}]}
    assert folder.ledger() == ["1", "2"]
