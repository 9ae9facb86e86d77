"""`agent-tt stats`: for people, as JSON, for Prometheus; of a store, and of a file that is only read."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.core.interop.support import database_of

from agent_tt.model import AgentCode, CallEnd, NewCall, NewRun, NewStep, Replay, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

    from agent_tt.model import CallKind

ODD = 'a "b"\\c\nd'


@pytest.fixture
def counted(tmp_path: Path) -> str:
    """A store with two runs of one agent, and one whose tag and agent are hard to write."""
    path = tmp_path / "runs.db"
    with closing(open_store(path, create=True)) as store:
        for name, agent, status in (("desk", "desk.py:main", "succeeded"),) * 2 + (("odd", ODD, "failed"),):
            writer = store.begin_run(NewRun(name, code=AgentCode(agent, "1"), tags=(ODD,)), {"n": 0})
            number = writer.open_step(NewStep("think"))
            asked: tuple[CallKind, CallKind] = ("llm", "tool")
            for kind in asked:
                call = writer.begin_call(number, NewCall(kind, "search", {}, "ab" * 16, None, "main", 1))
                writer.end_call(number, call, CallEnd("ok", 1, meta={"model": "gpt-5", "cost_usd": 0.25}))
            usage = StepEnd("ok", tokens_in=1_000, tokens_out=20, cost_usd=0.25, extra={"unpriced": 1})
            writer.close_step(number, usage, {"n": 1})
            writer.finish(status)  # type: ignore[arg-type]
            store.keep_replay(
                Replay(writer.run_id, "diverged" if name == "odd" else "as_recorded", duration_us=2_000_000)
            )
    return str(path)


def test_people_are_told_rates_costs_with_what_is_not_priced_and_groups(command: Command, counted: str):
    done = command("stats", "--store", counted)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "3 runs  3 steps · 3,060 tok · $0.75+"
    assert "succeeded" in lines[2]
    assert lines[2].split()[-3:] == ["2", "67", "%"]
    (replays,) = (line for line in lines if line.startswith("replays"))
    assert replays.split(None, 1)[1] == "3 replays · 67 % as recorded · 33 % diverged · median 2.0 s · 95 % 2.0 s"
    (desk,) = (line for line in lines if line.startswith("desk.py:main"))
    assert desk.split()[1:7] == ["2", "100", "%", "2", "2,040", "$0.50+"]
    by_tool = command("stats", "--store", counted, "--by", "tool").out
    assert [line.split()[:4] for line in by_tool.splitlines() if line.startswith("search")] == [
        ["search", "3", "0", "3"]
    ]


def test_json_has_every_grouping_and_filters_choose_runs(command: Command, counted: str):
    shape = command("stats", "--store", counted, "--json").json
    assert (shape["runs"], shape["statuses"], shape["cost_usd"], shape["unpriced_calls"]) == (
        *(3, {"succeeded": 2, "failed": 1}, 0.75, 3),
    )
    assert (shape["replays"]["success_rate"], shape["replays"]["divergence_rate"]) == (2 / 3, 1 / 3)
    assert shape["checkpoints"] == {"taken": 3, "failed": 0, "success_rate": 1.0}
    assert list(shape["by"]) == ["agent", "day", "version", "tag", "model", "tool"]
    assert [group["name"] for group in shape["by"]["agent"]] == ["desk.py:main", ODD]
    assert shape["by"]["model"][0]["cost_usd"] == 0.75
    (today, *_) = shape["growth"]
    assert today["bytes"] > 0
    assert today["day"] == shape["by"]["day"][0]["name"]
    assert "STORED" in command("stats", "--store", counted, "--by", "day").out
    assert "STORED" not in command("stats", "--store", counted, "--by", "version").out
    one = command("stats", "--store", counted, "--json", "--agent", "desk.py:main", "--by", "day").json
    assert (one["runs"], list(one["by"])) == (2, ["day"])
    assert command("stats", "--store", counted, "--json", "--since", "1h").json["runs"] == 3
    assert command("stats", "--store", counted, "--json", "--since", "2999-01-01").json["runs"] == 0


def test_prometheus_reads_what_is_written_and_labels_come_back_whole(command: Command, counted: str):
    done = command("stats", "--store", counted, "--prometheus")
    families = {family.name: family for family in text_string_to_metric_families(done.out)}
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families.values()
        for sample in family.samples
    }
    assert samples["agent_tt_runs", (("status", "succeeded"),)] == 2
    assert samples["agent_tt_agent_runs", (("agent", ODD), ("status", "failed"))] == 1
    assert samples["agent_tt_replays", (("verdict", "diverged"),)] == 1
    assert samples["agent_tt_replay_duration_seconds", (("quantile", "0.5"),)] == 2
    assert samples["agent_tt_known_cost_dollars", ()] == 0.75
    assert samples["agent_tt_unpriced_calls", ()] == 3
    assert samples["agent_tt_tool_calls", (("tool", "search"),)] == 3
    assert all(family.type == "gauge" and family.documentation for family in families.values())
    assert len(done.out.splitlines()) == len(samples) + 2 * len(families)


def test_of_a_file_that_is_only_read_what_is_not_known_is_unknown_and_never_zero(command: Command, tmp_path: Path):
    path = str(database_of("forks", tmp_path))
    shape = command("stats", "--store", path, "--json").json
    assert shape["runs"] > 0
    assert (shape["checkpoints"], shape["replays"], shape["cost_usd"], shape["free_bytes"]) == (None,) * 4
    assert shape["growth"] is None
    lines = command("stats", "--store", path).out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith(("checkpoints", "replays"))] == ["unknown"] * 2
    text = command("stats", "--store", path, "--prometheus").out
    assert "agent_tt_steps" in text
    assert "replay" not in text
    assert "cost" not in text


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--since", "yesterday"), 2, "neither a length of time nor a date"),
        (("--agent", "desk.py:man"), 3, "Did you mean desk.py:main?"),
        (("--json", "--prometheus"), 2, "two forms"),
        (("--by", "moon"), 2, "moon"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_reason(
    command: Command, counted: str, words: tuple[str, ...], code: int, said: str
):
    done = command("stats", "--store", counted, *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
