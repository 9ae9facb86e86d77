"""Databases that LangGraph wrote elsewhere, compared with what its own history says about them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.interop.reference_encoding import encoded, neutral
from tests.core.interop.support import digest_of_folder
from tests.recordings import MISSING, recordings

from agent_tt.interop.langgraph.source import LangGraphSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.model import Run, Step

REFERENCE = recordings("langgraph")
CASES = sorted(folder.name for folder in REFERENCE.iterdir()) if REFERENCE.is_dir() else []

pytestmark = pytest.mark.skipif(not CASES, reason=MISSING)


class Case:
    def __init__(self, folder: Path) -> None:
        self.expected: dict[str, Any] = json.loads((folder / "expected.json").read_text("utf-8"))
        self.source = LangGraphSource(folder / "checkpoints.db")
        self.steps: dict[tuple[str, str, str], tuple[Run, Step]] = {}
        for run in self.source.runs():
            for step in self.source.steps(run.id):
                if step.extra["checkpoint_id"] is not None:
                    key = (run.origin["thread"], str(step.extra["checkpoint_ns"]), str(step.extra["checkpoint_id"]))
                    self.steps[key] = (run, step)

    def checkpoints(self) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
        for thread, namespaces in self.expected["history"].items():
            for namespace, history in namespaces.items():
                for checkpoint in history["checkpoints_newest_first"]:
                    yield (thread, namespace, checkpoint["checkpoint_id"]), checkpoint


@pytest.fixture(params=CASES or ["none"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    folder = tmp_path / "database"
    shutil.copytree(REFERENCE / request.param, folder, copy_function=shutil.copyfile)
    for archive in folder.glob("*.tar"):
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        archive.unlink()
    before = digest_of_folder(folder)
    opened = Case(folder)
    yield opened
    opened.source.close()
    assert digest_of_folder(folder) == before


def test_every_checkpoint_is_a_step_and_no_other(case: Case) -> None:
    assert set(case.steps) == {key for key, _ in case.checkpoints()}


def test_parent_superstep_source_and_next_nodes_are_those_of_langgraph(case: Case) -> None:
    for key, checkpoint in case.checkpoints():
        extra = case.steps[key][1].extra
        shown = (extra["parent_checkpoint_id"], extra["langgraph_step"], extra["source"], extra["next"])
        expected = (checkpoint["parent_checkpoint_id"], checkpoint["step"], checkpoint["source"], checkpoint["next"])
        assert shown == expected, key


def test_values_are_those_of_langgraph(case: Case) -> None:
    for key, checkpoint in case.checkpoints():
        run, step = case.steps[key]
        shown = encoded(case.source.state(run.id, step.number))
        if "values" not in checkpoint:
            text = json.dumps(shown, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            assert hashlib.sha256(text.encode()).hexdigest() == checkpoint["values_sha256"], key
            continue
        expected = neutral(checkpoint["values"])
        for channel in expected.keys() | shown.keys():
            if channel not in shown:
                assert expected[channel] == [], "only a reducer that no one has written to is not in the file"
            else:
                assert shown[channel] == expected[channel], (key, channel)


def test_with_pending_writes_the_last_state_is_what_langgraph_says_it_is_now(case: Case) -> None:
    for thread, namespaces in case.expected["history"].items():
        for namespace, history in namespaces.items():
            now = history["get_state"]
            run, step = case.steps[thread, namespace, now["checkpoint_id"]]
            if "values" in now:
                shown = encoded(case.source.pending_state(run.id, step.number))
                assert shown == neutral(now["values"]), (thread, namespace)


def test_failed_tasks_and_open_questions_are_steps(case: Case) -> None:
    for (thread, namespace, checkpoint_id), checkpoint in case.checkpoints():
        for task in checkpoint["tasks"]:
            if not task["error"] and not task["interrupts"]:
                continue
            shown = [
                step
                for run in case.source.runs()
                for step in case.source.steps(run.id)
                if run.origin["thread"] == thread and step.extra["source"] == "task"
            ]
            errors = [step.error.message for step in shown if step.error is not None]
            if task["error"]:
                assert any(message.splitlines()[0] in task["error"] for message in errors), checkpoint_id
            else:
                assert any(step.status == "interrupted" for step in shown), (namespace, checkpoint_id)


def test_nothing_in_it_is_damaged(case: Case) -> None:
    assert case.source.verify() == []


def test_every_step_can_be_read(case: Case) -> None:
    for run in case.source.runs():
        cursor = case.source.cursor(run.id, 0)
        for step in case.source.steps(run.id)[:60]:
            assert cursor.seek(step.number) == case.source.state(run.id, step.number)
            assert len(case.source.calls(run.id, step.number)) == step.calls
