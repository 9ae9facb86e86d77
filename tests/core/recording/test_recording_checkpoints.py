"""Which steps get a checkpoint, and what the others show."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.request import ForkRequest
from agent_tt.model import AgentCode, NewRun
from agent_tt.model.facts import StepFacts
from agent_tt.recording.runs.recorder import Recording
from agent_tt.recording.steps.checkpointing import parse_rules
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.protocols import Store


@agent_tt.tool(effect="write")
def pay(amount: int) -> str:
    return f"paid {amount}"


@agent_tt.tool(effect="read")
def look() -> int:
    return 1


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "runs.db", create=True)


@pytest.fixture
def recorded(store: Store, tmp_path: Path) -> Callable[..., Run]:
    """Record nine steps: the fifth fails, the seventh pays in its middle."""

    def record(checkpoints: object) -> Run:
        state: dict[str, object] = {"n": 0, "log": []}
        with agent_tt.record("nine", state=state, store=tmp_path / "runs.db", checkpoints=checkpoints) as run:
            for number in range(1, 10):
                try:
                    with run.step(f"s{number}", state):
                        state["n"] = number
                        look()
                        if number == 5:
                            raise ValueError("told to")
                        if number == 7:
                            state["log"] = [pay(number)]
                except ValueError:
                    pass
        return store.run("latest")

    return record


def taken(store: Store, run: Run) -> list[int]:
    return [step.number for step in store.steps(run.id) if step.seq is not None]


@pytest.mark.parametrize(
    ("rules", "numbers"),
    [
        ("all", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("none", [9]),
        ("every:4", [4, 8, 9]),
        ("error", [5, 9]),
        ("write", [6, 9]),
        ("every:4,error", [4, 5, 8, 9]),
        (["error", lambda step: step.name == "s2"], [2, 5, 9]),
        (lambda step: step.state["n"] in (3, 8), [3, 8, 9]),
    ],
)
def test_only_the_steps_that_a_rule_names_and_the_last_have_a_checkpoint(
    store: Store, recorded: Callable[..., Run], rules: object, numbers: list[int]
) -> None:
    run = recorded(rules)
    assert taken(store, run) == numbers
    assert store.verify() == []
    for step in store.steps(run.id):
        assert (step.seq is None) == (step.number not in numbers)
        assert step.extra.get(StepFacts.without_checkpoint.key, False) or step.number in numbers
        newest = max((number for number in numbers if number <= step.number), default=0)
        assert store.state(run.id, step.number)["n"] == newest
    assert store.state(run.id, 9) == {"n": 9, "log": ["paid 7"]}


def test_the_state_before_a_writing_tool_is_that_before_its_step(store: Store, recorded: Callable[..., Run]) -> None:
    run = recorded("write")
    assert store.state(run.id, 6) == {"n": 6, "log": []}


def test_sampling_is_the_same_for_one_seed(store: Store, recorded: Callable[..., Run]) -> None:
    first, again, other = (taken(store, recorded(f"sample:0.5:{seed}")) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert 1 < len(first) < 9


def test_a_predicate_that_fails_costs_a_checkpoint_and_one_line(
    store: Store, recorded: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    run = recorded(lambda step: 1 // (step.number % 2))
    assert run.status == "succeeded"
    assert taken(store, run) == list(range(1, 10))
    (said,) = [record.getMessage() for record in caplog.records if "predicate" in record.getMessage()]
    assert said.startswith("the predicate <lambda> for checkpoints failed at step 2 with ZeroDivisionError: ")


async def _asks(_step: object) -> bool:
    return True


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ("sometimes", "'sometimes' is not a rule for checkpoints"),
        ("every:0", "'every:0' is not a rule"),
        ("every", "'every' is not a rule"),
        ("sample:2", "a share lies between 0 and 1"),
        ("", "'' is not a rule"),
        ([], "no rule says"),
        ([3], "a int is not a rule"),
        (3, "a int is not a rule"),
        (lambda: True, "does not take a step"),
        (_asks, "is async; it has to be a plain function"),
    ],
)
def test_an_invalid_rule_or_predicate_is_refused_before_anything_runs(rules: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        agent_tt.record("never", checkpoints=rules)


def test_a_fork_is_not_handed_a_state_that_is_older_than_its_step(store: Store, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def main(state=None): pass\n")
    code = AgentCode(entry="agent:main", root=str(tmp_path), cwd=str(tmp_path), restore="state")
    state = {"n": 0}
    rules = parse_rules("every:2")
    recording = Recording(NewRun("made", code), state, store=tmp_path / "runs.db", durability="full", rules=rules)
    with recording as run:
        for number in range(1, 4):
            with run.step("s", state):
                state["n"] = number
    made = store.run("latest")
    assert plan_fork(store, made, ForkRequest(2, by="restore")).state == {"n": 2}
    with pytest.raises(UsageError, match="after step 1 s: no checkpoint was taken of it") as error:
        plan_fork(store, made, ForkRequest(1, by="restore"))
    assert error.value.hint == "fork after step 0, the input"
    assert plan_fork(store, made, ForkRequest(1)).by == "replay"


def test_a_program_is_recorded_with_some_checkpoints_and_the_screen_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from agent_tt_tui.cli.root import run as main

    program = tmp_path / "program.py"
    program.write_text(
        "import agent_tt\n"
        "@agent_tt.llm\n"
        "def ask(messages): return {'role': 'assistant', 'content': str(len(messages))}\n"
        "messages = [{'role': 'user', 'content': 'go'}]\n"
        "for _ in range(5):\n"
        "    messages += [ask(messages), {'role': 'user', 'content': 'on'}]\n"
    )
    monkeypatch.chdir(tmp_path)
    where = ["--store", str(tmp_path / "runs.db")]
    assert main(["record", "--checkpoints", "sometimes", *where, "--", sys.executable, "program.py"]) == 2
    assert "'sometimes' is not a rule for checkpoints" in capsys.readouterr().err
    assert main(["record", "--checkpoints", "every:2", *where, "--", sys.executable, "program.py"]) == 0
    with closing(open_store(tmp_path / "runs.db")) as store:
        assert taken(store, store.run("latest")) == [2, 4, 5]
    capsys.readouterr()
    assert main(["show", "latest", "3", *where]) == 0
    assert "no checkpoint, state of an earlier step" in capsys.readouterr().out


def test_a_step_whose_state_could_not_be_read_says_so_and_whose_state_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from agent_tt_tui.cli.root import run as main

    class Desk:
        asked = 0

        def get_state(self) -> dict[str, int]:
            if self.asked == 2:
                raise LookupError("no state")
            return {"asked": self.asked}

    desk, path = Desk(), tmp_path / "runs.db"
    with agent_tt.record("desk", state=desk, store=path) as run:
        for desk.asked in (1, 2, 3):
            with run.step("ask"):
                pass
    with closing(open_store(path)) as store:
        assert [step.is_unkept for step in store.steps(store.run("desk").id)] == [False, True, False]
    where = ["--store", str(path)]
    said = "no checkpoint, its state could not be read (LookupError: no state); state of an earlier step"
    assert main(["show", "desk@2", *where]) == 0
    assert said in capsys.readouterr().out
    main(["diff", "desk@1", "desk@2", *where])
    assert said in capsys.readouterr().err
    assert main(["export", "desk", "--at", "2", "--markdown", *where]) == 0
    assert "The state after this step was not kept." in capsys.readouterr().out
