"""A store in a PostgreSQL database does all that a store in a file does: the same suite, on the same runs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tests.core.conformance.keeping import check_keeping
from tests.core.conformance.reading import check_source
from tests.core.store import test_keeping

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from tests.postgres_server import TestDatabase

    from agent_tt.store import SqliteStore


def test_a_store_on_a_server_reads_and_keeps_as_every_store_does(store: SqliteStore, postgres: TestDatabase) -> None:
    test_keeping.family(store)
    check_source(store)
    with closing(open_source(postgres.address)) as source:
        check_source(source)
    check_keeping(store)
