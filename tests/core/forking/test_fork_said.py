"""What is said of tools where a fork is started: in code, by commands and of sweeps in the same order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.core.forking.test_fork_plan_ways import begin, ended, step

import agent_tt
import agent_tt.sweeping.running  # first: what is imported while `start_fork` is another one would keep that
from agent_tt.errors import UsageError
from agent_tt.forking.request import ForkRequest
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.plan import plan_sweep
from agent_tt_tui.cli.root import run

if TYPE_CHECKING:
    from conftest import Project

    from agent_tt.forking.plan import ForkPlan

ByCommand = Callable[..., dict[str, tuple[str, str]]]


@pytest.fixture
def shop(project: Project) -> Project:
    """A run whose tool `look` says nothing of what it does."""
    writer = begin(project)
    step(writer, "look", {"n": 1}, ("tool", "look", 1))
    step(writer, "look", {"n": 2}, ("tool", "look", 2))
    ended(project, writer)
    return project


def in_code(shop: Project, monkeypatch: pytest.MonkeyPatch, **said: object) -> ForkPlan:
    """The fork that `agent_tt.fork` would start."""
    monkeypatch.setattr("agent_tt.rerunning.launch.start_fork", lambda plan, **_: plan)
    return agent_tt.fork("trip", 1, store=shop.store.path, **said)  # type: ignore[arg-type,return-value]


@pytest.fixture
def by_command(shop: Project, capsys: pytest.CaptureFixture[str]) -> ByCommand:
    """Effect and policy by tool, as the pre-flight of a command gives them."""

    def call(command: str, *words: str) -> dict[str, tuple[str, str]]:
        code = run([command, "trip", "--at", "1", "--dry-run", "--json", "--store", str(shop.store.path), *words])
        done = capsys.readouterr()
        assert code == 0, done.err
        told = json.loads(done.out)
        return {row["name"]: (row["effect"], row["policy"]) for row in told.get("fork", told)["boundary"]}

    return call


def of(plan: ForkPlan) -> dict[str, tuple[str | None, str]]:
    return {row.name: (row.effect, row.policy) for row in plan.boundary}


def test_what_the_policy_says_of_a_name_holds_though_it_is_allowed_too(
    shop: Project, by_command: ByCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = in_code(shop, monkeypatch, allow=["look"], policy={"look": "deny"})
    assert of(plan)["look"][1] == "deny"
    for words in (("--allow", "look", "--policy", "look=deny"), ("--policy", "look=deny", "--allow", "look")):
        assert by_command("fork", *words)["look"][1] == "deny"
    swept = by_command("sweep", "--samples", "2", "--allow", "look", "--policy", "look=deny")
    assert swept["look"][1] == "deny"
    # What is only allowed runs, and a rule for a boundary is weaker than one for a name.
    plan = in_code(shop, monkeypatch, allow=["look"], effects={"look": "write"}, policy={"*write": "deny"})
    assert of(plan)["look"][1] == "live"
    assert (
        by_command("fork", "--allow", "look", "--effect", "look=write", "--policy", "*write=deny")["look"][1] == "live"
    )


def test_what_a_tool_does_can_be_said_in_code_and_of_a_sweep(
    shop: Project, by_command: ByCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of(in_code(shop, monkeypatch))["look"] == (None, "live")
    plan = in_code(shop, monkeypatch, effects={"look": "write"})
    assert (of(plan)["look"], plan.effects_said) == (("write", "deny"), {"look": "write"})
    assert by_command("fork", "--effect", "look=write")["look"] == ("write", "deny")
    assert by_command("sweep", "--samples", "2", "--effect", "look=write")["look"] == ("write", "deny")
    definition = Definition((Axis("set", "n", (1, 2)),), fork=ForkRequest(1, effects={"look": "write"}))
    assert of(plan_sweep(shop.store, "trip", definition).first)["look"] == ("write", "deny")
    for begun in (agent_tt.fork, agent_tt.sweep):
        with pytest.raises(UsageError, match="read"):
            begun("trip", 1, {"n": [1, 2]}, effects={"look": "reads"}, store=shop.store.path)
    line = ["sweep", "trip", "--at", "1", "--samples", "2", "--store", str(shop.store.path), "--effect", "look=reads"]
    assert run(line) == 2


def test_what_is_said_of_forks_is_refused_where_none_is_made(shop: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--effect", "look=write"), ("--allow", "look"), ("--policy", "look=deny")):
        assert run(["bisect", "trip", "state.n", "--store", str(shop.store.path), *words]) == 2
        assert "add --live" in capsys.readouterr().err
