"""`agent-tt find`: in one run, in several, in the whole store."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_tt.cache_files import cache_path
from agent_tt.querying.search import build, finder
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.tui.cli.conftest import Command

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"


@pytest.fixture
def found(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, with the sample runs in its store."""
    shutil.copy(SAMPLES, tmp_path / "runs.db")
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    return command


def names(tmp_path: Path) -> dict[str, str]:
    store = open_store(tmp_path / "runs.db", read_only=True)
    known = {run.id: run.name for run in store.runs()}
    store.close()
    return known


def test_the_whole_store_is_searched_and_each_hit_says_its_run(found: Command, tmp_path: Path) -> None:
    done = found("find", "--all", "refused", "--json")
    known = names(tmp_path)
    assert {known[hit["run"]] for hit in done.json["hits"]} >= {"flaky-checkout"}
    assert done.json["complete"] is True
    scores = [hit["score"] for hit in done.json["hits"]]
    assert scores == sorted(scores, reverse=True)
    told = found("find", "refused", "--all")
    assert all(len(line) <= 80 for line in told.out.splitlines())
    assert "flaky-checkout" in told.out


def test_several_runs_are_named_before_the_text_or_with_an_option(found: Command, tmp_path: Path) -> None:
    known = names(tmp_path)
    both = found("find", "refund-loop", "trip-planner", "search", "--json")
    assert {known[hit["run"]] for hit in both.json["hits"]} == {"refund-loop", "trip-planner"}
    assert found("find", "search", "--run", "refund-loop", "--run", "trip-planner", "--json").json == both.json
    one = found("find", "refund-loop", "search", "--json").json
    assert {known[hit["run"]] for hit in one["hits"]} == {"refund-loop"}


def test_hits_are_equal_texts_by_rank_and_places_by_step(found: Command) -> None:
    ranked = found("find", "refund-loop", '"refund policy"', "--json").json
    in_order = found("find", "refund-loop", '"refund policy"', "--by", "step", "--limit", "1000", "--json").json
    assert ranked["total"] == in_order["total"] == sum(hit["times"] for hit in ranked["hits"]) == len(in_order["hits"])
    assert len(ranked["hits"]) < len(in_order["hits"])
    steps = [hit["step"] for hit in in_order["hits"]]
    assert steps == sorted(steps)
    told = found("find", "refund-loop", '"refund policy"', "--limit", "3").out.splitlines()
    assert len(told) == 4
    assert told[-1].startswith(f"{ranked['total']} hits; these are 3 lines of them")


def test_patterns_and_fields(found: Command) -> None:
    hits = found("find", "flaky-checkout", r"refus(ed|al)", "--regex", "--in", "error", "--json").json["hits"]
    assert {hit["where"] for hit in hits} == {"error"}
    assert found("find", "flaky-checkout", "in:error refused", "--json").json["total"] == sum(h["times"] for h in hits)
    assert found("find", "flaky-checkout", "words", "--in", "nothing").code == 2
    bad = found("find", "flaky-checkout", "a(b", "--regex", "--json")
    assert (bad.code, bad.error["kind"]) == (2, "invalid_expression")


@pytest.mark.parametrize(
    "words", [("only",), (), ("run", "text", "--all"), ("text", "--all", "--run", "run"), ("in:nothing", "--all", "x")]
)
def test_what_names_no_run_or_too_many_is_refused(found: Command, words: tuple[str, ...]) -> None:
    assert found("find", *words).code == 2


def test_deleting_a_run_takes_it_out_of_the_index_at_once(found: Command, tmp_path: Path) -> None:
    assert found("find", "--all", "refund", "--json").json["total"]
    index = cache_path(tmp_path / "runs.db")
    assert b"refund policy" in b"".join(path.read_bytes() for path in index.parent.iterdir())
    assert found("delete", "refund-loop", "--with-forks", "--yes").code == 0
    assert b"refund policy" not in b"".join(path.read_bytes() for path in index.parent.iterdir())


def test_the_index_can_be_turned_off(found: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_index = found("find", "--all", "refund", "--json").json
    shutil.rmtree(cache_path(tmp_path / "runs.db").parent)
    monkeypatch.setenv("AGENT_TT_SEARCH_INDEX", "off")
    assert found("find", "--all", "refund", "--json").json == by_index
    assert not cache_path(tmp_path / "runs.db").parent.exists()


def interrupting(work: Callable[..., object], at: int) -> Callable[..., object]:
    """What a function does, with a Ctrl-C before its call number `at`."""
    calls = 0

    def called(*arguments: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls == at:
            signal.raise_signal(signal.SIGINT)
        return work(*arguments, **named)

    return called


def test_ctrl_c_ends_a_search_with_what_it_found_and_the_next_goes_on(
    found: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_FIRST_BATCH", 1)
    monkeypatch.setattr(build, "_BATCH", 1)
    with monkeypatch.context() as patch:
        patch.setattr(build.Builder, "_write", interrupting(build.Builder._write, 4))
        stopped = found("find", "--all", "e", "--json", "--limit", "10000")
    assert stopped.code == 130
    assert stopped.json["hits"]
    assert stopped.json["complete"] is False
    assert 0 < stopped.json["searched"] < 1

    whole = found("find", "--all", "e", "--json", "--limit", "10000")
    assert "searched" not in whole.json
    assert whole.json["total"] > stopped.json["total"]


def test_a_search_by_reading_that_was_ended_finds_nothing_in_what_it_read_only(
    found: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TT_SEARCH_INDEX", "off")
    monkeypatch.setattr(finder, "gather", interrupting(finder.gather, 2))
    done = found("find", "--all", "nowhere at all")
    assert done.code == 130
    assert done.out.startswith("Nothing that was searched holds 'nowhere at all'.")
    assert "% was searched, the rest was not" in done.out
