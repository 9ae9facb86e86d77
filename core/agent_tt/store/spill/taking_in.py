"""Taking spill files into the store that they belong to: all that one recording wrote, or nothing of it."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.addresses import beside
from agent_tt.errors import AgentTTError, Damaged
from agent_tt.store.liveness import now_us
from agent_tt.store.spill.files import find, read
from agent_tt.store.store import open_store
from agent_tt.store.tables.definitions import META

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from agent_tt.store.spill.files import Spilled

__all__ = ["Waiting", "take_in", "waiting"]

_LOG = logging.getLogger(__name__)

_TAKEN: Final = "spill "
"""Keys of `meta` that begin so name what was taken in; it stays, for a file that could not be deleted then."""


class Waiting(NamedTuple):
    """What one recording wrote beside a store, and the store does not hold.

    Attributes:
        run: the run.
        files: the files.
        why: why it is not in the store.
    """

    run: str
    files: tuple[Path, ...]
    why: str


def waiting(store: Path) -> list[Waiting]:
    """What was written beside a store and is over. Opens no store; what cannot be read is left out."""
    return [
        Waiting(parts[0].run, tuple(part.path for part in parts), str(parts[0].header.get("why", "")))
        for parts in _recordings(store)
        if parts[-1].is_over
    ]


def files_of(store: Path) -> list[Path]:
    """The files that lie beside a store, or elsewhere for it, also those that cannot be read."""
    ours = [part.path for parts in _recordings(store) for part in parts]
    return list(dict.fromkeys([*ours, *(path for path in find(store) if path.parent == beside(store).parent)]))


def take_in(path: Path, *, tokens: Collection[str] | None = None) -> list[Waiting]:
    """Take in what was written beside a store. Nothing is ever counted twice: the store keeps what it has taken in.

    Args:
        path: the store, which must be there.
        tokens: what to take in, whether or not its process is still there; by default all that is over.

    Returns:
        What could not be taken in.
    """
    left: list[Waiting] = []
    for parts in _recordings(path):
        token, run = parts[0].token, parts[0].run
        if token not in tokens if tokens is not None else not parts[-1].is_over:
            continue
        try:
            _take_in(path, parts)
        except AgentTTError as error:
            _LOG.debug("run %s could not be taken in", run, exc_info=True)
            left.append(Waiting(run, tuple(part.path for part in parts), error.message))
            continue
        for part in parts:
            _remove(part.path)
    return left


def _take_in(path: Path, parts: Sequence[Spilled]) -> None:
    if [part.part for part in parts] != list(range(parts[0].part, parts[0].part + len(parts))) or parts[0].part:
        raise Damaged(f"a part of what was recorded of run {parts[0].run} is missing")
    if any(not part.is_whole for part in parts[:-1]):
        raise Damaged(f"{parts[0].path} is damaged, and another file goes on from it")
    key = _TAKEN + parts[0].token
    from agent_tt.store.spill.performing import perform

    store = open_store(path)  # one of its own: what it remembers of the file is wrong where this fails
    try:
        with store.database.as_one() as tx:
            if tx.query("SELECT 1 FROM meta WHERE key = ?", (key,)):
                return
            perform(store, parts)
            META.insert(tx, (key, str(now_us())))
    finally:
        store.close()


def _recordings(store: Path) -> list[list[Spilled]]:
    """What belongs to a store, by recording, the parts of each in order; in the order in which they began."""
    found: defaultdict[str, list[Spilled]] = defaultdict(list)
    for path in find(store):
        try:
            spilled = read(path)
        except (OSError, ValueError):
            continue
        if spilled is None:
            continue
        # Beside the store it is the store's, also where its folder was moved or mounted elsewhere since.
        place = beside(store)
        is_ours = path.parent == place.parent or os.path.realpath(spilled.store) == os.path.realpath(place)
        if is_ours:
            found[spilled.token].append(spilled)
    recordings = [sorted(parts, key=lambda part: part.part) for parts in found.values()]
    return sorted(recordings, key=_begun)


def _begun(parts: Sequence[Spilled]) -> tuple[bool, int]:
    """Runs begin before other processes join them."""
    at = parts[0].header.get("at")
    return parts[0].header.get("joins") is True, at if isinstance(at, int) else 0


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _LOG.warning("%s was taken in, and could not be deleted: %s", path, error)
