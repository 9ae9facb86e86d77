"""What to record of exceptions whose class has a constructor of its own, written in C or Rust.

Such an object cannot be filled from outside. Each entry gives the facts that its class's public constructor makes it
from again (`agent_tt.replaying.special_exceptions`). Nothing is imported: the object brings its class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DESCRIBED", "PYDANTIC_ERROR"]

PYDANTIC_ERROR: Final = "pydantic_core._pydantic_core:ValidationError"


def _pydantic(error: BaseException) -> dict[str, object]:
    """`title`, `errors` and `text` of pydantic's ValidationError (its `from_exception_data` takes the first two)."""
    errors = error.errors(include_url=False)  # type: ignore[attr-defined]  # its class is known by name
    return {"title": error.title, "errors": errors, "text": str(error)}  # type: ignore[attr-defined]


DESCRIBED: Final[dict[str, Callable[[BaseException], dict[str, object]]]] = {PYDANTIC_ERROR: _pydantic}
"""By `module:Qualified.Name`: the facts by name. May raise anything; the exception is then opaque."""
