from __future__ import annotations

import importlib
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from agent_tt.protocols import Store

SAMPLE_RUNS = Path(__file__).resolve().parents[3] / "sample_runs"


@pytest.fixture
def store_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's store: not there yet, and where agents record by default."""
    path = tmp_path / "runs.db"
    monkeypatch.setenv("AGENT_TT_STORE", str(path))
    return path


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the trip planner's writing tools add a line to."""
    path = tmp_path / "ledger.jsonl"
    monkeypatch.setenv("TRIP_PLANNER_LEDGER", str(path))
    return path


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a sample agent by the name of its file; what it brought along is forgotten after the test."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(SAMPLE_RUNS))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        module_file = getattr(sys.modules[name], "__file__", None)
        if module_file is not None and Path(module_file).parent == SAMPLE_RUNS:
            del sys.modules[name]


@pytest.fixture
def opened(store_path: Path) -> Iterator[Callable[[], Store]]:
    """Open the user's store to read; it is closed after the test."""
    stores: list[Store] = []

    def open_now() -> Store:
        stores.append(open_store(store_path, read_only=True))
        return stores[-1]

    yield open_now
    for store in stores:
        with closing(store):
            pass
