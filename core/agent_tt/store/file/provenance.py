"""Whether a store was made here, by this user on this machine. Only then is code run that it names without asking.

A file that somebody sends may name any program as the interpreter of its runs. So each store is stamped when it is
made, with a keyed digest that no one elsewhere can make: the key is this machine's id (machine-id(5), which is not to
be told to others), else a random one in the user's own data folder. A user who has looked at a foreign store can stamp
it too: `trust_store`.

Many record into one server, so a stamp of the whole would say nothing there. Each run has one of its own, over its id
and all that says what would run.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shlex
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt.addresses import Address
from agent_tt.errors import ReadOnlySource, Untrusted
from agent_tt.model.facts import RunFacts
from agent_tt.model.facts.stored import RunMeta
from agent_tt.store.file.connecting import connect
from agent_tt.store.file.heads import MAGIC, read_head
from agent_tt.store.file.sqlite_errors import SQLITE_ERRORS, our_error
from agent_tt.store.file.transaction import Transaction
from agent_tt.store.rows import columns
from agent_tt.store.tables.definitions import META

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.store.file.connection import Database

__all__ = ["META_KEY", "check_made_here", "forget_maker", "is_made_here", "new_stamp", "stamp_run", "trust_store"]

META_KEY: Final = "made_at"
"""The row of `meta` that holds the stamp: `nonce:digest`, both hex."""

_MACHINE_IDS: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")
_KEY_FILE: Final = "key"
_SIZE: Final = 16
_STAMP_RUN: Final = "INSERT INTO stamps(run, stamp) VALUES(?, ?) ON CONFLICT(run) DO UPDATE SET stamp = excluded.stamp"


def new_stamp() -> str | None:
    """A stamp for a store that is made now; None where this machine has no id and the user's folder takes no key."""
    key = _key(make=True)
    return None if key is None else _stamp(key, secrets.token_hex(_SIZE))


def is_made_here(path: Path, run_id: str = "") -> bool:
    """Whether the store was made, or is trusted, by this user on this machine; of a server, whether that run was.

    Raises:
        StoreUnreadable: it cannot be read.
    """
    key = _key(make=False)
    if key is None:
        return False
    if isinstance(path, Address):
        return _is_stamped(path, run_id, key)
    if not _is_sqlite(path):
        return False
    try:
        with closing(connect(path, mode="ro")) as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (META_KEY,)).fetchone()
    except SQLITE_ERRORS as error:
        raise our_error(path, error) from error
    text = found[0] if found else None
    if not isinstance(text, str):
        return False
    return hmac.compare_digest(text.encode(), _stamp(key, text.partition(":")[0]).encode())


def trust_store(path: Path, run_id: str = "") -> None:
    """Stamp a store that came from elsewhere, or of a server that run: what its runs name may be run from now on.

    Raises:
        Untrusted: this machine has no id, and no key can be written to the user's data folder.
        ReadOnlySource: the file cannot be written.
        StoreUnreadable: it cannot be read.
    """
    if isinstance(path, Address):
        return _trust_run(path, run_id)
    stamp = new_stamp()
    if stamp is None:
        raise Untrusted(
            f"{path} cannot be trusted: your data folder takes no key to sign it with", hint="make it writable"
        )
    try:
        with closing(connect(path, mode="rw")) as connection, Transaction(connection) as tx:
            META.delete(tx, "key = ?", (META_KEY,))
            META.insert(tx, (META_KEY, stamp))
    except SQLITE_ERRORS as error:
        if "readonly" in str(error):
            raise ReadOnlySource(f"{path} cannot be written", hint="copy it, and trust the copy") from error
        raise our_error(path, error) from error


def forget_maker(path: Path) -> None:
    """Take the stamp out of a store that is handed on: who has it could put it into another one.

    Raises:
        StoreUnreadable: it cannot be read or written.
    """
    try:
        with closing(connect(path, mode="rw")) as connection, Transaction(connection) as tx:
            META.delete(tx, "key = ?", (META_KEY,))
    except SQLITE_ERRORS as error:
        raise our_error(path, error) from error


