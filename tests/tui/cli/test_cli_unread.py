"""What cannot be looked at is said beside every answer that finds nothing."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.interop.support import database_of

import agent_tt

if TYPE_CHECKING:
    from pathlib import Path

ASKS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "find": (("find", "RUN", "zebra"), "Nothing holds", "Nothing that could be looked at holds"),
    "find --where": (("find", "RUN", "--where", "state.n > 99"), "Nowhere in", "Nowhere known in"),
    "bisect": (("bisect", "RUN", "state.n > 99"), "nowhere: ", "nowhere that is known: "),
    "oddities": (("show", "RUN", "--oddities"), "Nothing is odd about it.", "Nothing is odd about what could"),
}


@agent_tt.tool(effect="read")
def look(n: int) -> dict[str, int]:
    return {"found": n}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    state: dict[str, Any] = {"n": 0}
    with agent_tt.record("shop", state=state, store=path) as run:
        for n in range(3):
            with run.step("look"):
                look(n)
                state["n"] = n
    return path


def damage(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE calls SET result = '{\"found\": 7}' WHERE step = 2")
    connection.close()


def seal(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE checkpoints SET type = 'msgpack+aes'")
    connection.close()


@pytest.mark.parametrize("asked", ASKS)
def test_where_all_was_looked_at_it_is_said_that_nothing_is_there(command, store: Path, asked: str) -> None:
    words, nothing, _ = ASKS[asked]
    done = command(*[word.replace("RUN", "shop") for word in words], "--store", str(store))
    assert nothing in done.out
    assert "not looked at" not in done.out


@pytest.mark.parametrize("asked", ASKS)
def test_damage_is_named_beside_an_answer_that_finds_nothing(command, store: Path, asked: str) -> None:
    damage(store)
    words, nothing, known = ASKS[asked]
    asking = [*(word.replace("RUN", "shop") for word in words), "--store", str(store)]
    done = command(*asking)
    assert nothing not in done.out
    assert known in done.out
    assert "not looked at: step 2 cannot be read whole" in done.out
    told = command(*asking, "--json").json
    assert told["unread"] == ["step 2 cannot be read whole"]


@pytest.mark.parametrize("asked", ["find", "find --where", "bisect"])
def test_values_that_stay_closed_are_named_too(command, tmp_path: Path, asked: str) -> None:
    path = database_of("react", tmp_path)
    seal(path)
    words, nothing, known = ASKS[asked]
    done = command(*[word.replace("RUN", "t") for word in words], "--store", str(path))
    assert nothing not in done.out
    assert known in done.out
    assert "values that are encrypted or pickled stay closed" in done.out


def test_of_a_state_that_stays_closed_nobody_says_that_a_value_is_not_there(command, tmp_path: Path) -> None:
    path = database_of("react", tmp_path)
    seal(path)
    done = command("blame", "t", "budget", "--store", str(path))
    assert "is not known" in done.err
    assert "there is no budget" not in done.err


def test_how_a_run_ended_that_its_file_does_not_tell_is_unknown_in_every_command(command, tmp_path: Path) -> None:
    path = database_of("react", tmp_path)
    seal(path)
    for words in (("runs",), ("show", "t"), ("tree", "t")):
        done = command(*words, "--store", str(path))
        assert "unknown" in done.out, words
        assert "succeeded" not in done.out
    assert command("runs", "--store", str(path), "--json").json[0]["status"] == "unknown"


def test_a_damaged_answer_is_not_said_to_be_another(command, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "same.db"
    with agent_tt.record("same", state={"n": 0}, store=path) as run:
        for _ in range(6):
            with run.step("look"):
                look(1)
    damage(path)
    done = command("show", "same", "--oddities", "--store", str(path))
    assert "other things came back" not in " ".join(done.out.split())
