"""Which runs are kept where only a part of those that succeed is to be."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

import agent_tt
from agent_tt import config
from agent_tt.errors import UsageError
from agent_tt.model.sampling import Sampling, is_in_sample, sample_id, sampling_of
from agent_tt.model.statistics import Chosen
from agent_tt.store import open_store
from agent_tt.store.liveness import now_us

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.warm

NONE = {"successes": 0}


def test_of_ten_thousand_runs_a_tenth_is_kept_and_the_same_in_another_process():
    drawn = random.Random(7)
    ids = ["".join(drawn.choices("0123456789abcdefghjkmnpqrstvwxyz", k=12)) for _ in range(10_000)]
    kept = [run_id for run_id in ids if is_in_sample(run_id, 0.1)]
    deviation = (10_000 * 0.1 * 0.9) ** 0.5
    assert abs(len(kept) - 1_000) <= 4 * deviation
    code = (
        "import json, sys; from agent_tt.model.sampling import is_in_sample\n"
        "print(json.dumps([each for each in json.load(sys.stdin) if is_in_sample(each, 0.1)]))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(ids), capture_output=True, text=True, check=True
    )
    assert json.loads(other.stdout) == kept
    assert set(kept) <= {run_id for run_id in ids if is_in_sample(run_id, 0.2)}, "a larger part holds the smaller one"
    assert not any(is_in_sample(run_id, 0.0) for run_id in ids)
    assert all(is_in_sample(run_id, 1.0) for run_id in ids)


def test_runs_of_one_trace_agree():
    trace = "0af7651916cd43dd8448eb211c80319c"
    assert sample_id("run", {"TRACEPARENT": f"00-{trace}-b7ad6b7169203331-01"}) == trace
    assert sample_id("run", {"TRACEPARENT": "nonsense"}) == sample_id("run", {}) == "run"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"successes": 2}, "from 0 to 1"),
        ({"successes": True}, "from 0 to 1"),
        ({"slow": 3}, "must be a string"),
        ({"slow": "soon"}, "not a length of time"),
        ({"failures": 0.1}, "there is no 'failures'"),
    ],
)
def test_what_is_no_sampling_is_refused_in_code_and_in_settings(words: dict[str, object], message: str, tmp_path: Path):
    with pytest.raises(UsageError, match=message):
        agent_tt.record("x", sampling=words, store=tmp_path / "runs.db")
    said = ", ".join(f"{name} = {json.dumps(value)}" for name, value in words.items())
    (tmp_path / "config.toml").write_text(f"sampling = {{ {said} }}")
    with pytest.raises(UsageError, match=f"sampling: .*{message}"):
        config.read_user(tmp_path / "config.toml")


def test_settings_are_joined_and_what_code_says_is_stronger(tmp_path: Path):
    user = tmp_path / "user.toml"
    user.write_text('sampling = { successes = 0.1, slow = "30s" }')
    found = config.load(tmp_path, {}, user).sampling
    assert sampling_of({**found, "successes": 0.5}) == Sampling(0.5, 30_000_000)


def test_what_succeeded_leaves_a_count_and_everything_else_is_kept(tmp_path: Path):
    path = tmp_path / "runs.db"

    def run(name: str, *, large: str = "", tags: Any = (), fails: bool = False, **options: Any) -> bool:
        options = {"sampling": NONE, "store": path, **options}
        recording = agent_tt.record(name, state={"text": large}, tags=tags, **options)
        with pytest.raises(ValueError, match="told") if fails else nullcontext(), recording:
            with recording.step("one") as step:
                step.state = {"text": large, "name": name}
            if fails:
                raise ValueError("told")
        return recording.is_sampled_out

    kept = ["failed", "flagged", "golden", "slow", "by itself", "all", "once"]
    assert not run("failed", fails=True)
    assert not run("flagged", tags=["flagged"])
    assert not run("golden", tags=["golden"])
    assert not run("slow", sampling={**NONE, "slow": "0s"})
    assert not run("by itself", keep="30d")
    assert not run("all", sampling={"successes": 1})
    with agent_tt.record("once", sampling=NONE, store=path):
        agent_tt.tool(effect="write", once="1", name="pay")(lambda: 1)()
    with closing(open_store(path)) as store:
        before = len(store.database.query("SELECT 1 FROM blobs"))
    assert [run(f"gone {number}", large="secret word " * 9_000) for number in range(3)] == [True] * 3
    with closing(open_store(path)) as store:
        assert sorted(each.name for each in store.runs()) == sorted(kept)
        assert store.verify() == []
        assert len(store.database.query("SELECT 1 FROM blobs")) == before
        counted = store.statistics(Chosen())
        assert (counted.whole.runs, counted.whole.sampled_out) == (7, 3)
        assert counted.whole.success_rate == 9 / 10
        assert [(each.runs, each.sampled_out, each.success_rate) for each in store.run_groups(Chosen(), "agent")] == [
            (7, 3, 0.9)
        ]
        assert [(each.runs, each.sampled_out) for each in store.run_groups(Chosen(), "day")] == [(7, 3)]
        assert {each.success_rate for each in store.run_groups(Chosen(), "tag")} == {None}
        assert store.statistics(Chosen(agent="another")).whole.sampled_out == 0
        assert store.statistics(Chosen(since_us=now_us())).whole.sampled_out == 0
        assert store.statistics(Chosen(since_us=now_us() - 3 * 86_400_000_000)).whole.sampled_out == 3


def test_a_day_of_which_no_run_is_left_is_counted(tmp_path: Path):
    path = tmp_path / "runs.db"
    with agent_tt.record("gone", sampling=NONE, store=path):
        pass
    with closing(open_store(path)) as store:
        assert store.runs() == []
        (day,) = store.run_groups(Chosen(), "day")
        assert (day.runs, day.sampled_out, day.success_rate) == (0, 1, 1.0)


def test_a_replay_and_a_fork_are_not_sampled(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text("[tool.agent-tt.sampling]\nsuccesses = 0\n")
    (tmp_path / "agent.py").write_text(AGENT)
    path = tmp_path / "runs.db"
    subprocess.run(
        [sys.executable, "agent.py"], cwd=tmp_path, check=True, env={"AGENT_TT_STORE": str(path), "PATH": ""}
    )
    fork = agent_tt.fork("latest", 0, store=path).result()
    with closing(open_store(path)) as store:
        assert store.run("latest").id == fork.id
        assert len(store.runs()) == 2


AGENT = """
import agent_tt

def main(state=None):
    state = state or {"n": 0}
    with agent_tt.record("kept", state=state, keep="never") as run, run.step("one", state):
        state["n"] += 1

if __name__ == "__main__":
    main()
"""
