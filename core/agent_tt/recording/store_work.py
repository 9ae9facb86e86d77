"""What the store does on its own account: nothing of it is the agent's doing, and nothing of it is recorded."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["STORE_WORK", "is_store_at_work", "store_at_work"]


class _Depth(threading.local):
    """How many of the store's own doings this thread is inside of."""

    depth = 0


STORE_WORK: Final = _Depth()


@contextmanager
def store_at_work() -> Iterator[None]:
    """While it lasts, this thread is in no scope: what a store does on its own account is not the agent's doing.

    Unlike `nowhere` it leaves the context alone. Every write of a recording passes here, also one that the garbage
    collector's finalizers make: those may run in the middle of somebody's `ContextVar.set`, where CPython does not
    survive another one in the same context.
    """
    STORE_WORK.depth += 1
    try:
        yield
    finally:
        STORE_WORK.depth -= 1


def is_store_at_work() -> bool:
    """Whether this thread is inside something that the store does: a finalizer may run there."""
    return STORE_WORK.depth > 0
