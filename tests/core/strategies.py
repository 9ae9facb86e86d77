"""Values of every supported type, nested, and an exact comparison: shared by the tests of codec, history and store."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import pathlib
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pydantic
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping


class Color(enum.Enum):
    RED = 1
    BLUE = "b"
    PAIR = (1, 2.0)


class Right(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Plan:
    goal: object
    steps: list[Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    x: object
    y: object


class Pair(NamedTuple):
    left: object
    right: object


class Note(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow", arbitrary_types_allowed=True)
    text: Any
    tags: list[Any] = []
    _seen: int = pydantic.PrivateAttr(default=0)


class Boom(Exception):
    pass


class Named(dict):  # type: ignore[type-arg]
    """A dict with an attribute of its own."""


class Word(str):
    __slots__ = ()


class Odd:
    def __repr__(self) -> str:
        return "<odd>"


CLASSES = (
    Color,
    Right,
    Level,
    Plan,
    Point,
    Pair,
    Note,
    Boom,
    Named,
    Word,
    FileNotFoundError,
    UnicodeDecodeError,
    StopIteration,
    collections.OrderedDict,
    collections.Counter,
    collections.defaultdict,
)
TYPES: Mapping[str, type] = {f"{kind.__module__}:{kind.__qualname__}": kind for kind in CLASSES}
"""What a decoder is offered to rebuild everything that the strategies make."""

EDGES = st.sampled_from(
    [0.0, -0.0, 1, 1.0, True, "1", "", 2**63, -(2**63), 2**63 - 1, 2**200, float("inf"), 1e16, 5e-324]
)
any_text = st.text(max_size=8) | st.text(st.characters(codec=None), max_size=3)
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats() | EDGES | any_text
keys = st.sampled_from(["a", "b", "c", "$type", "$v", "odd key", "3"]) | st.text(max_size=3)
odd_keys = keys | st.integers(0, 3) | st.tuples(st.integers(0, 2)) | st.text(st.characters(codec=None), max_size=2)

plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=25,
)
"""Scalars, lists and dicts: envelopes only where a number or a key needs one."""

offsets = st.integers(-86_000, 86_000).map(lambda seconds: dt.timezone(dt.timedelta(seconds=seconds)))
arrays = st.one_of(
    st.lists(st.floats(width=32), max_size=3).map(lambda items: np.array(items, dtype="<f4")),
    st.lists(st.integers(0, 99), min_size=6, max_size=6).map(lambda items: np.array(items, dtype=">i2").reshape(2, 3)),
    st.lists(st.booleans(), max_size=3).map(np.array),
    st.just(np.array(3.5)),
    st.just(np.array(["ab", "c"])),
    st.just(np.array(["2020-01-02"], dtype="datetime64[D]")),
)
typed_scalars = st.one_of(
    st.binary(max_size=5),
    st.binary(max_size=5).map(bytearray),
    st.decimals(),
    st.uuids(),
    st.dates(),
    st.times(),
    st.times(timezones=offsets),
    st.datetimes(),
    st.datetimes(timezones=st.timezones()),
    st.datetimes(timezones=offsets),
    st.datetimes().map(lambda moment: moment.replace(fold=1)),
    st.timedeltas(),
    st.complex_numbers(),
    st.frozensets(st.integers(0, 9) | st.text(max_size=2) | st.tuples(st.integers(0, 3))),
    st.sets(st.integers(0, 9) | st.floats(allow_nan=False)),
    st.sampled_from([*Color, *Right, *Level, Right.READ | Right.WRITE, Right(0)]),
    st.builds(range, st.integers(), st.integers(), st.integers(1, 9)),
    st.sampled_from([pathlib.PurePosixPath("/a/b"), pathlib.PureWindowsPath("c:\\x"), pathlib.Path("y/ä")]),
    arrays,
    st.builds(np.int16, st.integers(-9, 9)),
    st.builds(np.float64, st.floats()),
    st.builds(np.str_, st.text(max_size=3).filter(lambda text: "\0" not in text)),
    st.sampled_from([np.True_, np.datetime64("2020-01-02"), np.complex64(1 + 2j)]),
    st.builds(Word, st.text(max_size=3)),
    st.sampled_from([FileNotFoundError(2, "no such file", "a.txt"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")]),
)


def _named(entries: dict[Any, Any], attribute: Any) -> Named:
    named = Named(entries)
    named.label = attribute  # type: ignore[attr-defined]
    return named


def _raised(args: list[Any], attribute: Any) -> Boom:
    error = Boom(*args)
    error.detail = attribute  # type: ignore[attr-defined]
    return error


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(odd_keys, inner, max_size=4),
        st.tuples(inner, inner),
        st.builds(Pair, inner, inner),
        st.builds(Plan, st.integers(), lists),
        st.builds(Point, inner, inner),
        st.builds(Note, text=inner, tags=lists, more=inner),
        st.builds(collections.deque, lists, st.none() | st.integers(5, 9)),
        st.dictionaries(keys, inner, max_size=3).map(collections.OrderedDict),
        st.dictionaries(keys, inner, max_size=3).map(lambda entries: collections.defaultdict(list, entries)),
        st.builds(_named, st.dictionaries(keys, inner, max_size=2), inner),
        st.builds(_raised, lists, inner),
        lists.map(lambda args: StopIteration(*args)),
    )


values = st.recursive(scalars | typed_scalars, _nested, max_leaves=15)
"""Every supported type, nested in every other."""


def identical(left: Any, right: Any) -> bool:  # noqa: C901  # one line for each kind of value
    """Whether two Python values are the same by type, bit, order and attribute."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray | np.generic):
        return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()
    if isinstance(left, float):
        return struct.pack("d", left) == struct.pack("d", right)
    if isinstance(left, complex):
        return identical(left.real, right.real) and identical(left.imag, right.imag)
    if isinstance(left, dict):
        if isinstance(left, collections.defaultdict) and left.default_factory is not right.default_factory:
            return False
        entries = zip(left.items(), right.items(), strict=True)
        same_entries = len(left) == len(right) and all(identical(list(a), list(b)) for a, b in entries)
        return same_entries and identical(getattr(left, "__dict__", None), getattr(right, "__dict__", None))
    if isinstance(left, collections.deque) and left.maxlen != right.maxlen:
        return False
    if isinstance(left, list | tuple | collections.deque):
        return len(left) == len(right) and all(map(identical, left, right))
    if isinstance(left, BaseException):
        shown = not isinstance(left, OSError | UnicodeError) or str(left) == str(right)
        return shown and identical(left.args, right.args) and identical(vars(left), vars(right))
    if isinstance(left, Note):
        names = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
        return all(identical(getattr(left, name), getattr(right, name)) for name in names)
    if isinstance(left, Point):
        return identical([left.x, left.y], [right.x, right.y])
    if isinstance(left, Plan):
        return identical(vars(left), vars(right))
    if isinstance(left, dt.datetime | dt.time):
        shown = (left.isoformat(), left.fold, str(left.tzinfo)) == (right.isoformat(), right.fold, str(right.tzinfo))
        return shown and type(left.tzinfo) is type(right.tzinfo)
    if isinstance(left, set | frozenset):
        return sorted(map(repr, left)) == sorted(map(repr, right))
    return repr(left) == repr(right)
