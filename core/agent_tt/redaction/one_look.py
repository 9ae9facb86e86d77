"""One look at a whole value, which mostly tells that nothing in it is to be taken out.

Its names are known to say nothing, and its texts are searched together: one search of many texts takes hardly longer
than a search of one. What has to be looked at closely goes through `values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.names import is_described, is_secret_header, kind_of
from agent_tt.redaction.own import OWN
from agent_tt.redaction.personal import is_personal_number
from agent_tt.redaction.texts import (
    CLEAN,
    LONG_FROM,
    REMEMBERED_FROM,
    SHOWN,
    Clean,
    are_clean,
    is_clean,
    redact_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire

__all__ = [
    "KEYS",
    "LEFT",
    "are_all_clean",
    "gather",
    "hold_nothing",
    "holds_nothing",
    "is_header_pair",
    "says_nothing",
]

_VALUES: Final = frozenset({VALUE, "value"})
"""Keys whose values are named by other fields."""
_AT_ONCE: Final = LONG_FROM // REMEMBERED_FROM
"""Short texts that are looked at together: so many are no long one."""
_FEW_TEXTS: Final = 4
"""Of so many texts, in some of which something may be found, each is looked at."""
_LEVELS_AT_ONCE: Final = 8
"""Levels of a value that are looked at together: each is looked at anew where something was found further down."""


class _Left:
    """The latest value that a question has as it is: it is kept as it is.

    Attributes:
        latest: that, in a list of its own as long as nothing else is secret; see `Clean`.
    """

    def __init__(self) -> None:
        self._forget()
        GIVEN.told.append(self._forget)

    def _forget(self) -> None:
        self.latest: list[Wire] = [None]


LEFT: Final = _Left()
KEYS: Final = Clean()
"""Keys of objects in which nothing was found."""
_QUIET: Final = Clean()
"""Those of them that do not tell what their value is, either."""
_LOUD: Final = Clean()
"""Keys that tell what their value is."""


def holds_nothing(held: dict[str, Wire] | list[Wire]) -> bool:
    """Whether one look at a value tells that nothing is found in it, to any depth, whoever asks.

    Its short texts are looked at together: one look at many takes hardly longer than at one. Each is known to be clean
    then, also where others are not.

    Args:
        held: an object or a list; not empty.
    """
    if held is LEFT.latest[0]:
        return True
    short: list[str] = []
    long: list[str] = []
    is_quiet = gather(held, short, long)
    return are_all_clean(short) and is_quiet and hold_nothing(long)


def are_all_clean(texts: Sequence[str]) -> bool:
    """Whether short texts hold nothing. Of most others that is known then, where something is found in few of them."""
    if len(texts) <= _AT_ONCE and (not texts or are_clean(texts)):
        return True
    if len(texts) <= _FEW_TEXTS:
        return False
    half = len(texts) // 2
    is_first, is_second = are_all_clean(texts[:half]), are_all_clean(texts[half:])
    return is_first and is_second


def hold_nothing(texts: Iterable[str]) -> bool:
    """Whether nothing is found in texts, nor a mark."""
    for text in texts:  # noqa: SIM110  a generator takes as long as what it is asked for
        if redact_text(text) is not text or not is_clean(text):
            return False
    return True


def gather(
    held: dict[str, Wire] | list[Wire], short: list[str], long: list[str], levels: int = _LEVELS_AT_ONCE
) -> bool:
    """Gather the texts of a value that nobody looked at yet; False where something else in it has to be looked at.

    Args:
        held: an object or a list.
        short: takes the short ones.
        long: takes the others, in the order in which they stand.
        levels: how deep objects and lists in it may be.
    """
    if type(held) is dict:
        keys = held.keys()
        if not keys <= _QUIET.kept and not (keys.isdisjoint(_LOUD.kept) and _are_quiet(held)):
            return False
        items: Iterable[Wire] = held.values()
    else:
        items = held
        if str in map(type, items) and _may_be_command(held):  # type: ignore[arg-type]
            return False
    clean, dirty, left, least_number = CLEAN.kept, SHOWN.kept, LEFT.latest, OWN.least_number
    for item in items:
        kind = type(item)
        if kind is str:
            size = len(item)  # type: ignore[arg-type]  # its kind is known
            if size < REMEMBERED_FROM:
                if item not in clean:
                    short.append(item)  # type: ignore[arg-type]
            elif size >= LONG_FROM:
                long.append(item)  # type: ignore[arg-type]
            elif (known := (hash(item), size)) not in clean:
                if known in dirty:
                    return False
                long.append(item)  # type: ignore[arg-type]
        elif kind is dict or kind is list:
            if (
                item and item is not left[0] and not (levels and gather(item, short, long, levels - 1))  # type: ignore[arg-type]
            ):
                return False
        elif kind is int and item >= least_number and is_personal_number(item):  # type: ignore[operator, arg-type]
            return False
    return True


def _are_quiet(fields: dict[str, Wire]) -> bool:
    """Whether no field name of an object tells what its value is, or holds a secret. Such names are remembered."""
    quiet, loud = _QUIET.seen(), _LOUD.seen()
    for key in fields:
        if key == TYPE or key in _VALUES or not says_nothing(key):
            loud.add(key)
            return False
    if not (fields.keys() <= KEYS.kept or are_clean([*fields])):
        return False
    quiet.update(fields)
    return True


def _may_be_command(items: list[Wire]) -> bool:
    """Whether a text of a list may say what the next one is, or consist of a name and a value."""
    if len(items) == 2 and is_header_pair(items):
        return True
    return any(type(item) is str and ("=" in item or item.startswith("-")) for item in items)


def says_nothing(name: str) -> bool:
    """Whether the name of an object says nothing of what is in there."""
    return kind_of(name) is None and not is_described(name)


def is_header_pair(items: list[Wire]) -> bool:
    """Whether a list of two is the name and the value of a header that lets somebody in."""
    name, value = items
    return type(name) is str and type(value) is str and bool(value) and " " not in name and _is_strict(name)


def _is_strict(name: str) -> bool:
    """Whether a name can be that of a header alone: two words of a list are often tags."""
    return is_secret_header(name) and (name.lower() in ("authorization", "cookie", "set-cookie") or "-" in name)
