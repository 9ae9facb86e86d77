"""A search of all threads of a large file ends in time, and says what it looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.core.interop.test_langgraph_sieve import many

from agent_tt.interop.langgraph import source as source_module
from agent_tt.querying.search import newest as newest_module

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file that is taken for a large one."""
    monkeypatch.setattr(source_module, "_FEWEST_SIFTED", 0)
    monkeypatch.setattr(newest_module, "_FEWEST_STEPS", 4)
    monkeypatch.setattr(newest_module, "_LEAST_S", 0)
    return str(many(tmp_path / "large.db", 9))


def test_where_nothing_was_found_in_time_nobody_says_that_nothing_is_there(command, large: str) -> None:
    asking = ("find", "--all", "--regex", "[xyz]{7}", "--store", large)
    done = command(*asking, "--seconds", "0.000001")
    assert done.code == 2
    assert "Nothing that was searched holds '[xyz]{7}'." in done.out
    assert "of 9 runs that may hold it none was searched to the end in 0 s, the rest was not" in " ".join(
        done.out.split()
    )
    assert "--seconds 0" in done.out
    told = command(*asking, "--seconds", "0.000001", "--json").json
    assert told == {
        "hits": [], "total": 0, "complete": False, "searched": 0.111, "newest": 0, "of": 9, "seconds": 0.0,
    }  # fmt: skip


def test_with_time_enough_the_answer_is_that_nothing_is_there(command, large: str) -> None:
    for seconds in ((), ("--seconds", "0"), ("--seconds", "500")):
        done = command("find", "--all", "--regex", "[xyz]{7}", "--store", large, *seconds)
        assert done.out == "Nothing holds '[xyz]{7}'.\n"
        assert done.code == 1


def test_a_list_that_the_newest_fill_says_so(command, large: str) -> None:
    asking = ("find", "--all", "needle", "--limit", "2", "--store", large)
    done = command(*asking)
    assert done.code == 0
    assert "4 hits in 4 runs, the newest of 9 that may hold it; others were not looked at" in " ".join(done.out.split())
    told = command(*asking, "--json").json
    assert (len(told.pop("hits")), told) == (2, {"total": 4, "complete": False, "newest": 4, "of": 9})


def test_a_search_of_a_store_of_ours_is_not_ended(command, tmp_path: Path) -> None:
    import agent_tt

    with agent_tt.record("shop", state={"n": "needle"}, store=tmp_path / "runs.db") as run, run.step("look"):
        pass
    done = command("find", "--all", "needle", "--store", str(tmp_path / "runs.db"), "--seconds", "0.000001", "--json")
    assert done.code == 0
    assert done.json["complete"] is True
