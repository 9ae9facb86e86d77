"""A run without its personal data is replayed: beside the key of its marks, and where that key is not."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import agent_tt
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import key_path
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.replaying.block import served
from agent_tt.store import copy_run, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANN, BOB, PHONE = "Ann@example.com", "bob@example.com", "+49 170 1234567"


@pytest.fixture(autouse=True)
def _no_rules() -> Iterator[None]:
    yield
    OWN.use(Rules())
    GIVEN.forget()


@agent_tt.tool(effect="read")
def look_up_person(mail: str, phone: str) -> dict[str, Any]:
    """A tool that gives what it was given back, and somebody else."""
    return {"of": mail, "boss": "boss@corp.example.com", "phone": phone, "card": 4111111111111111}


@agent_tt.tool(effect="read")
def say_text(text: str) -> str:
    """A tool that is told."""
    return f"said {len(text)}"


def _work(first: str, second: str) -> None:
    found = look_up_person(first, PHONE)
    say_text(f"{found['boss']} of {first}, not {second}: {found['card']}")
    say_text(f"again {PHONE.replace(' ', '')} and {PHONE}, not +49 170 7654321 nor +491707654321")
    say_text(f"{second} of {found['of'].lower()}, {found['phone']}, https://host/?to={first.replace('@', '%40')}")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A store with a run of ann and bob, beside the key of its marks."""
    path = tmp_path / "first" / "runs.db"
    with agent_tt.record("desk", store=path, redact="personal") as run, run.step("all"):
        _work(ANN, BOB)
    return path


def _findings(store: Path, first: str, second: str) -> tuple[list[str], list[str]]:
    """Kinds of divergences, and of reservations, when the work is done again on these two."""
    with served("desk", store=store, observe=True) as replay:
        _work(first, second)
    return [finding.kind for finding in replay.findings], [note.kind for note in replay.report().notes]


def test_with_the_key_only_the_same_people_are_as_recorded(recorded: Path):
    assert _findings(recorded, ANN, BOB) == ([], [])
    assert _findings(recorded, "eve@example.com", BOB)[0][0] == "changed request"
    assert _findings(recorded, ANN, ANN)[0] == ["changed request", "changed request"]


def test_without_the_key_marks_correspond_one_to_one_in_order_and_the_report_says_so(recorded: Path, tmp_path: Path):
    second = tmp_path / "second" / "runs.db"
    second.parent.mkdir()
    with closing(open_store(recorded)) as source, closing(open_store(second, create=True)) as target:
        copy_run(source, target, source.run("desk").id)
    assert not key_path(second).exists()
    for people in ((ANN, BOB), ("eve@example.com", "joe@example.com")):
        assert _findings(second, *people) == ([], ["no key"])
    assert _findings(second, ANN, ANN)[0] == ["changed request", "changed request"], "two are not one"
    assert _findings(second, ANN, "bobby@example.com")[0] == ["changed request", "changed request"], "another length"
    with agent_tt.record("plain", store=second) as run, run.step("all"):
        say_text("nothing")
    with served("plain", store=second, observe=True) as replay:
        say_text("nothing")
    assert not replay.report().notes, "it holds no personal data"
    shutil.copy(key_path(recorded), key_path(second))
    assert _findings(second, ANN, BOB) == ([], [])
    assert _findings(second, "eve@example.com", "joe@example.com")[0][0] == "changed request"
