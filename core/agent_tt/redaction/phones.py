"""Telephone numbers: whether a country gives one out, as `phonenumbers` tells.

The library takes any text for a number, and that takes as long as the search of ten texts. Of digits alone most of what
it does changes nothing, so its tables are asked here. Where digits may be read in two ways (what is dialled within a
country may stand before them), the library itself is asked.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agent_tt._pattern import lazy_re

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

__all__ = ["is_possible", "is_valid"]

_LONGEST_CODE: Final = 3
_SIZES: Final = range(2, 18)
"""Digits that a number may have beside its country's."""
_KINDS: Final = (
    *("mobile", "fixed_line", "toll_free", "premium_rate", "shared_cost", "voip", "personal_number", "pager", "uan"),
    "voicemail",
)
_NO_REGION: Final = "001"
"""What the library calls the region of numbers that belong to no country."""


class _Form(NamedTuple):
    """How numbers of one kind look.

    Attributes:
        sizes: how many digits they have; none where any number may be.
        pattern: what their digits fit.
    """

    sizes: frozenset[int]
    pattern: re.Pattern[str]

    def fits(self, national: str) -> bool:
        """Whether digits look so."""
        return (not self.sizes or len(national) in self.sizes) and self.pattern.fullmatch(national) is not None


class _Region(NamedTuple):
    """A country, or one of those that have their code in common.

    Attributes:
        leading: what its numbers begin with, where that tells them from those of the others.
        any: how each of its numbers looks.
        kinds: how those of each kind look.
    """

    leading: re.Pattern[str] | None
    any: _Form | None
    kinds: tuple[_Form, ...]

    def gives_out(self, national: str) -> bool:
        """Whether it gives out a number."""
        return self.any is not None and self.any.fits(national) and any(kind.fits(national) for kind in self.kinds)


class _Plan(NamedTuple):
    """What holds for the numbers of a code.

    Attributes:
        dialled: what may be dialled before them within the country.
        regions: those whose code it is, the one first whose rules hold where nothing tells them apart.
    """

    dialled: re.Pattern[str] | None
    regions: tuple[_Region, ...]

    def gives_out(self, national: str) -> bool:
        """Whether one of the regions gives out a number."""
        if len(self.regions) == 1:
            return self.regions[0].gives_out(national)
        for region in self.regions:
            if region.leading is not None:
                if region.leading.match(national) is not None:
                    return region.gives_out(national)
            elif region.gives_out(national):
                return True
        return False


@lru_cache(4096)
def is_valid(digits: str) -> bool:
    """Whether a country gives out a number.

    Args:
        digits: the number with the code of its country, and nothing else.
    """
    if digits.isascii():
        for size in range(1, _LONGEST_CODE + 1):
            plan = _plan_of(digits[:size])
            if plan is not None:
                national = digits[size:]
                if len(national) in _SIZES and (plan.dialled is None or plan.dialled.match(national) is None):
                    return plan.gives_out(national)
                break
    return _is("is_valid_number", digits)


@lru_cache(4096)
def is_possible(digits: str) -> bool:
    """Whether a country could give out a number: it has as many digits as some of its numbers.

    Args:
        digits: see `is_valid`.
    """
    return _is("is_possible_number", digits)


def _is(check: str, digits: str) -> bool:
    library = _library()
    try:
        return bool(getattr(library, check)(library.parse(f"+{digits}", None)))
    except library.NumberParseException:
        return False


@cache
def _library() -> Any:
    return import_module("phonenumbers")


@cache
def _plan_of(code: str) -> _Plan | None:
    """What the library knows of a code; None of one that no country has."""
    library = _library()
    names = library.COUNTRY_CODE_TO_REGION_CODE.get(int(code or 0)) if code[:1] != "0" else None
    if not names:
        return None
    tables = library.PhoneMetadata
    found = [
        tables.metadata_for_nongeo_region(int(code), None) if name == _NO_REGION else tables.metadata_for_region(name)
        for name in names
    ]
    dialled = None if found[0] is None else found[0].national_prefix_for_parsing
    regions = (_region_of(table) for table in found if table is not None)
    return _Plan(lazy_re(dialled) if dialled else None, tuple(regions))


def _region_of(table: Any) -> _Region:
    forms = _forms(table.general_desc)
    kinds = [form for kind in _KINDS for form in _forms(getattr(table, kind))]
    leading = None if table.leading_digits is None else lazy_re(table.leading_digits)
    return _Region(leading, next(forms, None), tuple(kinds))


def _forms(of: Any) -> Iterator[_Form]:
    if of is not None and of.national_number_pattern:
        yield _Form(frozenset(of.possible_length), lazy_re(of.national_number_pattern))
