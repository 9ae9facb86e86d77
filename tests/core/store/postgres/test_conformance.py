"""A store in a PostgreSQL database does all that a store in a file does: the same suite, on the same runs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.conformance.keeping import check_keeping
from tests.core.conformance.reading import check_source
from tests.core.store import test_keeping

from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.postgres_server import TestDatabase

    from agent_tt.store import SqliteStore


@pytest.fixture
def store(postgres: TestDatabase) -> Iterator[SqliteStore]:
    with closing(open_store(postgres.address, create=True)) as opened:
        yield opened


def test_a_store_on_a_server_reads_and_keeps_as_every_store_does(store: SqliteStore) -> None:
    test_keeping.family(store)
    check_source(store)
    check_keeping(store)
