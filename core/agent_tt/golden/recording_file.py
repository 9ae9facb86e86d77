"""The recording beside a golden: a store with that run and the runs that it was forked from, packed with zstandard.

Its digest stands in the golden's text file, and every row in it has its proof. So what was edited, damaged or belongs
to another golden is told apart and refused by name.
"""

from __future__ import annotations

import hashlib
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import zstandard

from agent_tt.errors import AgentTTError, Damaged, NotFound, RunNotFound
from agent_tt.protocols import check_proven
from agent_tt.store import copy_run, open_store
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.golden.golden_file import Golden
    from agent_tt.store import SqliteStore

__all__ = ["open_recording", "pack_run"]

_MOST_BYTES: Final = 1 << 30
"""A recording that unpacks to more is refused: it was not made here."""

_LEVEL: Final = 19


def pack_run(source: SqliteStore, run_id: str) -> tuple[bytes, str]:
    """Pack a run with the runs that it was forked from.

    Secrets are in it only where they are in the store: in threads that LangGraph's checkpointer kept, of which nothing
    is redacted. Its project folder is named as `.`.

    Returns:
        The bytes of the file, and their digest.

    Raises:
        Damaged: something of the runs is not as it was recorded, or is missing.
    """
    run = source.run(run_id)
    check_proven(source, run)
    with temporary_folder("agent-tt-golden-") as folder:
        path = Path(folder) / "recording.db"
        with closing(open_store(path, create=True)) as target:
            copy_run(source, target, run_id, root=".")
        packed = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(path.read_bytes())
    return packed, _digest(packed)


@contextmanager
def open_recording(golden: Golden) -> Iterator[SqliteStore]:
    """Open the recording of a golden, unpacked into a folder that lasts as long as the block.

    Raises:
        NotFound: the file is missing.
        Damaged: it is damaged, was edited, or is not the one that the golden was made of; the message says which.
    """
    path = golden.recording_path
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise NotFound(
            f"{golden.name}: its recording {path} is missing", hint="It is committed with the golden: put it back."
        ) from error
    is_the_one = _digest(packed) == golden.digest
    with temporary_folder("agent-tt-golden-") as folder:
        unpacked = Path(folder) / "recording.db"
        try:
            if not 0 <= zstandard.frame_content_size(packed) <= _MOST_BYTES:
                raise Damaged(f"{golden.name}: its recording {path} does not say its size, or is too large to be one")
            unpacked.write_bytes(zstandard.ZstdDecompressor().decompress(packed))
            store = open_store(unpacked)
        except (zstandard.ZstdError, AgentTTError) as error:
            if isinstance(error, Damaged):
                raise
            raise Damaged(f"{golden.name}: its recording {path} is damaged: {error}", hint=_HINT) from error
        with closing(store):
            _check(golden, store, is_the_one=is_the_one)
            yield store


_HINT: Final = "Take it from the version control again, or keep a run anew with `agent-tt golden save`."


def _check(golden: Golden, store: SqliteStore, *, is_the_one: bool) -> None:
    path = golden.recording_path
    try:
        run = store.run(golden.run_id)
    except RunNotFound as error:
        there = ", ".join(run.name for run in store.runs())
        raise Damaged(
            f"{golden.name}: its recording {path} is stale: it holds {there}, and not run {golden.run_id}", hint=_HINT
        ) from error
    while True:
        try:
            check_proven(store, run)
        except Damaged as error:
            raise Damaged(f"{golden.name}: its recording {path} is damaged: {error.message}", hint=_HINT) from error
        if run.parent is None:
            break
        run = store.run(run.parent)
    if not is_the_one:
        raise Damaged(
            f"{golden.name}: its recording {path} was edited: it is not the one that the golden was made of", hint=_HINT
        )


def _digest(packed: bytes) -> str:
    return f"blake2b:{hashlib.blake2b(packed, digest_size=32).hexdigest()}"
