"""`agent-tt watch`: what it keeps, lists and follows, for people and for programs."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.core.store.recordings import begin, new_store, step

from agent_tt.querying.watches.live_watch import LiveWatch
from agent_tt.sources import open_source
from agent_tt_tui.cli.asking import watch as watch_command

if TYPE_CHECKING:
    from tests.tui.cli.conftest import Command

SAMPLES = Path(__file__).parents[3] / "sample_runs" / "runs.db"
OVERCHARGED = "state.payment.amount > 1000"


@pytest.fixture
def watch(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command, of the run flaky-checkout."""
    shutil.copy(SAMPLES, tmp_path / "runs.db")
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    return lambda *words: command("watch", "flaky-checkout", *words)


def test_what_is_kept_is_listed_with_where_it_holds(watch):
    assert watch().out == "nothing is watched in flaky-checkout yet\n"
    made = watch(OVERCHARGED, "--name", "overcharged", "--break", "--json").json["watches"]
    watch("error")
    watch('tool == "charge_card" and args.amount > 100', "--break")
    watch("step > 99")
    listed = watch("--json")
    assert listed.code == 0
    assert list(listed.json) == ["run", "watches"]
    assert listed.json["watches"][0] == made[0]
    assert made[0] == {
        "id": made[0]["id"],
        "letter": "A",
        "name": "overcharged",
        "where": OVERCHARGED,
        "break": True,
        "on": True,
        "count": 5,
        "first": 6,
        "last": 10,
        "now": True,
        "spans": [[6, 10]],
        "stops": [6],
        "error": None,
    }
    figures = [(each["letter"], each["count"], each["now"], each["stops"]) for each in listed.json["watches"]]
    assert figures[1:] == [("B", 3, False, None), ("C", 3, False, [7, 8, 9]), ("D", 0, False, None)]
    lines = watch().out.splitlines()
    assert lines[1].split() == ["A", "overcharged", *OVERCHARGED.split(), "5", "6–10", "holds,", "break"]
    assert all(len(line) <= 80 for line in lines)
    assert watch("D").code == 1


def test_it_is_changed_by_letter_name_or_its_words_and_taken_away(watch):
    watch(OVERCHARGED, "--name", "much")
    assert watch("much", "--break", "--json").json["watches"][0]["break"] is True
    off = watch("A", "--off", "--json").json["watches"][0]
    assert (off["on"], off["count"], off["now"], off["break"]) == (False, None, None, True)
    changed = watch(OVERCHARGED, "--on", "--no-break", "--to", "error", "--json").json["watches"][0]
    assert (changed["where"], changed["on"], changed["break"], changed["count"]) == ("error", True, False, 3)
    assert watch("error", "--json").json["watches"] == [changed]
    assert len(watch("--json").json["watches"]) == 1
    assert watch("much", "--remove").code == 0
    assert watch("--json").json["watches"] == []


def test_what_cannot_be_kept_is_one_clear_line(watch):
    wrong = watch("state.amount >")
    assert wrong.code == 2
    assert "it ends where a value is expected" in wrong.err
    assert watch("nope", "--remove", "--json").error["kind"] == "not_found"
    unknown = watch("B", "--break")
    assert unknown.code == 3
    assert "flaky-checkout has no watch B" in unknown.err
    assert "state.B" in unknown.err
    assert watch("--off").code == watch("error", "--remove", "--break").code == watch("--follow").code == 2


def test_only_what_is_named_is_looked_at(watch, monkeypatch):
    watch(OVERCHARGED)
    watch("error")
    looked = []
    look = LiveWatch.look
    monkeypatch.setattr(LiveWatch, "look", lambda self, run, *more: looked.append(self) or look(self, run, *more))
    assert watch("B", "--json").json["watches"][0]["where"] == "error"
    assert len(set(map(id, looked))) == 1
    watch("--json")
    assert len(set(map(id, looked))) == 3


def test_what_a_file_says_that_cannot_be_answered_is_a_row_with_its_error(watch, tmp_path):
    with closing(open_source(tmp_path / "runs.db")) as source:
        source.add_note(source.run("flaky-checkout").id, None, "watch", '{"where": "state.\\u001b[31m"}')
    shown = watch("--json").json["watches"][0]
    assert (shown["count"], shown["error"]["kind"]) == (None, "invalid_expression")
    told = watch()
    assert told.code == 1
    assert "means nothing here" in told.out
    assert "\x1b" not in told.out


def test_a_run_that_is_over_is_followed_to_its_end_or_from_a_step_to_a_breakpoint(watch):
    watch(OVERCHARGED, "--break")
    watch("error", "--name", "failed")
    followed = watch("--follow")
    assert followed.code == 0
    assert followed.out.splitlines() == [
        "    6  A begins  state.payment.amount > 1000  (state.payment.amount = 13684)",
        *(f"    {step}  failed holds  error  ({ERROR})" for step in (7, 8, 9)),
    ]
    assert watch("--follow", "--after", "0").out.splitlines()[-1].startswith("    6  A breaks  ")
    assert watch("failed", "--follow", "--after", "0").code == 0
    watch("step > 99", "--name", "never")
    assert watch("never", "--follow").code == 1


ERROR = 'error = "PaymentError: 402 insufficient_funds: the bank refused the…'


def test_a_run_that_goes_on_is_followed_until_it_comes_to_a_breakpoint(command, tmp_path, monkeypatch):
    store = new_store(tmp_path)
    writer = begin(store, {"n": 5}, "live")
    step(writer, {"n": -1})
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    command("watch", "live", "state.n < 0", "--break")
    coming = iter([3, 2, -4, 1])
    monkeypatch.setattr(watch_command.time, "sleep", lambda _: step(writer, {"n": next(coming)}))
    done = command("watch", "live", "--follow", "--json")
    assert done.code == 0
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [(event["event"], event["step"]) for event in events] == [("begins", 1), ("ends", 2), ("breaks", 4)]
    assert events[-1] == {
        "event": "breaks",
        "step": 4,
        "watch": "A",
        "name": None,
        "where": "state.n < 0",
        "values": [["state.n", -4]],
    }
    assert store.step_count(writer.run_id) == 4
    store.close()
