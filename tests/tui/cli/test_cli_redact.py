"""`agent-tt redact`: what redaction would take out of a run or a file, and never the values themselves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import agent_tt
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.tui.cli.conftest import Command

ANN, PHONE = "ann@example.com", "+49 170 1234567"


@pytest.fixture(autouse=True)
def _no_rules() -> Iterator[None]:
    yield
    OWN.use(Rules())


def _record(path: Path, redact: str | None = None) -> None:
    @agent_tt.tool(effect="read")
    def look_up_mail(mail: str) -> dict[str, Any]:
        return {"to": [f"call {PHONE}".encode()], "card": 4111111111111111, mail: 1}

    @agent_tt.tool(effect="read")
    def spell(text: str) -> Iterator[str]:
        yield from text

    state: dict[str, Any] = {"by": {}}
    with agent_tt.record("desk", state=state, store=path, redact=redact) as run:
        with run.step("one", state):
            state["by"][ANN] = {"first_name": "Ann"}
            look_up_mail(ANN)
        with run.step("two", state):
            list(spell(f"write to {ANN}, please"))
            state["n"] = 1
        run.note(f"ask {ANN}")


def test_it_says_where_what_stands_in_a_run_and_shows_no_value(command: Command, tmp_path: Path):
    store = tmp_path / "runs.db"
    _record(store)
    said = command("--store", str(store), "redact", "desk", "--check", "--profile", "strict", "--json")
    found = {(hit["kind"], hit["where"], hit["step"], hit["call"]) for hit in json.loads(said.out)["found"]}
    assert found == {
        ("mail", "note", None, None),
        ("mail", "state", 1, None),
        ("named", "state", 1, None),
        ("mail", "arguments", 1, 1),
        ("phone", "result", 1, 1),
        ("number", "result", 1, 1),
        ("mail", "result", 1, 1),
        ("mail", "arguments", 2, 1),
        ("pieces", "stream", 2, 1),
    }
    for words in ((), ("--json",)):
        shown = command("--store", str(store), "redact", "desk", "--check", "--profile", "strict", *words)
        assert shown.code == 1
        assert not any(value in shown.out + shown.err for value in ("ann@", "170", "4111", "Ann"))
    assert command("--store", str(store), "redact", "desk", "--check").code == 0
    assert command("--store", str(store), "redact", "desk", "--check", "--profile", "personal").code == 1


def test_a_run_without_its_personal_data_has_nothing_to_take_out(command: Command, tmp_path: Path):
    store = tmp_path / "runs.db"
    _record(store, "strict")
    said = command("--store", str(store), "redact", "desk", "--check", "--profile", "strict")
    assert (said.code, said.out) == (0, "desk: nothing that is looked for\n")


def test_it_is_tried_first_and_taken_out_when_that_is_said(command: Command, tmp_path: Path):
    store = tmp_path / "runs.db"
    _record(store)
    tried = command("--store", str(store), "redact", "desk", "--profile", "strict")
    assert tried.code == 0
    assert "1 run would be written anew" in tried.out
    assert "nothing was changed yet" in tried.out
    assert command("--store", str(store), "redact", "desk", "--check", "--profile", "strict").code == 1
    done = command("--store", str(store), "redact", "desk", "--profile", "strict", "--yes", "--json").json
    assert (done["done"], done["unsure"], done["clean"], [run["name"] for run in done["runs"]]) == (
        True, 0, True, ["desk"],
    )  # fmt: skip
    assert {"calls", "states", "notes", "pieces of answers"} <= done["changed"].keys()
    assert command("--store", str(store), "redact", "--all", "--check", "--profile", "strict").code == 0
    assert not any(value.encode() in store.read_bytes() for value in (ANN, PHONE))
    verified = command("--store", str(store), "verify", "desk")
    assert (verified.code, "desk: redacted" in verified.out, "(strict)" in verified.out) == (0, True, True)
    again = command("--store", str(store), "redact", "--all", "--yes")
    assert "nothing that is looked for" in again.out


def test_it_wants_runs_or_all(command: Command, tmp_path: Path):
    store = tmp_path / "runs.db"
    _record(store)
    for words in ((), ("desk", "--all")):
        refused = command("--store", str(store), "redact", *words)
        assert (refused.code, "name runs, or say --all" in refused.err) == (2, True)


def test_a_text_is_searched_by_lines_and_what_is_no_text_is_refused(command: Command, tmp_path: Path):
    text = tmp_path / "notes.txt"
    text.write_text(f"nothing\nmail {ANN}\n\npassword: hunter2Xy9Q and {PHONE}\n")
    said = command("redact", str(text), "--check", "--profile", "personal", "--json")
    assert said.code == 1
    assert [(hit["kind"], hit["line"]) for hit in json.loads(said.out)["found"]] == [
        ("mail", 2), ("secret", 4), ("phone", 4),
    ]  # fmt: skip
    text.write_bytes(b"\xff\xfe\x00")
    refused = command("redact", str(text), "--check")
    assert refused.code == 2
    assert "is not a text in UTF-8" in refused.err
