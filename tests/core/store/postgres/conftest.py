from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgres_server import TestDatabase

    from agent_tt.store import SqliteStore


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what lies beside a store on a server lies."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def store(postgres: TestDatabase) -> Iterator[SqliteStore]:
    """A store on a server."""
    with closing(open_store(postgres.address, create=True)) as opened:
        yield opened
