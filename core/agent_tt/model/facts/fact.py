"""A fact: one key of a JSON object in a store, with its type, what it says, and how it is read.

A record lists the facts of one object, and is a view of it:

```python
class CallFacts(Facts):
    file = Fact(TEXT, "the file of the agent's code that made the call")

CallFacts({"file": "agent.py"}).file  # 'agent.py'; read and checked when it is asked for
CallFacts.file.key                    # 'file'
```

A file may hold anything. What does not have the shape of its fact is read as if it were absent, and raises nothing.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar, cast, overload

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, MutableMapping

    from agent_tt.codec.wire import Wire

__all__ = ["Fact", "Facts", "Flag", "Shape", "record", "records"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """How a value stands in JSON.

    Attributes:
        words: for the reference of the format: `text`, `list of texts`.
        read: makes the value; of None (it is absent) and of what is malformed, the value that stands for nothing.
        write: the value as it stands in JSON.
        record: of an object with keys of its own, what lists them.
    """

    words: str
    read: Callable[[Wire], T]
    write: Callable[[T], Wire] = lambda value: cast("Wire", value)
    record: type[Facts] | None = None


class Fact(Generic[T]):
    """One key of a JSON object.

    Attributes:
        key: as it stands in the file; the name of the field, unless it is given.
        shape: the shape of its value.
        what: what it says, for the reference of the format.
    """

    __slots__ = ("_absent", "_is_plain", "_read", "key", "shape", "what")

    def __init__(self, shape: Shape[T], what: str, *, key: str = "") -> None:
        self.shape, self.what, self.key = shape, what, key
        self._read = shape.read
        self._absent = absent = shape.read(None)
        # It can be given out again where nobody can change it.
        self._is_plain = absent is None or absent is False or absent == () or isinstance(absent, Facts)

    def __set_name__(self, owner: type[Facts], name: str) -> None:
        self.key = self.key or name

    @overload
    def __get__(self, facts: None, owner: type[Facts]) -> Self: ...

    @overload
    def __get__(self, facts: Facts, owner: type[Facts]) -> T: ...

    def __get__(self, facts: Facts | None, owner: type[Facts]) -> Self | T:
        if facts is None:
            return self
        found = facts.raw.get(self.key)
        return self._absent if found is None and self._is_plain else self._read(found)

    def of(self, raw: Mapping[str, Wire]) -> T:
        """The value that an object has for it."""
        return self._read(raw.get(self.key))

    def is_in(self, raw: Mapping[str, Wire]) -> bool:
        """Whether an object says anything of it, be it malformed."""
        return self.key in raw

    def entry(self, value: T) -> dict[str, Wire]:
        """An object that says this alone."""
        return {self.key: self.shape.write(value)}

    def put(self, raw: MutableMapping[str, Wire], value: T) -> None:
        """Say it in an object."""
        raw[self.key] = self.shape.write(value)


class Flag(Fact[bool]):
    """A key that is true, or absent."""

    __slots__ = ()

    def __init__(self, what: str) -> None:
        super().__init__(Shape("true", lambda found: found is True), what)

    def true(self) -> dict[str, Wire]:
        """An object that says this alone."""
        return {self.key: True}


class Facts:
    """A JSON object whose keys are known: a view, of which each fact is read when it is asked for.

    Attributes:
        raw: the object; it may have other keys too.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: Mapping[str, Wire]) -> None:
        self.raw = raw

    def __bool__(self) -> bool:
        return bool(self.raw)

    @classmethod
    def every(cls) -> Iterator[Fact[object]]:
        """Its facts, in the order in which they are declared."""
        return (fact for fact in vars(cls).values() if isinstance(fact, Fact))


F = TypeVar("F", bound=Facts)

_NOTHING: Final[Mapping[str, Wire]] = MappingProxyType({})


def record(kind: type[F]) -> Shape[F]:
    """The shape of an object inside another one; a view of nothing where it is absent or not an object."""
    return Shape(
        "object",
        lambda found: kind(found if isinstance(found, dict) else _NOTHING),
        lambda facts: dict(facts.raw),
        kind,
    )


def records(kind: type[F]) -> Shape[tuple[F, ...]]:
    """The shape of a list of objects; what in it is not an object is left out."""
    return Shape(
        "list of objects",
        lambda found: tuple(kind(one) for one in _listed(found) if isinstance(one, dict)),
        lambda every: [dict(one.raw) for one in every],
        kind,
    )


def _listed(found: Wire) -> list[Wire]:
    return found if isinstance(found, list) else []
