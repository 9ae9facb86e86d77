"""LangGraph's own conformance suite for checkpointers, with every capability that it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_tt.langgraph import Checkpointer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

conformance = pytest.importorskip(
    "langgraph.checkpoint.conformance", reason="langgraph-checkpoint-conformance of the extra `test` is not installed"
)

capabilities = pytest.importorskip("langgraph.checkpoint.conformance.capabilities")


async def test_the_checkpointer_passes_the_suite_in_full(tmp_path: Path):
    files = iter(range(100))

    @conformance.checkpointer_test(name="Checkpointer")
    async def saver() -> AsyncIterator[Checkpointer]:
        async with Checkpointer(tmp_path / f"{next(files)}.db") as checkpointer:
            yield checkpointer

    report = await conformance.validate(saver)
    results = report.results
    assert {name: result.failures for name, result in results.items() if result.failures} == {}
    assert all(result.detected and result.passed for result in results.values())
    assert set(results) == {capability.value for capability in capabilities.Capability}
    assert report.conformance_level() == "FULL"
