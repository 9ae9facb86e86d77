"""What a run did to the world, as the commands tell it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.forking.test_known_tools import openai
from tests.core.store.recordings import begin, call, new_store

from agent_tt.model import CallEnd, ErrorInfo, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

NO = ErrorInfo("agent_tt.errors:ToolDenied", "mail was not run")


@pytest.fixture
def shop(command: Command, tmp_path: Path) -> str:
    del command  # it sets up the folder
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {}, "shop")
        number = writer.open_step(NewStep("pay"))
        person = {"answered": {"word": "run"}, "args_asked": {"amount": 30}}
        call(writer, number, {"q": "a"}, {"docs": []})
        call(writer, number, {"amount": 7}, {"paid": 7}, name="charge", effect="write", meta=person)
        denied = {"status": "denied", "error": NO}
        call(writer, number, {"to": "a\x1b[31m@b.c"}, None, name="mail\x1b[2J", effect="write", **denied)
        writer.close_step(number, StepEnd("ok"), {})
        writer.finish("succeeded")
        begin(store, {}, "quiet").finish("succeeded")
    return str(tmp_path / "runs.db")


def test_the_ledger_is_a_line_for_each_call_and_fits(command: Command, shop: str) -> None:
    done = command("show", "shop", "--effects", "--store", shop)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert all(len(line) <= 80 for line in lines), lines
    assert "\x1b" not in done.out
    assert lines[1].split() == ["STEP", "HAPPENED", "CALL", "DECIDED", "BY", "AT"]
    assert lines[2].split() == ["1", "sent", "edited", "charge(amount=7)", "=", '{"paid":', "7}", "a", "person"]
    assert lines[3].split() == ["asked", "amount=30"]
    assert lines[4].split()[:2] == ["1", "denied"]
    assert lines[5].split() == ["read", "search", "×1"]
    assert "Nothing went out" in command("show", "quiet", "--effects", "--store", shop).out


def test_a_tool_that_ran_and_that_nothing_recorded_is_not_said_to_have_done_nothing(
    command: Command, tmp_path: Path
) -> None:
    with closing(new_store(tmp_path, "shown.db")) as store:
        writer = begin(store, {}, "loop")
        for made in openai():
            number = writer.open_step(NewStep("ask"))
            asked = writer.begin_call(number, NewCall("llm", made.name, made.args, "ab" * 16))
            writer.end_call(number, asked, CallEnd("ok", made.result))
            writer.close_step(number, StepEnd("ok"), {})
        writer.finish("succeeded")
        # Handed the state after all that, its process ran none of it.
        store.begin_fork(NewFork(writer.run_id, 2, state={}, new=NewRun(name="later")))
    path = str(tmp_path / "shown.db")
    out = command("show", "loop", "--effects", "--store", path).out
    assert "Nothing of what was recorded went out" in out
    assert "charge ran, and what that did is not known" in out
    assert command("show", "loop", "--effects", "--json", "--store", path).json["unrecorded"] == ["charge"]
    assert command("show", "later", "--effects", "--json", "--store", path).json["unrecorded"] == []


def test_that_nothing_went_out_is_said_no_further_than_it_is_known(command: Command, tmp_path: Path) -> None:
    with closing(new_store(tmp_path, "said.db")) as store:
        writer = begin(store, {}, "reader")
        number = writer.open_step(NewStep("look"))
        call(writer, number, {"q": "a"}, {"docs": []})
        writer.close_step(number, StepEnd("ok"), {})
        writer.finish("succeeded")
        writer = begin(store, {}, "unseen")
        writer.finish("succeeded")
        store.set_metadata(writer.run_id, RunFacts.unseen_libraries.entry(["pycurl"]))
        begin(store, {}, "quiet").finish("succeeded")
    where = ("--effects", "--store", str(tmp_path / "said.db"))
    assert "Nothing went out but reads, and nothing" in command("show", "reader", *where).out
    assert "Nothing of what was recorded went out, and nothing" in command("show", "unseen", *where).out
    assert "Nothing went out, and nothing" in command("show", "quiet", *where).out


def test_the_ledger_speaks_json(command: Command, shop: str) -> None:
    told = command("show", "shop", "--effects", "--json", "--store", shop).json
    assert told["run"]["name"] == "shop"
    assert [(row["name"], row["happened"], row["args"], row["asked"]) for row in told["effects"]] == [
        ("charge", "sent edited", {"amount": 7}, {"amount": 30}),
        ("mail\x1b[2J", "denied", {"to": "a\x1b[31m@b.c"}, {}),
    ]
    assert (told["reads"], told["models"]) == ({"search": 1}, {})
    assert told["summary"] == "went out: charge ×1; held back: mail\x1b[2J ×1"


def test_effects_are_those_of_a_whole_run(command: Command, shop: str) -> None:
    done = command("show", "shop", "1", "--effects", "--store", shop)
    assert (done.code, "whole run" in done.err) == (2, True)


def test_a_comparison_ends_with_what_each_run_did(command: Command, shop: str) -> None:
    out = command("compare", "quiet", "shop", "--store", shop).out
    assert "B  went out: charge ×1; held back: mail" in out
    assert (
        command("compare", "quiet", "shop", "--json", "--store", shop)
        .json["outcome_b"]["effects"]
        .startswith("went out: charge ×1")
    )
