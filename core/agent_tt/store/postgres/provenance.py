"""Which runs of a server were recorded by this user on this machine: only what these name is run without asking.

Many record into one server, so a stamp of the whole, as a file has, would say nothing. Each run has one of its own,
made with the key of `agent_tt.store.file.provenance`, over its id and all that says what would run.
"""

from __future__ import annotations

import hmac
import json
from contextlib import closing
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt.model.facts.stored import RunMeta
from agent_tt.store.file import provenance
from agent_tt.store.postgres.connecting import connect
from agent_tt.store.postgres.dialect import loaded
from agent_tt.store.postgres.errors import Translation
from agent_tt.store.rows import columns

if TYPE_CHECKING:
    from agent_tt.addresses import Address
    from agent_tt.store.file.transaction import Transaction

__all__ = ["is_stamped", "stamp", "trust"]

_SIZE: Final = 16
_STAMP: Final = "INSERT INTO stamps(run, stamp) VALUES(?, ?) ON CONFLICT(run) DO UPDATE SET stamp = excluded.stamp"
_PLACE: Final = "SELECT id, agent, meta FROM runs WHERE run = ?"


def stamp(tx: Transaction, run: int) -> None:
    """Stamp a run that this process records, as it is in a transaction that is open."""
    key = provenance.own_key(make=True)
    ((run_id, agent, meta),) = tx.query(_PLACE, (run,))
    if key is not None:
        tx.execute(_STAMP, (run, _made(key, run_id, agent, meta)))


def is_stamped(address: Address, run_id: str) -> bool:
    """Whether a run was recorded, or is trusted, by this user on this machine.

    Raises:
        StoreUnreadable: the database cannot be read.
    """
    key = provenance.own_key(make=False)
    if key is None:
        return False
    with closing(connect(address, read_only=True)) as connection, Translation(address):
        found = connection.execute(
            "SELECT r.id, r.agent, r.meta, s.stamp FROM runs r JOIN stamps s USING(run) WHERE r.id = %s", (run_id,)
        ).fetchall()
    return any(
        hmac.compare_digest(bytes(theirs), _made(key, found_id, agent, meta))
        for found_id, agent, meta, theirs in loaded(found)
    )


def trust(address: Address, run_id: str) -> None:
    """Stamp a run that somebody else recorded: what it names may be run from now on.

    Raises:
        StoreUnreadable, ReadOnlySource: the database cannot be written.
    """
    from agent_tt.store.postgres.database import PostgresDatabase

    with closing(PostgresDatabase(address)) as database, database.transaction() as tx:
        for (run,) in tx.query("SELECT run FROM runs WHERE id = ?", (run_id,)):
            stamp(tx, run)


def _made(key: bytes, run_id: object, agent: object, meta: object) -> bytes:
    facts = columns.mapping_from_text(meta)
    said = json.dumps([run_id, agent, facts.get(RunMeta.code.key), RunMeta.metadata.of(facts).raw.get("script")])
    text = said.encode("utf-8", "surrogatepass")
    return blake2b(text, key=key, digest_size=_SIZE, person=b"agent-tt run").digest()
