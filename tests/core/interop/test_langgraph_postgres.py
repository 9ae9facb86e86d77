"""What PostgresSaver keeps reads as what SqliteSaver keeps."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from tests.core.conformance.reading import check_source
from tests.core.interop import graphs

from agent_tt.interop.langgraph.source import LangGraphSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgres_server import TestDatabase

    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Step

savers = pytest.importorskip("langgraph.checkpoint.postgres")


@contextmanager
def postgres_saver(database: TestDatabase, kind: str = "PostgresSaver") -> Iterator[Any]:
    with getattr(savers, kind).from_conn_string(database.url) as saver:
        saver.setup()
        yield saver


class Both(SqliteSaver):
    """Keeps the same checkpoints in a file and in PostgreSQL."""

    other: Any

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.other.put(config, checkpoint, metadata, new_versions)
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.other.put_writes(config, writes, task_id, task_path)
        super().put_writes(config, writes, task_id, task_path)


def unordered_step(step: Step) -> Step:
    """A step whose next nodes have no order: which one the graph gives them is not in JSONB."""
    return replace(step, extra={**step.extra, "next": sorted(step.extra["next"] or ())})


def unordered(changes: list[Op]) -> list[Op]:
    """Changes in the order of their paths, without that of the channels' own order, which JSONB does not keep."""
    return sorted((op for op in changes if op[:2] != ["o", []]), key=str)


@pytest.mark.parametrize("name", graphs.ALL)
def test_a_graph_kept_in_both_ways_reads_alike(name: str, tmp_path: Path, postgres: TestDatabase) -> None:
    path = tmp_path / "both.db"
    with graphs.saver(path) as kept, postgres_saver(postgres) as other:
        both = Both(kept.conn)
        both.other = other
        graphs.ALL[name](both)
    with closing(LangGraphSource(path)) as ours, closing(LangGraphSource(postgres.address)) as theirs:
        check_source(theirs)
        runs = ours.runs()
        assert [replace(run, origin={}) for run in theirs.runs()] == [replace(run, origin={}) for run in runs]
        for run in runs:
            assert [*map(unordered_step, theirs.steps(run.id))] == [*map(unordered_step, ours.steps(run.id))]
            for step in range(theirs.step_count(run.id) + 1):
                assert theirs.state(run.id, step) == ours.state(run.id, step)
                assert theirs.pending_state(run.id, step) == ours.pending_state(run.id, step)
                assert theirs.calls(run.id, step) == ours.calls(run.id, step)
                assert unordered(theirs.changes(run.id, step)) == unordered(ours.changes(run.id, step))
                assert theirs.digest(run.id, step) == ours.digest(run.id, step)
                assert theirs.anchor(run.id, step or None) == ours.anchor(run.id, step or None)
        assert theirs.verify() == ours.verify()
