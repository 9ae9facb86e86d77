"""What lies beside a store and holds what is in it: files that it has not taken in yet, and the index of searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.addresses import Address
from agent_tt.cache_files import alone_in, cache_path, remove_all
from agent_tt.errors import Refused
from agent_tt.store.spill.taking_in import files_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_taken_in", "remove_index", "still_held"]


def check_taken_in(path: Path) -> None:
    """Refuse a store that has not taken in all that was recorded into it.

    Raises:
        Refused: spill files lie beside it.
    """
    left = [str(file) for file in files_of(path)]
    if left:
        raise Refused(
            f"{', '.join(left)}: beside the store lies what it has not taken in yet",
            runs=(),
            hint="`agent-tt runs` takes it in, once its recording is over.",
        )


def remove_index(path: Path) -> None:
    """Remove the index of searches of a store; the next search makes it anew.

    Raises:
        Refused: it cannot be deleted.
    """
    index = cache_path(path)
    if index.exists():
        with alone_in(index.parent):
            remove_all(index)
        if index.exists():
            raise Refused(
                f"{index}, the index of searches of the store, cannot be deleted, and holds what was taken out",
                runs=(),
                hint="Delete it, then say it again.",
            )


def still_held(path: Path, *, is_clean: bool) -> str:
    """Say what may still hold what was taken out of a store; "" where nothing does.

    Args:
        path: the store.
        is_clean: whether what its file, or its tables, have let go is gone.
    """
    if not isinstance(path, Address):
        return "" if is_clean else "somebody has the store open: free pages and log still hold it. Say it again then."
    beside = "the server's log, its replicas and its backups may hold it until they are renewed: docs/postgres.md"
    if is_clean:
        return f"The tables hold none of it; {beside}."
    return (
        "The tables could not be written anew, so their free room may hold it: somebody reads what was there before, or"
        f" this login may not do it. Say it again, as their owner. And {beside}."
    )
