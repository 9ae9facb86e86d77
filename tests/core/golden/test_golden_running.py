"""A golden runs the agent as it is now with recorded answers: each change fails by its own rule and no other."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
import zstandard
from tests.core.golden.desk import keep, record, tried, write

from agent_tt.comparing.runs.comparison import compare_runs
from agent_tt.errors import UsageError
from agent_tt.forking.outside.ledger import effects_of
from agent_tt.golden.golden_file import find_goldens, read_golden
from agent_tt.golden.recording_file import open_recording
from agent_tt.golden.results import KeptResult, read_results
from agent_tt.golden.running import run_golden
from agent_tt.sources import open_source
from agent_tt.store import open_store

pytestmark = pytest.mark.warm

ORDER = ('state["paid"] = find(state["order"])["paid"]', "pass")
LATER = (
    'state["rate"] = rate("EUR")',
    'state["rate"] = rate("EUR"); state["paid"] = find(state["order"])["paid"]',
)
MORE = "        with run.step('more', state):\n            pass\n    return state"


@pytest.fixture
def golden(tmp_path):
    record(tmp_path)
    return keep(tmp_path)


def kept_of(golden) -> list[KeptResult]:
    return read_results(golden.path.parent / "tests.db").get(str(golden.path), [])


def failing(result) -> list[tuple[str, int | None]]:
    return [(kept.rule.kind, judged.step) for kept, judged in result.judgements if judged.verdict == "failed"]


def test_an_unchanged_agent_passes_without_the_store_it_was_recorded_in(golden, tmp_path):
    (tmp_path / "runs.db").unlink()
    result = tried(golden)
    assert (result.outcome, failing(result), result.first) == ("passed", [], "")
    with closing(open_source(result.store)) as source:
        assert compare_runs(source, source.run(result.kept), source, source.run(result.now)).diverged_at is None


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ([('["paid"]\n', '["paid"] + 1\n'), ("state['paid'] *", "(state['paid'] - 1) *")], ("state", 1)),
        ([ORDER, LATER], ("tools", 1)),
        (
            [("    return state", "        with run.step('more', state):\n            pass\n    return state")],
            ("at_most", 3),
        ),
        ([("cost_usd=0.001", "cost_usd=0.002")], ("at_most", 1)),
        ([("EUR.", "EUR!"), (":.2f", ":.1f")], ("answer", 2)),
        ([("    return state", "        raise ValueError('no')\n    return state")], ("ends", 2)),
    ],
    ids=["state", "tool order", "extra step", "cost", "answer", "end"],
)
def test_a_change_fails_by_its_own_rule_and_no_other(golden, tmp_path, changes, broken):
    write(tmp_path, *changes)
    result = tried(golden)
    assert (result.outcome, failing(result)) == ("failed", [broken])
    assert result.new_request is None
    assert sum(result.first in line for line in result.lines()) == 1
    assert f"agent-tt compare {result.kept} {result.now}" in result.compare_command


def test_a_request_that_has_no_recording_is_not_answered_and_fails_with_its_step(golden, tmp_path):
    write(
        tmp_path,
        (
            'with run.step("answer", state) as step:',
            'with run.step("answer", state) as step:\n            refund("K-1")',
        ),
    )
    result = tried(golden)
    assert (result.outcome, failing(result)) == ("failed", [("tools", 2), ("never", 2)])
    assert (result.new_request.name, result.new_request.step) == ("refund", 2)
    assert "asks what was not recorded at step 2" in result.first
    assert sum("refund" in line and "(step 2)" in line for line in result.lines()[1:]) == 2  # both rules
    unknown = {kept.rule.kind for kept, judged in result.judgements if judged.verdict == "unknown"}
    assert unknown == {"ends", "at_most", "answer"}
    (kept,) = kept_of(golden)
    assert (kept.outcome, kept.first, kept.kept, kept.now.id) == ("failed", result.first, result.kept, result.now)
    broken = {rule.sentence: rule for rule in kept.rules if rule.verdict == "failed"}
    assert [rule.step for rule in broken.values()] == [2, 2]
    assert len(kept.rules) == len(result.judgements)
    with closing(open_store(result.store)) as store:
        store.set_metadata(result.kept, dict(store.run(result.now).metadata))
    assert len(kept_of(golden)) == 1  # what inherits the result is none


def test_an_agent_that_is_gone_could_not_be_run_and_has_not_failed(golden, tmp_path):
    (tmp_path / "desk.py").unlink()
    result = tried(golden)
    assert (result.outcome, result.judgements) == ("unknown", ())
    assert result.first.startswith("could not run: ")
    assert "no module desk" in result.first
    (kept,) = kept_of(golden)
    assert (kept.outcome, kept.first, kept.now, kept.rules) == ("unknown", result.first, None, ())


def test_of_one_that_is_stopped_nothing_is_kept(golden):
    result = run_golden(golden, store=golden.path.parent / "tests.db", cancelled=lambda: True)
    assert (result.outcome, "was stopped" in result.first) == ("unknown", True)
    assert kept_of(golden) == []


def test_a_damaged_recording_is_refused(golden):
    packed = bytearray(golden.recording_path.read_bytes())
    packed[len(packed) // 2] ^= 4
    golden.recording_path.write_bytes(packed)
    assert "is damaged" in tried(golden).problem
    golden.recording_path.unlink()
    assert "is missing" in tried(golden).problem


def rewritten(golden, change: str) -> None:
    """Change the store inside of a recording, and pack it again."""
    path = golden.path.parent / "edited.db"
    path.write_bytes(zstandard.ZstdDecompressor().decompress(golden.recording_path.read_bytes(), 1 << 24))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    golden.recording_path.write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))


def test_an_edited_recording_is_refused(golden):
    rewritten(golden, "UPDATE runs SET name = 'another'")
    assert "is damaged" in tried(golden).problem  # its row's proof does not fit
    rewritten(golden, "PRAGMA user_version")
    assert tried(golden).outcome == "unknown"


def test_a_recording_that_was_packed_anew_is_refused_as_edited(golden):
    packed = zstandard.ZstdDecompressor().decompress(golden.recording_path.read_bytes(), 1 << 24)
    golden.recording_path.write_bytes(zstandard.ZstdCompressor(level=1).compress(packed))
    assert "was edited" in tried(golden).problem


def test_the_recording_of_another_golden_is_refused_as_stale(golden, tmp_path):
    (tmp_path / "runs.db").unlink()
    record(tmp_path)
    other = keep(tmp_path, "other")
    golden.recording_path.write_bytes(other.recording_path.read_bytes())
    assert "is stale" in tried(golden).problem
    assert [path.name for path in find_goldens(golden.path.parent)] == ["kept.toml", "other.toml"]


def test_a_golden_reads_again_as_it_was_written_and_its_recording_names_no_folder(golden, tmp_path):
    read = read_golden(golden.path)
    assert (read, read.root) == (golden, tmp_path.resolve())
    with open_recording(read) as store:
        run = store.run(read.run_id)
        assert (run.code.root, run.code.cwd) == (".", ".")


def test_where_no_rule_is_on_nothing_is_said_to_pass(golden, tmp_path):
    golden.path.write_text(golden.path.read_text().replace("kind =", "off = true\nkind ="))
    result = tried(golden)
    assert (result.outcome, result.first) == ("unknown", "no rule is on: nothing was judged")
    write(tmp_path, ('state["order"])', '"K-2")'))
    assert tried(golden).outcome == "failed"


def test_one_of_several_runs_of_a_script_is_not_kept(tmp_path):
    script = (
        "import agent_tt\n"
        "for name in ('desk', 'other'):\n"
        "    with agent_tt.record(name) as run, run.step('work'):\n"
        "        pass\n"
    )
    (tmp_path / "both.py").write_text(script)
    environment = {**os.environ, "AGENT_TT_STORE": str(tmp_path / "runs.db")}
    subprocess.run([sys.executable, "both.py"], cwd=tmp_path, env=environment, check=True)
    with pytest.raises(UsageError, match="desk was recorded with 1 other run by one script"):
        keep(tmp_path)
    assert not (tmp_path / "goldens").exists()


def test_what_runs_stands_in_the_text_file_alone(golden):
    text = golden.path.read_text()
    golden.path.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("agent =")))
    assert "run.agent is missing" in tried(golden).problem


def effects_now(result) -> str:
    with closing(open_source(result.store)) as source:
        return effects_of(source, source.run(result.now), values=False).summary()


def test_nothing_that_a_golden_was_answered_is_said_to_have_gone_out(golden, tmp_path):
    assert effects_now(tried(golden)) == "answered instead: find ×1, rate ×1"
    write(tmp_path, ('state["rate"] = rate("EUR")', 'refund(state["order"])'))
    assert effects_now(tried(golden)) == "held back: refund ×1; answered instead: find ×1"