def check_made_here(path: Path, run: Run) -> None:
    """Refuse to run what a run of a foreign store names.

    Raises:
        ReadOnlySource: it is a file of another system, which names no code, or a bundle.
        Untrusted: it came from elsewhere; the message says what would run.
        StoreUnreadable: it cannot be read.
    """
    code = run.code
    what = code.entry or run.facts.script
    if run.read_only and what is None:
        raise ReadOnlySource(
            f"{run.name} lies in {path}, which another system wrote: it names no code that could be run",
            hint="replay and fork runs that agent-tt recorded itself",
        )
    if not isinstance(path, Address) and not _is_sqlite(path):
        raise ReadOnlySource(
            f"{run.name} lies in the bundle {path}: its code runs only unpacked, and you are asked each time",
            hint=f"`agent-tt replay {shlex.quote(str(path))}` does that; fork its runs after `agent-tt import`",
        )
    if is_made_here(path, run.id):
        return
    what = what or "its agent"
    raise Untrusted(
        f"{run.name if isinstance(path, Address) else path} was not made here, and {run.name} would run {what} with"
        f" {code.interpreter or 'this Python'} in"
        f" {code.root or code.cwd or 'this folder'}",
        hint="look at that code first; then add --trust once",
        run_id=run.id,
    )


def stamp_run(database: Database, tx: Transaction, run: int) -> None:
    """Stamp a run that this user records here, as it is in a transaction. A file has a stamp as a whole."""
    key = None if database.is_file else _key(make=True)
    if key is not None:
        ((run_id, agent, meta),) = tx.query("SELECT id, agent, meta FROM runs WHERE run = ?", (run,))
        tx.execute(_STAMP_RUN, (run, _run_stamp(key, run_id, agent, meta)))


def _is_stamped(address: Address, run_id: str, key: bytes) -> bool:
    from agent_tt.store.postgres.database import PostgresDatabase

    with closing(PostgresDatabase(address, read_only=True)) as database:
        found = database.query(
            "SELECT r.id, r.agent, r.meta, s.stamp FROM runs r JOIN stamps s ON s.run = r.run WHERE r.id = ?", (run_id,)
        )
    return any(hmac.compare_digest(bytes(stamp), _run_stamp(key, *facts)) for *facts, stamp in found)


def _trust_run(address: Address, run_id: str) -> None:
    from agent_tt.store.postgres.database import PostgresDatabase

    with closing(PostgresDatabase(address)) as database, database.transaction() as tx:
        for (run,) in tx.query("SELECT run FROM runs WHERE id = ?", (run_id,)):
            stamp_run(database, tx, run)


def _run_stamp(key: bytes, run_id: object, agent: object, meta: object) -> bytes:
    """Over the id of a run, and all that says what would run."""
    facts = columns.mapping_from_text(meta)
    script = RunMeta.metadata.of(facts).raw.get(RunFacts.script.key)
    text = json.dumps([run_id, agent, facts.get(RunMeta.code.key), script]).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=key, digest_size=_SIZE, person=b"agent-tt run").digest()


def _is_sqlite(path: Path) -> bool:
    """Whether a file is a database, and not a bundle of runs; one that cannot be read is told where it is opened."""
    try:
        return read_head(path, len(MAGIC)) in (MAGIC, b"")
    except OSError:
        return True


def _stamp(key: bytes, nonce: str) -> str:
    user = str(os.getuid()) if hasattr(os, "getuid") else ""
    digest = hashlib.blake2b(f"{nonce}\0{user}".encode(), key=key, digest_size=_SIZE, person=b"agent-tt store")
    return f"{nonce}:{digest.hexdigest()}"


def _key(*, make: bool) -> bytes | None:
    """The secret of this machine, or of this user, hashed; None where there is none."""
    for place in _MACHINE_IDS:
        with suppress(OSError):
            if secret := Path(place).read_bytes().strip():
                return hashlib.blake2b(secret).digest()
    import platformdirs

    file = platformdirs.user_data_path("agent-tt", appauthor=False) / _KEY_FILE
    with suppress(OSError):
        return hashlib.blake2b(file.read_bytes()).digest()
    if not make:
        return None
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process made it just now
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as out:
                out.write(secrets.token_bytes(2 * _SIZE))
        return hashlib.blake2b(file.read_bytes()).digest()
    return None
