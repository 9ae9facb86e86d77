"""The questions of the Python API over the sample runs, and what answers leave out."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.core.memory_store import Did
from tests.core.querying.trails import Past

import agent_tt
from agent_tt.codec.texts import texts
from agent_tt.errors import AgentTTError, Damaged, InvalidExpression, NotFound, StoreNotFound, UsageError
from agent_tt.history.payloads.damage import placeholder
from agent_tt.model import ErrorInfo
from agent_tt.querying.expressions.values import MISSING
from agent_tt.querying.predicates import parse_predicate
from agent_tt.querying.provenance.links import Link, Source
from agent_tt.querying.unread import is_closed, is_damaged, unread_in

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"
SEALED = {"$type": "opaque", "why": "sealed"}


def hits(text: str, run: Any = None, **how: Any) -> list[tuple[int, str]]:
    return [(hit.step, hit.where) for hit in agent_tt.find(text, run, store=SAMPLES, **how).hits]


def test_texts_are_found_in_one_run_in_several_and_in_all() -> None:
    one = agent_tt.find("refused", "flaky-checkout", store=SAMPLES)
    assert one.hits
    assert {hit.step for hit in one.hits} <= {7, 8, 9, 10}
    both = agent_tt.find("refused", ["flaky-checkout", "refund-loop"], store=SAMPLES)
    everywhere = agent_tt.find("refused", store=SAMPLES)
    assert one.total <= both.total <= everywhere.total
    assert agent_tt.find("refused", "trip-planner", store=SAMPLES).total < everywhere.total
    assert hits("refused", "refund-loop", by="step") != hits("refused", "flaky-checkout", by="step")
    assert len(hits("a", limit=2)) == 2
    assert hits("ref.sed", "flaky-checkout", regex=True, by="step") == hits("refused", "flaky-checkout", by="step")
    assert hits("ref.sed", "flaky-checkout") == []
    steps = [step for step, _ in hits("refused", "flaky-checkout", by="step")]
    assert steps == sorted(steps)
    assert {where for _, where in hits("refused", "flaky-checkout", fields=["error"])} == {"error"}
    with pytest.raises(NotFound):
        agent_tt.find("x", "nobody", store=SAMPLES)
    with pytest.raises(UsageError):
        agent_tt.find("x", fields=["nothing"], store=SAMPLES)
    with pytest.raises(UsageError):
        agent_tt.find("", store=SAMPLES)


def test_the_store_of_the_project_is_asked_if_no_other_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AGENT_TT_STORE", str(SAMPLES))
    assert agent_tt.find("refused", "flaky-checkout").hits
    assert agent_tt.find_steps("flaky-checkout", "error")
    assert agent_tt.diff("refund-loop@1", "refund-loop@2")
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "none.db"))
    for ask in (
        lambda: agent_tt.find("x"),
        lambda: agent_tt.find_steps("x", "error"),
        lambda: agent_tt.diff("a@1", "a@2"),
    ):
        with pytest.raises(StoreNotFound):
            ask()


def test_two_states_are_compared_from_the_old_to_the_new() -> None:
    forth = agent_tt.diff("refund-loop@1", "refund-loop@3", store=SAMPLES)
    back = agent_tt.diff("refund-loop@3", "refund-loop@1", store=SAMPLES)
    assert {change.path for change in forth} & {change.path for change in back}
    found = next(change for change in forth if change.path == "attempts")
    assert (found.old, found.new) == (1, 3)
    again = next(change for change in back if change.path == "attempts")
    assert (again.old, again.new) == (3, 1)
    assert agent_tt.diff("refund-loop@2", "refund-loop@2", store=SAMPLES) == []
    assert agent_tt.diff(f"{SAMPLES}:refund-loop@1", f"{SAMPLES}:refund-loop@3") == forth
    assert agent_tt.diff("refund-loop@~19", "refund-loop@error", store=SAMPLES)
    for text in ("refund-loop", "nobody@1", "refund-loop@999"):
        with pytest.raises(AgentTTError):
            agent_tt.diff(text, "refund-loop@1", store=SAMPLES)


def test_a_value_is_asked_about_at_the_end_unless_another_step_is_named() -> None:
    with closing(agent_tt.open_source(SAMPLES, read_only=True)) as source:
        last = source.step_count(source.run("flaky-checkout").id)
    assert agent_tt.blame("flaky-checkout", "answer", store=SAMPLES).step == last
    assert agent_tt.blame("flaky-checkout", "payment.amount", 7, store=SAMPLES).step == 7
    assert agent_tt.blame("flaky-checkout", "payment.amount", "@error", store=SAMPLES).step == 7


@pytest.mark.parametrize(
    ("written", "text", "path", "compares"),
    [
        (" state.n > 5 ", "state.n > 5", ("n",), True),
        ("n", "n", ("n",), False),
        ("state.n", "state.n", ("n",), False),
        ('"odd key".x', None, None, None),
        ("tokens > 5", "tokens > 5", None, True),
        ("state.n > 5 and error", "state.n > 5 and error", None, True),
        ("len(state.n) == 2", "len(state.n) == 2", None, True),
    ],
)
def test_a_question_about_the_last_step_is_a_path_or_a_comparison(
    written: str, text: str | None, path: Any, compares: bool | None
) -> None:
    if text is None:
        with pytest.raises(InvalidExpression):
            parse_predicate(written)
        return
    found = parse_predicate(written)
    assert (found.text, found.path, found.compares) == (text, path, compares)
    if path:
        assert (found.look({"n": 7}), found.look({})) == (7, MISSING)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"a": ["x", 1, None, True], "b": {}},
            [(("a",), "a"), (("a", 0), "x"), (("a", 1), "1"), (("a", 3), "true"), (("b",), "b")],
        ),
        ({"$type": "tuple", "$v": ["x"]}, [(("$v", 0), "x")]),
        ({"$type": "bytes", "$v": "AAAA"}, []),
        ({"$type": "other", "dtype": "f8", "$v": "AAAA"}, []),
        ({"$type": "opaque", "repr": "<x>", "$v": "no"}, [((), "<x>")]),
    ],
)
def test_the_texts_of_a_value(value: Any, expected: list[Any]) -> None:
    assert [*texts(value)] == expected
    assert [*texts(value, ("p",))] == [(("p", *path), text) for path, text in expected]


def test_a_place_on_the_way_back_is_json() -> None:
    link = Link("result", 3, 1, "t", "a.b", {"x": 1}, "the same value", "x", (Source(2, None, "input", "c"),))
    assert link.to_json() == {
        "step": 3, "call": 1, "kind": "result", "name": "t", "path": "a.b", "value": {"x": 1}, "why": "the same value",
        "shared": "x", "others": [{"step": 2, "call": None, "name": "input", "path": "c"}],
    }  # fmt: skip


# ---------------------------------------------------------------- what an answer does not speak of


class Hurt(Past):
    """A run of which some steps are known to be damaged."""

    damaged: tuple[int, ...] = ()

    def damaged_steps(self, run_id: str) -> list[int]:
        assert run_id == "run"
        return [*self.damaged]


def unread(*, steps: int = 8, state: Any = None, status: str = "succeeded", damaged: Any = (), **facts: Any) -> Any:
    source = Hurt(**facts)
    source.damaged = damaged
    made = [Did(f"s{n}", tool="t", state={"n": n} if state is None else state) for n in range(1, steps + 1)]
    source.add("run", made, state={}, status=status)
    return unread_in(source, source.run("run"))


def test_a_run_that_is_whole_leaves_nothing_out() -> None:
    assert unread() == ()


@pytest.mark.parametrize(
    ("damaged", "words"),
    [
        ((3,), "step 3 cannot be read whole"),
        ((5, 3), "steps 3, 5 cannot be read whole"),
        ((1, 2, 3, 4, 5), "steps 1, 2, 3, 4, 5 cannot be read whole"),
        ((6, 5, 4, 3, 2, 1), "steps 1, 2, 3, 4, 5 and 1 more cannot be read whole"),
        ((0, 1, 2, 3, 4, 5, 6), "steps 0, 1, 2, 3, 4 and 2 more cannot be read whole"),
    ],
)
def test_steps_that_cannot_be_read_are_named(damaged: tuple[int, ...], words: str) -> None:
    assert unread(damaged=damaged) == (words,)


LOST = placeholder("lost")


@pytest.mark.parametrize(
    "facts",
    [
        {"damaged": "its row is gone"},
        {"args": {"a": [LOST]}},
        {"result": [{"a": LOST}]},
        {"error": ErrorInfo("x:Y", "no", "", {"value": LOST})},
    ],
)
def test_so_are_those_of_a_call_that_cannot_be(facts: dict[str, Any]) -> None:
    assert unread(calls_are={(2, 1): facts}) == ("step 2 cannot be read whole",)
    assert unread(calls_are={(2, 1): facts}, damaged=(2, 7)) == ("steps 2, 7 cannot be read whole",)
    source = Past(calls_are={(1, 1): facts})
    source.add("run", [Did("s", tool="t", args=1, result=2), Did("s", tool="t")], state={})
    assert [is_damaged(source.calls("run", number)[0]) for number in (1, 2)] == [True, False]


@pytest.mark.parametrize("state", [SEALED, {"a": SEALED}, [0, {"b": [SEALED]}]])
def test_values_that_stay_closed_are_said(state: Any) -> None:
    assert unread(state=state) == ("values that are encrypted or pickled stay closed",)
    assert unread(state=state, damaged=(1,), status="running") == (
        "step 1 cannot be read whole",
        "values that are encrypted or pickled stay closed",
        "it still runs",
    )


@pytest.mark.parametrize(
    ("value", "closed"),
    [
        (SEALED, True),
        ({"$type": "opaque", "why": "other"}, False),
        ({"$type": "x", "why": "sealed"}, False),
        ([], False),
    ],
)
def test_a_value_is_closed_that_is_sealed(value: Any, *, closed: bool) -> None:
    assert is_closed(value) is closed
    assert bool(unread(state={"x": value})) is closed


def test_where_a_run_cannot_be_read_at_all_the_reason_is_said() -> None:
    class Gone(Hurt):
        def state(self, run_id: str, step: int) -> Any:
            raise Damaged(f"{run_id} at {step} is gone")

    source = Gone()
    source.add("run", [Did("s")], state={}, status="running")
    assert unread_in(source, source.run("run")) == ("run at 1 is gone", "it still runs")
