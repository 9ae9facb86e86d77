"""`agent-tt drop`: it says what it would do, does it when told, and every command says afterwards what is not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import agent_tt

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "runs.db"
    state: dict[str, Any] = {"turns": []}
    with agent_tt.record("desk", state=state, store=path) as run:
        for number in range(1, 9):
            with run.step(f"turn {number}", state):
                state["turns"].append(number)
                state["now"] = f"in turn {number}"
                state[f"of_{number}"] = number
    return path


def test_it_is_said_first_and_done_when_told(command: Command, made: Path):
    def call(*words: str):
        return command("--store", str(made), *words)

    tried = call("drop", "desk@3")
    assert (tried.code, tried.out) == (
        0,
        "desk: 1 state after step 3 would be dropped\nnothing was changed yet: --yes drops them\n",
    )
    before = call("diff", "desk@1", "desk@6", "--json").json
    assert call("drop", "desk", "3", "--json").json["done"] is False
    assert "dropped" not in call("show", "desk@3").out
    done = call("drop", "desk", "3", "5..6", "--yes", "--json").json
    assert (done["done"], done["steps"], done["clean"]) == (True, [3, 5, 6], True)
    assert call("drop", "desk@3..7", "--yes").out == "desk: 2 states after step 4, 7 dropped\n"
    assert call("drop", "desk@3..7", "--yes").code == 2
    assert call("diff", "desk@1", "desk@8", "--json").json["changes"]
    assert call("diff", "desk@1", "desk@2", "--json").err == ""
    assert before["changes"]


def test_what_is_not_kept_is_said_wherever_a_state_is_shown_compared_asked_forked_and_verified(
    command: Command, made: Path
):
    def call(*words: str):
        return command("--store", str(made), *words)

    call("drop", "desk@3", "--yes")
    said = "no checkpoint kept, it was dropped; state of an earlier step"
    assert said in call("show", "desk@3").out
    assert call("show", "desk@3", "--json").json["state_dropped"] > 0
    for words in (("diff", "desk@3", "desk@4"), ("diff", "desk@3", "desk@4", "--json"), ("blame", "desk@3", "now")):
        assert f"desk@3: {said}" in call(*words).err
    assert call("diff", "desk@2", "desk@4").err == ""
    (made.parent / "desk.py").write_text("def main(state): ...\n")
    planned = call("fork", "desk@3", "--agent", f"{made.parent}/desk.py:main", "--dry-run", "--json")
    assert (planned.code, "its checkpoint was dropped" in planned.out) == (0, True), "it is re-entered by replay"
    verified = call("verify", "desk")
    assert (verified.code, "desk: dropped" in verified.out, "(states after step 3)" in verified.out) == (0, True, True)
    assert [each["steps"] for each in call("verify", "--json").json["dropped"]] == [[3]]
    blamed = call("blame", "desk", "of_3").out
    assert "written by step 4, turn 4, or by 3 turn 3; no checkpoint is kept of 3" in " ".join(blamed.split())
    assert "(or by 3)" in blamed
    assert "(or by" not in call("blame", "desk", "of_5").out


def test_what_cannot_be_dropped_is_refused_with_its_reason(command: Command, made: Path):
    for words, code, why in (
        (("desk",), 2, "desk names no step"),
        (("desk@8",), 2, "is the last of its state"),
        (("desk@0",), 2, "is the input"),
        (("desk@3", "4", "5"), 2, "desk@3 names step 3, and 2 more are named"),
        (("desk@99",), 3, "there is no step 99"),
        (("desk@3..99",), 3, "there is no step 99"),
        (("desk@6..4",), 2, "no step from 6 to 4 has a checkpoint"),
    ):
        refused = command("--store", str(made), "drop", *words, "--yes")
        assert (refused.code, why in refused.err) == (code, True), refused.err
