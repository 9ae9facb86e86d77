"""Which libraries this process has loaded: they are gone through again only when the loader has loaded another one.

It counts them, and reading all that is mapped takes 2 ms, which each of 15,000 tests would wait for.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.modules import native_libraries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOADED: Final[Callable[[], Iterator[str]]] = native_libraries._loaded


class _Object(ctypes.Structure):
    """What the loader tells of each library: `dl_phdr_info` of `link.h`."""

    _fields_ = (
        ("address", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("headers", ctypes.c_void_p),
        ("header_count", ctypes.c_uint16),
        ("loads", ctypes.c_ulonglong),
        ("unloads", ctypes.c_ulonglong),
    )


def libraries() -> frozenset[str]:
    """Those that are loaded now."""
    return frozenset(LOADED()) if sys.platform != "linux" else _as_of(_count())


@functools.lru_cache(maxsize=1)
def _as_of(_count: tuple[int, int]) -> frozenset[str]:
    return frozenset(LOADED())


def _count() -> tuple[int, int]:
    """How many libraries were ever loaded, and unloaded."""
    counted: list[tuple[int, int]] = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Object), ctypes.c_size_t, ctypes.c_void_p)
    def hear(of: Any, _size: int, _data: object) -> int:
        counted.append((of.contents.loads, of.contents.unloads))
        return 1  # the next ones would say the same

    ctypes.CDLL(None).dl_iterate_phdr(hear, None)
    return counted[0]
