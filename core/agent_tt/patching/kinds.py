"""The kinds of values that can be patched, as they are named on the command line and in what is recorded."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

__all__ = ["KINDS", "PatchKind"]

PatchKind: TypeAlias = Literal["clock", "random", "ids", "env"]
KINDS: Final[tuple[PatchKind, ...]] = get_args(PatchKind)
