"""How a number may have been worked out of others: sums, differences, products, ratios and percentages.

Many numbers give another one by accident. That a number was worked out in one way is *likely* where of all that was
tried exactly one way gives it to the last digit, and where it has so many digits that fewer than one in a hundred
random numbers would be met so. Otherwise the ways are possible ones, and nobody knows which.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call

__all__ = ["Computed", "computed"]

_LEAST_ODDS: Final = 100
"""How many numbers of as many digits there must be for each way that was tried."""

_MOST_OF_THREE: Final = 14
"""Numbers, the nearest ones, of which three are tried together."""

_MOST_DECIMALS: Final = 6
"""Decimals up to which a result may have been rounded."""

_HUNDRED: Final = Decimal(100)
_PRECISION: Final = 34

Number: TypeAlias = "tuple[Call | None, Path, Decimal]"
Way: TypeAlias = "tuple[Decimal, str, tuple[Number, ...]]"


@dataclass(frozen=True, slots=True)
class Computed:
    """A way in which a number may have been worked out.

    Attributes:
        words: the way: `1299 + 84.5`.
        origins: the calls that brought the parts (None: the input), and where in them, the newest first.
        is_likely: whether no other way gives it, and an accident is unlikely.
    """

    words: str
    origins: tuple[tuple[Call | None, Path], ...]
    is_likely: bool = False

    @property
    def why(self) -> str:
        """The way, with how sure it is."""
        only = f"{self.words}; no other numbers that are recorded give it"
        return only if self.is_likely else f"perhaps {only}, which may be an accident"


def computed(value: Wire, numbers: Sequence[tuple[Call | None, Path, int | float]], old: Wire) -> list[Computed]:
    """The ways in which a number may have been worked out of numbers that are recorded; none for what is not a number.

    Args:
        value: the number.
        numbers: what calls brought and the input held, and where, the newest first.
        old: what stood in the place of `value` before; a total grows by one of the numbers.
    """
    wanted = _exact(value)
    if wanted is None:
        return []
    with localcontext() as context:
        context.prec = _PRECISION
        found: dict[str, Computed] = {}
        tried = 0
        for figures, words, parts in _ways(numbers, _exact(old)):
            tried += 1
            if _is(figures, wanted, value):
                found.setdefault(words, Computed(words, tuple((call, path) for call, path, _ in parts)))
    digits = len(wanted.normalize().as_tuple().digits)
    if len(found) == 1 and 10**digits >= _LEAST_ODDS * tried:
        (only,) = found.values()
        return [Computed(only.words, only.origins, is_likely=True)]
    return list(found.values())


def _is(figures: Decimal, wanted: Decimal, value: Wire) -> bool:
    """Whether a result is the number: exactly, as floats have it, or rounded to as many decimals as that has."""
    if figures == wanted:
        return True
    if not isinstance(value, float):
        return False
    decimals = max(0, -int(wanted.normalize().as_tuple().exponent))
    if decimals <= _MOST_DECIMALS and round(float(figures), decimals) == value:
        return True
    return abs(float(figures) - value) <= 1e-14 * abs(value)  # the last bits of floats


def _ways(numbers: Sequence[tuple[Call | None, Path, int | float]], old: Decimal | None) -> Iterator[Way]:
    """Everything that is tried: what it gives, how it is said, and what it was worked out of."""
    exact = [(call, path, number) for call, path, each in numbers if (number := _exact(each)) is not None and number]
    nearest: dict[Decimal, Number] = {}
    for each in exact:
        nearest.setdefault(each[2], each)
    distinct = list(nearest.values())
    for each in distinct:
        if old:
            yield old + each[2], f"{old} + {each[2]}", (each,)
            yield old - each[2], f"{old} - {each[2]}", (each,)
        if abs(each[2]) != 1:
            yield each[2] * _HUNDRED, f"{each[2]} × 100", (each,)
            yield each[2] / _HUNDRED, f"{each[2]} ÷ 100", (each,)
    for one, other in combinations(distinct, 2):
        yield from _of_two(one, other)
    for three in combinations(distinct[:_MOST_OF_THREE], 3):
        (*_, a), (*_, b), (*_, c) = three
        yield a + b + c, f"{a} + {b} + {c}", three
        for x, y, z in ((a, b, c), (a, c, b), (b, c, a)):
            if 1 not in (abs(x), abs(y)):
                yield x * y + z, f"{x} × {y} + {z}", three
                yield x * y - z, f"{x} × {y} - {z}", three
    columns = sorted(exact, key=_column)
    for _, group in groupby(columns, key=_column):
        parts = list(group)
        figures = {number for _, _, number in parts}
        is_tried = len(parts) == len(figures) == 3 and figures <= {number for _, _, number in distinct[:_MOST_OF_THREE]}
        if len(parts) >= 3 and not is_tried:
            words = f"the sum of all {len(parts)}: {' + '.join(str(number) for _, _, number in parts[:4])}"
            words += " + …" if len(parts) > 4 else ""
            yield sum((number for _, _, number in parts), Decimal(0)), words, (parts[0],)


def _of_two(one: Number, other: Number) -> Iterator[Way]:
    """What two numbers give."""
    parts, a, b = (one, other), one[2], other[2]
    yield a + b, f"{a} + {b}", parts
    yield abs(a - b), f"{max(a, b)} - {min(a, b)}", parts
    if abs(a) != 1 and abs(b) != 1:
        yield a * b, f"{a} × {b}", parts
        for x, y in ((a, b), (b, a)):
            yield x / y, f"{x} ÷ {y}", parts
            yield x / y * _HUNDRED, f"{x} ÷ {y} × 100", parts
            yield x * y / _HUNDRED, f"{y} % of {x}", parts
            yield x + x * y / _HUNDRED, f"{x} + {y} %", parts
            yield x - x * y / _HUNDRED, f"{x} - {y} %", parts
            yield (x - y) / y * _HUNDRED, f"how much more {x} is than {y}, in percent", parts


def _column(number: Number) -> tuple[int, int, tuple[str, ...]]:
    """What the like numbers of a list have in common: their call, and their place without positions."""
    call, path, _ = number
    place = tuple("[]" if isinstance(step, int) else step for step in path)
    return (0, 0, place) if call is None else (call.step, call.number, place)


def _exact(value: Wire) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    exact = Decimal(repr(value))
    return exact if exact.is_finite() and -20 < exact.adjusted() < 20 else None
