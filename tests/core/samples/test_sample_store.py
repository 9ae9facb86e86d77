"""Listing samples, and putting them into a user's store."""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from contextlib import closing

import pytest

from agent_tt import samples
from agent_tt.cache_files import cache_folder
from agent_tt.errors import AgentFailed, NotFound, UsageError
from agent_tt.store import open_store

pytestmark = pytest.mark.warm


def test_every_entry_point_and_version_is_a_function_that_takes_a_state():
    for sample in samples.names():
        for entry in (sample.entry, *sample.versions):
            file, _, name = entry.partition(":")
            tree = ast.parse((samples.folder() / file).read_text(encoding="utf-8"))
            functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
            function = next(node for node in functions if node.name == name)
            assert [argument.arg for argument in function.args.args] == ["state"]


def test_an_unknown_sample_is_refused_and_the_nearest_is_named(store_path):
    with pytest.raises(NotFound, match="no sample called 'refund-lop'") as caught:
        samples.ensure("refund-lop", store_path)
    assert caught.value.nearest == ("refund-loop",)
    assert samples.find("refund-lop") is None
    assert not store_path.exists()


def test_ensure_copies_a_shipped_run_once(store_path, opened):
    first = samples.ensure("refund-loop", store_path)
    assert samples.ensure("refund-loop", store_path) == first
    assert [run.name for run in opened().runs()] == ["refund-loop"]
    assert opened().verify() == []


def test_a_copied_run_names_the_code_of_this_installation(store_path, opened):
    samples.ensure("trip-planner", store_path)
    run = opened().run("trip-planner")
    assert run.code.entry == "trip_planner.py:main"
    assert run.code.root == str(samples.folder())
    assert run.code.restore == "state"
    assert run.code.interpreter in {None, sys.executable}


def test_an_own_run_that_is_named_like_a_sample_is_not_taken_for_it(store_path, opened, agent):
    agent("refund_loop").main_v2()
    copied = samples.ensure("refund-loop", store_path)
    assert opened().step_count(copied) == 21


def test_shipped_runs_are_one_file_that_reading_does_not_touch(tmp_path):
    shipped = samples.folder() / samples.SHIPPED_RUNS
    before = shipped.read_bytes()
    with closing(open_store(shipped, read_only=True)) as store:
        assert {run.name for run in store.runs()} == {sample.name for sample in samples.names() if sample.prebuilt}
        assert store.verify() == []
    assert shipped.read_bytes() == before
    assert [path.name for path in shipped.parent.glob("runs.db*")] == ["runs.db"]


def test_shipped_runs_say_nothing_about_the_machine_they_were_made_on():
    content = (samples.folder() / samples.SHIPPED_RUNS).read_bytes()
    for trace in (str(samples.folder()), sys.executable, tempfile.gettempdir(), '"host"', '"pid"'):
        assert trace.encode() not in content
    with closing(open_store(samples.folder() / samples.SHIPPED_RUNS, read_only=True)) as store:
        assert 'File "refund_loop.py", line' in store.run("refund-loop").error.traceback


def test_long_haul_is_made_on_demand_and_tells_how_far_it_is(store_path, opened):
    seen = []
    run_id = samples.build("long-haul", store_path, lambda done, total: seen.append((done, total)), steps=60)
    run = opened().run("long-haul")
    assert (run.id, run.steps, run.status) == (run_id, 60, "succeeded")
    assert seen[-1] == (60, 60)
    assert seen == sorted(seen)
    assert len(opened().state(run_id, 60)["messages"]) == 1 + 2 * 60


def test_long_haul_goes_on_where_it_was_stopped_and_then_leaves_nothing_behind(store_path, opened):
    kept = cache_folder("samples")

    def stop_at(least):
        def stop(done, _total):
            if done >= least:
                raise KeyboardInterrupt

        return stop

    for least in (20, 300):  # it is also stopped while it goes on
        with pytest.raises(KeyboardInterrupt):
            samples.build("long-haul", store_path, stop_at(least), steps=2000)
    assert not store_path.exists()
    (half,) = kept.iterdir()
    with closing(open_store(half / "long-haul.db", read_only=True)) as source:
        (broken,) = source.runs()
        assert 300 <= broken.steps < 2000
        assert broken.status in {"crashed", "interrupted"}
    assert samples.build("long-haul", store_path, steps=3)  # another length is another run
    assert half.exists()
    seen = []
    run_id = samples.build("long-haul", store_path, lambda done, total: seen.append((done, total)), steps=2000)
    assert seen[0][0] >= 300
    assert seen[-1] == (2000, 2000)
    assert seen == sorted(seen)
    run = opened().run(run_id)
    assert (run.id, run.steps, run.status) == (broken.id, 2000, "succeeded")
    assert len(opened().state(run_id, 2000)["messages"]) == 1 + 2 * 2000
    assert opened().verify() == []
    assert list(kept.iterdir()) == []


def test_a_sample_that_cannot_go_on_is_begun_anew_the_next_time(store_path, opened, monkeypatch):
    def stop(done, _total):
        if done >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        samples.build("long-haul", store_path, stop, steps=1000)
    monkeypatch.setattr("agent_tt.samples._resume", lambda *_: (3, "the reason"))
    with pytest.raises(AgentFailed, match="exit code 3"):
        samples.build("long-haul", store_path, steps=1000)
    run_id = samples.build("long-haul", store_path, steps=1000)
    assert opened().run(run_id).steps == 1000


def test_where_the_cache_cannot_be_used_long_haul_is_made_all_the_same(store_path, opened, tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    samples.build("long-haul", store_path, steps=3)
    assert opened().run("long-haul").steps == 3


def test_the_length_of_other_samples_cannot_be_set(store_path):
    with pytest.raises(UsageError, match="refund-loop has as many steps as its agent makes"):
        samples.build("refund-loop", store_path, steps=5)


def took(store, name):
    """Seconds that each call of a run took. How often the recorder looks at its clock adds some milliseconds."""
    run = store.run(name)
    calls = [call for step in store.steps(run.id) for call in store.calls(run.id, step.number)]
    return [(call.ended_us - call.started_us) / 1e6 for call in calls]


def test_one_command_records_the_shipped_runs_again(tmp_path):
    target = tmp_path / "again.db"
    done = subprocess.run(
        [sys.executable, str(samples.folder() / "build.py"), str(target)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.count("\n") == 4
    assert [path.name for path in tmp_path.iterdir()] == ["again.db"]
    shipped = samples.folder() / samples.SHIPPED_RUNS
    with closing(open_store(target, read_only=True)) as store, closing(open_store(shipped, read_only=True)) as before:
        assert {run.name: run.steps for run in store.runs()} == {
            sample.name: sample.steps for sample in samples.names() if sample.prebuilt
        }
        for run in before.runs():
            assert took(store, run.name) == pytest.approx(took(before, run.name), abs=0.01)


def test_an_agent_run_by_its_path_records_into_the_store_of_the_user(tmp_path, store_path, opened):
    done = subprocess.run(
        [sys.executable, str(samples.folder() / "refund_loop.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("TimeoutError: gave up after 20 searches without an answer")
    assert opened().run("refund-loop").steps == 21
