"""Rules that let some differences of two states pass: in order, at paths, of small distances, in type."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import parse_pattern
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.paths import Pattern

__all__ = ["Ignoring", "Why"]

Why: TypeAlias = Literal["path", "order", "tolerance", "type"]
"""Which rule let a difference pass."""

_LARGEST_TOLERANCE: Final = 300
"""Digits before the point from which on a tolerance is not a sensible one."""


@dataclass(frozen=True, slots=True)
class Ignoring:
    """What does not count when two states are compared.

    Attributes:
        order: The order of the items of lists and tuples. How often an item is there does count.
        paths: Places and all that is in them.
        tolerance: How far apart two numbers of one type may be, as they are written in decimals; None for exactly
            equal. True and false are no numbers.
        types: Types, where the values are equal otherwise: 1, 1.0 and Decimal("1"), a tuple and a list of the same
            items, a datetime and its ISO text, a dataclass and a dict of its fields, bytes and the text they encode.
    """

    order: bool = False
    paths: tuple[Pattern, ...] = ()
    tolerance: Decimal | None = None
    types: bool = False

    @classmethod
    def of(
        cls,
        *,
        ignore_order: bool = False,
        ignore: Iterable[str] = (),
        tolerance: float | str | Decimal | None = None,
        ignore_type: bool = False,
    ) -> Ignoring:
        """Read the rules as people give them.

        Raises:
            InvalidPath: A path cannot be read.
            UsageError: A path is empty, or the tolerance is not a number from 0 on.
        """
        paths = tuple(dict.fromkeys(parse_pattern(text) for text in ignore))
        if () in paths:
            raise UsageError("the path to ignore is empty", hint="Name what is to be ignored: messages[*].id.")
        return cls(ignore_order, paths, None if tolerance is None else _tolerance(tolerance), ignore_type)

    def __bool__(self) -> bool:
        return self.order or bool(self.paths) or self.tolerance is not None or self.types


def _tolerance(given: float | str | Decimal) -> Decimal:
    try:
        number = Decimal(str(given))
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number < 0 or abs(number.adjusted()) > _LARGEST_TOLERANCE:
        raise UsageError(f"{given!r} is not a tolerance", hint="Give how far apart numbers may be: 0.001, 1e-6, 2.")
    return number
