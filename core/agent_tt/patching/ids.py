"""Ids: what `uuid` makes of the clock, the machine and random numbers."""

from __future__ import annotations

import uuid as real_uuid
from typing import TYPE_CHECKING, Any, Final

from agent_tt.patching.draws import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["UUID_NAMES"]


def _maker(name: str) -> Callable[..., real_uuid.UUID]:
    original: Callable[..., real_uuid.UUID] = getattr(real_uuid, name)

    def drawn(*args: Any, **kwargs: Any) -> real_uuid.UUID:
        asked = {**({"args": list(args)} if args else {}), **kwargs}
        return draw("id", f"uuid.{name}", lambda: original(*args, **kwargs), **asked)

    drawn.__name__ = drawn.__qualname__ = name
    drawn.__doc__ = original.__doc__
    return drawn


UUID_NAMES: Final[Mapping[str, object]] = {
    name: _maker(name) for name in ("uuid1", "uuid4", "uuid6", "uuid7", "uuid8", "getnode") if hasattr(real_uuid, name)
}
"""What `uuid` has instead, by name; uuid6 to uuid8 came with Python 3.14."""
