"""Traces of OrcaReplay: what was asked and answered, as far as that is kept, checked against its digests."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop.orca_traces import ASKED, event, events, events_without_bytes, write

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

RUN = "run_35bb6b7dc8a0"


@pytest.mark.parametrize("spilled", [1 << 30, 10])
def test_a_run_is_its_model_calls_with_their_tools(tmp_path: Path, spilled: int) -> None:
    folder = write(tmp_path / "run", events(), spilled=spilled)
    with closing(open_source(folder)) as source:
        (run,) = source.runs()
        assert (run.id, run.status, run.steps, run.tokens_in, run.tokens_out) == (RUN, "succeeded", 2, 100, 8)
        assert run.metadata["cwd"] == "/desk"
        model, tool = source.calls(RUN, 1)
        assert (model.kind, model.name, model.args["messages"]) == ("llm", "gpt-5-mini-2026-03-17", [ASKED])
        assert (tool.name, tool.args, tool.result, tool.status) == ("read", {"path": "a.toml"}, "port = 8080", "ok")
        state = source.state(RUN, 2)
        assert [turn["role"] for turn in state["messages"]] == ["user", "assistant", "tool", "assistant"]
        assert state["workspace"] == "48a7bdaf"
        assert source.verify() == []
        check_source(source)


def test_of_a_run_without_bytes_is_told_what_was_counted(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", events_without_bytes())
    with closing(open_source(folder / "events.jsonl")) as source:
        (run,) = source.runs()
        assert (run.status, run.steps, run.tokens_in) == ("failed", 2, 6120)
        model, tool, shell = source.calls(RUN, 1)
        assert (model.args, model.name) == (None, "claude-opus-5")
        assert (tool.name, tool.status, tool.args) == ("edit_file", "pending", {"path": "src/auth.ts"})
        assert (shell.kind, shell.name, shell.status) == ("subprocess", "npm test", "error")
        failed = source.steps(RUN)[1]
        assert (failed.name, failed.status, failed.error.short if failed.error else "") == (
            "error", "error", "test_failure: kind test_failure, failed 1",
        )  # fmt: skip
        check_source(source)


def test_blobs_and_events_that_are_not_what_their_digests_say_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", events(), spilled=10)
    blob = next(place for place in folder.rglob("*") if place.is_file() and place.read_text() == "port = 8080")
    blob.write_text("port = 9999")
    with (folder / "events.jsonl").open("a") as file:
        file.write('{"seq": 10}\n')
    with closing(open_source(folder)) as source:
        assert [problem.what.partition(":")[0] for problem in source.verify()] == [
            "the events are not those that the manifest was written for",
            f"the blob {blob.name[:12]} is left out",
        ]
        assert source.calls(RUN, 1)[1].result is None


def test_a_blob_is_looked_for_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    told = events()
    told[5]["payload"] = {"$blob": "sha256:../../../secret", "bytes": 6}
    folder = write(tmp_path / "run", told)
    with closing(open_source(folder)) as source:
        assert source.calls(RUN, 1)[1].result == told[5]["payload"]


def test_a_run_that_goes_on_is_followed_and_a_line_that_is_not_complete_is_waited_for(tmp_path: Path) -> None:
    told = events()
    folder = write(tmp_path / "run", told[:5], end='\n{"seq": 5, "ts"')
    with closing(open_source(folder)) as source:
        assert (source.runs()[0].status, source.calls(RUN, 1)[1].status) == ("unknown", "pending")
        before = source.version()
        (folder / "events.jsonl").unlink()
        (folder / "manifest.json").unlink()
        folder.rmdir()
        write(folder, [*told, event(11, "note", 2)])
        assert source.version() != before
        assert source.runs()[0].status == "succeeded"
