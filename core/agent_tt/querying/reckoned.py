"""Whether a number was reckoned of others: said only where that can hardly be an accident.

Of the numbers that calls brought, exactly one pair, or one whole list, gives the value to the last digit; and the value
has so many digits that fewer than one in a hundred random numbers would be met so.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call

__all__ = ["Reckoned", "reckoned"]

_LEAST_ODDS: Final = 100
"""How many numbers of as many digits there must be for each way that was tried."""

_MOST_PARTS: Final = 200


@dataclass(frozen=True, slots=True)
class Reckoned:
    """How a number was reckoned.

    Attributes:
        why: in words: `1299 + 84.5`, and that nothing else gives it.
        origins: the calls that brought the parts, and where in their results, the newest first.
    """

    why: str
    origins: tuple[tuple[Call, Path], ...]


def reckoned(value: Wire, numbers: Sequence[tuple[Call, Path, int | float]], old: Wire) -> Reckoned | None:
    """How a number was reckoned of numbers that calls brought; None where that cannot be said with certainty.

    Args:
        value: the number.
        numbers: what calls brought, and where, the newest first.
        old: what stood in the place of `value` before; a total grows by one of the numbers.
    """
    wanted = _exact(value)
    if wanted is None:
        return None
    digits = len(wanted.normalize().as_tuple().digits)
    found: dict[str, Reckoned] = {}
    tried = 0
    for figures, words, origins in _ways(numbers, _exact(old)):
        tried += 1
        if figures == wanted:
            found.setdefault(words, Reckoned(words, origins))
    if len(found) != 1 or 10**digits < _LEAST_ODDS * tried:
        return None
    (only,) = found.values()
    return Reckoned(f"{only.why}; no other numbers that calls brought give it", only.origins)


def _ways(
    numbers: Sequence[tuple[Call, Path, int | float]], old: Decimal | None
) -> Iterator[tuple[Decimal, str, tuple[tuple[Call, Path], ...]]]:
    """Everything that is tried: what it gives, how it is said, and what it was reckoned of."""
    exact = [(call, path, number) for call, path, each in numbers if (number := _exact(each)) is not None and number]
    distinct = list({number: (call, path, number) for call, path, number in reversed(exact)}.values())[::-1]
    for call, path, number in distinct:
        if old:
            yield old + number, f"{old} + {number}", ((call, path),)
            yield old - number, f"{old} - {number}", ((call, path),)
    for index, (call, path, number) in enumerate(distinct):
        for other_call, other_path, other in distinct[index + 1 :]:
            origins = (call, path), (other_call, other_path)
            yield number + other, f"{number} + {other}", origins
            yield abs(number - other), f"{max(number, other)} - {min(number, other)}", origins
            if abs(number) != 1 and abs(other) != 1:
                yield number * other, f"{number} × {other}", origins
    columns = sorted(exact, key=lambda each: (each[0].step, each[0].number, _column(each[1])))
    for _, group in groupby(columns, key=lambda each: (each[0].step, each[0].number, _column(each[1]))):
        parts = list(group)
        if 3 <= len(parts) <= _MOST_PARTS:
            words = f"the sum of all {len(parts)}: {' + '.join(str(number) for _, _, number in parts[:4])}"
            words += " + …" if len(parts) > 4 else ""
            yield sum((number for _, _, number in parts), Decimal(0)), words, (parts[0][:2],)


def _column(path: Path) -> tuple[str, ...]:
    """What the like numbers of a list have in common: their place without positions."""
    return tuple("[]" if isinstance(step, int) else step for step in path)


def _exact(value: Wire) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        exact = Decimal(repr(value))
    except InvalidOperation:
        return None
    return exact if exact.is_finite() and -20 < exact.adjusted() < 20 else None
