"""What an expression can ask of steps and calls, in a run held in memory; and how little is read to answer it."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import Did
from tests.core.querying.trails import Past

import agent_tt
from agent_tt.errors import AgentTTError, Damaged, InvalidExpression
from agent_tt.model import ErrorInfo
from agent_tt.protocols import Capabilities
from agent_tt.querying.expressions import parse
from agent_tt.querying.watches import step_search as watching
from agent_tt.querying.watches.step_search import Span, Watch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Path
    from agent_tt.model import Call

SAMPLES = FilePath(__file__).parents[3] / "sample_runs" / "runs.db"
REFUSED = ErrorInfo("bank:Refused", "no money\nat all")


def past() -> Past:
    source = Past(
        steps_are={
            1: {"tokens_in": 10, "tokens_out": 5, "cost_usd": 0.5, "started_us": 0, "ended_us": 2_500},
            2: {"tokens_in": 10, "kind": "tool", "agent": "helper", "lane": "web", "decision": "go on"},
            3: {"tokens_out": 7, "error": REFUSED, "status": "error"},
            4: {"started_us": 5},
        },
        calls_are={
            (2, 1): {"started_us": 0, "ended_us": 1_500, "lane": "web", "effect": "write"},
            (3, 1): {"error": REFUSED, "status": "error"},
            (4, 1): {"kind": "llm", "name": "model-x", "meta": {"model": "model-y"}},
            (5, 1): {"kind": "llm", "name": "model-x", "meta": {"model": 7}},
        },
    )
    made = [
        Did("one", state={"n": 1}),
        Did("two", tool="pay", args={"amount": 5}, result={"paid": True}, state={"n": 1}),
        Did("three", tool="pay", args={"amount": 7}, result={"paid": True}, state={"n": 2}),
        Did("four", tool="ask", result="x", state={"n": 2}),
        Did("five", tool="ask", result="y", state={}),
    ]
    source.add("run", made, state={"n": 0})
    return source


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("step == 2", [2]),
        ("step > 3", [4, 5]),
        ('name == "input"', [0]),
        ('name == "three"', [3]),
        ("not exists(agent)", [0, 1, 3, 4, 5]),
        ('agent == "helper"', [2]),
        ('kind == "tool"', [2]),
        ('status == "error"', [3]),
        ('status == "ok"', [1, 2, 4, 5]),
        ('lane == "web"', [2]),
        ('decision == "go on"', [2]),
        ("exists(error)", [3]),
        ('error == "Refused: no money"', [3]),
        ("tokens == 15", [1]),
        ("tokens == 10", [2]),
        ("tokens == 7", [3]),
        ("exists(tokens)", [1, 2, 3]),
        ("tokens_in == 10", [1, 2]),
        ("tokens_out == 7", [3]),
        ("cost == 0.5", [1]),
        ("cost_usd == 0.5", [1]),
        ("ms == 2.5", [1]),
        ("duration_ms == 2.5", [1]),
        ("exists(ms)", [1]),
        ('tool == "pay"', [2, 3]),
        ('model == "model-y"', [4]),
        ('model == "model-x"', [5]),
        ('"pay" == tool and args.amount > 5', [3]),
        ("args.amount == 5", [2]),
        ("result.paid", [2]),
        ('call.name == "pay"', [2, 3]),
        ('call.kind == "llm"', [4, 5]),
        ('call.effect == "write"', [2]),
        ('call.status == "error"', [3]),
        ('call.lane == "web"', [2]),
        ('call.error == "Refused: no money"', [3]),
        ("exists(call.error)", [3]),
        ("call.ms == 1.5", [2]),
        ("call.duration_ms == 1.5", [2]),
        ("exists(call.ms)", [2]),
        ("state.n == 1", [1, 2]),
        ("exists(state.n)", [0, 1, 2, 3, 4]),
        ("changed(state.n)", [1, 3, 5]),
        ("changed(state.n) and state.n > 1", [3]),
        ('changed(state.n) and tool == "pay"', [3]),
        ('tool == "pay" and state.n == 1', [2]),
        ("changed(state)", [1, 3, 5]),
        ("not changed(state.zzz)", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_each_fact_is_asked_by_its_name(text: str, steps: list[int]) -> None:
    source = past()
    watch = Watch(source, "run", text)
    assert list(watch.steps()) == steps
    assert [n for n in range(6) if Watch(source, "run", parse(text)).holds_at(n)] == steps
    assert [n for n in range(5, -1, -1) if watch.holds_at(n)] == steps[::-1]
    assert [watch.next(n) for n in range(-1, 6)] == [
        min((s for s in steps if s > n), default=None) for n in range(-1, 6)
    ]
    assert [watch.previous(n) for n in range(8)] == [max((s for s in steps if s < n), default=None) for n in range(8)]
    for number in range(6):
        facts = watch.facts_at(number)
        assert (facts is not None) is (number in steps)
        if facts is not None:
            assert facts.value("step", ()) == number


def test_the_facts_are_those_of_the_first_call_that_fulfils_it() -> None:
    source = Past()
    source.add("run", [Did("s", answer={"a": 1}, asked={"q": 1}, tool="pay", args={"amount": 5}, result=1)], state={})
    facts = Watch(source, "run", "args.amount > 1").facts_at(1)
    assert facts is not None
    assert facts.value("tool", ()) == "pay"
    with pytest.raises(InvalidExpression):
        Watch(source, "run", "state.n >")


@pytest.mark.parametrize(
    ("text", "first", "last", "spans"),
    [
        ("state.n == 1", 0, None, [(1, 2)]),
        ("state.n != 1", 0, None, [(0, 0), (3, 4)]),
        ("state.n != 1", 1, None, [(3, 4)]),
        ("state.n != 1", 0, 3, [(0, 0), (3, 3)]),
        ("state.n == 9", 0, None, []),
        ("changed(state.n)", 0, None, [(1, 1), (3, 3), (5, 5)]),
        ("true", 0, 99, [(0, 5)]),
    ],
)
def test_where_it_begins_and_stops_to_hold(
    text: str, first: int, last: int | None, spans: list[tuple[int, int]]
) -> None:
    assert [*Watch(past(), "run", text).spans(first, last)] == [Span(*each) for each in spans]


def test_a_search_that_is_called_off_says_nothing_of_the_rest() -> None:
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 4

    watch = Watch(past(), "run", "true", cancelled=cancelled)
    assert [*watch.steps()] == [0, 1, 2]
    assert (watch.next(0), watch.previous(5), watch.holds_at(1)) == (None, None, False)


class Indexed(Past):
    """A source that rules steps out, and counts what is read."""

    capabilities = Capabilities(indexes=True)

    def __init__(self, **facts: Any) -> None:
        super().__init__(**facts)
        self.read: list[str] = []

    def steps_touching(self, run_id: str, first: int, last: int, path: Path) -> set[int]:
        return {n for n in range(max(first, 1), last + 1) if any(True for _ in super(Indexed, self).changes(run_id, n))}

    def steps_calling(self, run_id: str, first: int, last: int, wanted: Mapping[str, str]) -> set[int]:
        self.read.append(f"calling {sorted(wanted.items())}")
        return {
            step
            for step in range(max(first, 1), last + 1)
            if any(
                all(getattr(call, k) == v for k, v in wanted.items())
                for call in super(Indexed, self).calls(run_id, step)
            )
        }

    def calls(self, run_id: str, step: int) -> list[Any]:
        self.read.append(f"calls {step}")
        return super().calls(run_id, step)

    def changes(self, run_id: str, step: int) -> list[Any]:
        self.read.append(f"changes {step}")
        return super().changes(run_id, step)

    def state(self, run_id: str, step: int) -> Any:
        self.read.append(f"state {step}")
        return super().state(run_id, step)


def indexed(states: list[Any], tools: dict[int, str] | None = None) -> Indexed:
    source = Indexed()
    dids = [Did(f"s{n}", tool=(tools or {}).get(n), state=state) for n, state in enumerate(states) if n]
    source.add("run", dids, state=states[0])
    source.read.clear()
    return source


def test_only_calls_that_may_fulfil_it_are_read() -> None:
    source = indexed([{}] * 6, {2: "pay", 3: "look", 5: "pay"})
    assert [*Watch(source, "run", 'tool == "pay" and result == "x"').steps()] == []
    assert source.read == ["calling [('kind', 'tool'), ('name', 'pay')]", "calls 2", "calls 5"]
    for text, wanted in (
        ('"pay" == call.name', "[('name', 'pay')]"),
        ('call.kind == "tool" and call.status == "ok"', "[('kind', 'tool'), ('status', 'ok')]"),
        ('call.effect == "read" and call.lane == "main"', "[('effect', 'read'), ('lane', 'main')]"),
    ):
        source.read.clear()
        [*Watch(source, "run", text).steps()]
        assert source.read[0] == f"calling {wanted}"
    for text in (
        'tool == "pay" or step == 1',
        'call.error == "x"',
        'tool != "pay"',
        'lower(tool) == "pay"',
        "tool == 5",
    ):
        source.read.clear()
        [*Watch(source, "run", text).steps()]
        assert not any(read.startswith("calling") for read in source.read), text


def test_a_state_is_read_once_and_then_followed_by_what_touched_it(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[Any] = [{"n": n // 10, "m": 0} for n in range(100)]
    source = indexed(states)
    monkeypatch.setattr(source, "cursor", lambda run_id, step: Cursor(source, step))
    assert [*Watch(source, "run", "state.n == 7").steps()] == [*range(70, 80)]
    assert [read for read in source.read if read.startswith("cursor")] == ["cursor 0"]
    assert len([read for read in source.read if read.startswith("changes")]) == 9
    source.read.clear()
    assert [*Watch(source, "run", "changed(state.n)").steps()] == [*range(10, 100, 10)]
    assert len([read for read in source.read if read.startswith("cursor")]) <= 2


def test_facts_that_were_asked_of_one_step_are_not_taken_for_those_of_another() -> None:
    source = indexed([{"n": n} for n in range(6)])
    watch = Watch(source, "run", "state.n == 1 or state.n == 4")
    for number in (4, 1, 3, 4, 5, 0, 1):
        facts = watch.facts_at(number)
        assert (facts is not None) is (number in (1, 4))
        assert watch.holds_at(1)
        assert not watch.holds_at(2)
    assert [*watch.steps(0, 2)] == [1]
    assert [number for number in range(6) if watch.facts_at(number) is not None] == [1, 4]


class Cursor:
    def __init__(self, source: Indexed, step: int) -> None:
        self._source = source

    def seek(self, step: int) -> Any:
        self._source.read.append(f"cursor {step}")
        return Past.state(self._source, "run", step)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", [Past, Indexed])
def test_the_answers_are_those_of_reading_every_state(
    monkeypatch: pytest.MonkeyPatch, kind: type[Past], seed: int
) -> None:
    choose = random.Random(seed)
    monkeypatch.setattr(watching, "_FIRST_PAGE", choose.choice([1, 2, 5]))
    monkeypatch.setattr(watching, "_LARGEST_PAGE", choose.choice([2, 8]))
    state: dict[str, Any] = {"n": 0, "l": [0]}
    states = []
    for _ in range(40):
        states.append({"n": state["n"], "l": [*state["l"]]})
        match choose.randrange(6):
            case 0:
                state["n"] = choose.randrange(3)
            case 1:
                state["l"].append(choose.randrange(3))
            case 2 if len(state["l"]) > 1:
                state["l"].pop(choose.randrange(len(state["l"])))
            case 3 if state["l"]:
                state["l"][choose.randrange(len(state["l"]))] = choose.randrange(3)
    source = kind()
    source.add("run", [Did(f"s{n}", state=each) for n, each in enumerate(states) if n], state=states[0])
    for text, holds in (
        ("state.n == 1", lambda n: states[n]["n"] == 1),
        ("state.l[-1] == 2", lambda n: states[n]["l"][-1:] == [2]),
        ("len(state.l) > 3", lambda n: len(states[n]["l"]) > 3),
        ("changed(state.l)", lambda n: bool(n) and states[n]["l"] != states[n - 1]["l"]),
        ("changed(state.l[0])", lambda n: bool(n) and states[n]["l"][:1] != states[n - 1]["l"][:1]),
        ("changed(state.n) or state.l[0] == 1", lambda n: (bool(n) and states[n]["n"] != states[n - 1]["n"])
         or states[n]["l"][:1] == [1]),
    ):  # fmt: skip
        expected = [n for n in range(len(states)) if holds(n)]
        watch = Watch(source, "run", text)
        assert [*watch.steps()] == expected
        for _ in range(6):
            here = choose.randrange(len(states))
            assert watch.next(here) == min((n for n in expected if n > here), default=None)
            assert watch.previous(here) == max((n for n in expected if n < here), default=None)
            assert watch.holds_at(here) is (here in expected)
            last = choose.randrange(len(states))
            assert [*watch.steps(here, last)] == [n for n in expected if here <= n <= last]


def test_a_state_that_cannot_be_read_holds_nothing_and_the_next_one_is_read_again() -> None:
    class Damage(Past):
        def state(self, run_id: str, step: int) -> Any:
            if step == 2:
                raise Damaged("it is gone")
            return super().state(run_id, step)

        def changes(self, run_id: str, step: int) -> list[Any]:
            if step in (2, 3):
                raise Damaged("it is gone")
            return super().changes(run_id, step)

    source = Damage()
    source.add("run", [Did(f"s{n}", state={"n": 1}) for n in range(1, 6)], state={"n": 1})
    assert [*Watch(source, "run", "state.n == 1").steps()] == [0, 1, 3, 4, 5]
    assert [*Watch(source, "run", "not exists(state.n)").steps()] == [2]
    with pytest.raises(AgentTTError):
        source.state("run", 2)


@pytest.mark.parametrize(
    ("question", "reads_calls"),
    [
        ('"cart" in lower(tool)', False),
        ('"rules" in lower(model) or call.status == "error"', False),
        ('exists(tool) and not (call.lane == "main")', False),
        ('"C-3391" in lower(args.cart_id)', True),
        ("call.ms > 0 and exists(tool)", True),
        ('exists(result) or "cart" in lower(tool)', True),
    ],
)
def test_calls_are_read_one_by_one_only_for_what_a_page_of_them_lacks(question, reads_calls, monkeypatch):
    with closing(agent_tt.open_source(SAMPLES, read_only=True)) as source:
        run = source.run("flaky-checkout")
        asked: list[int] = []
        whole = source.calls

        def calls(run_id: str, step: int) -> list[Call]:
            asked.append(step)
            return whole(run_id, step)

        monkeypatch.setattr(source, "calls", calls)
        found = list(Watch(source, run.id, question).steps())
        assert bool(asked) == reads_calls
        one_by_one = [
            step for step in range(run.steps + 1) if Watch(source, run.id, question).facts_at(step) is not None
        ]
        assert found == one_by_one
