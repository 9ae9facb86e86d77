"""Our `dataclass` makes what the standard library's makes, and compiles nothing before it is used."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, InitVar, field
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, ClassVar

import pytest

from agent_tt import _dataclass as ours

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]

FORMS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"slots": True, "eq": False},
    {"frozen": True, "slots": True, "eq": False},
]


def bodies() -> list[type]:
    class Plain:
        """Have a field."""

        name: str

    class Defaults:
        """Have every kind of default."""

        made = 0
        KINDS: ClassVar[int] = 3
        name: str
        size: int = 3
        parts: list[int] = field(default_factory=list)
        secret: str = field(default="s", repr=False, compare=False)
        weight: float = field(default=1.0, kw_only=True)
        _: KW_ONLY
        unit: str = "g"

    class Computed:
        """Work out a field of another."""

        name: str
        length: int = field(init=False)
        fixed: int = field(init=False, default=7)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", len(self.name))

    class Own:
        name: str

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self))

        def __hash__(self) -> int:
            return 1

    class Empty:
        pass

    return [Plain, Defaults, Computed, Own, Empty]


def told(make: Callable[[], object]) -> object:
    try:
        return make()
    except (TypeError, AttributeError) as error:
        return type(error), str(error).replace("_self", "self")


def behaviour(kind: type) -> list[object]:
    names = [each.name for each in dataclasses.fields(kind)]
    given = ("ab",) if "name" in names else ()
    one, same, other = kind(*given), kind(*given), kind(*(["c"] if given else []))

    def change() -> None:
        one.name = "z"

    def drop() -> None:
        del same.name

    return [
        repr(one),
        one == same,
        one == other,
        one == 1,
        told(lambda: hash(one) == hash(same)),
        told(lambda: kind(1, 2, 3, 4, 5, 6, 7)),
        told(lambda: kind(*given, weight=2.0, size=5).__repr__()),
        [(name, getattr(one, name)) for name in names],
        str(inspect.signature(kind)),
        kind.__match_args__,
        str(kind.__dataclass_params__),
        hasattr(one, "__dict__"),
        repr(dataclasses.replace(one, **({"name": "d"} if given else {}))),
        dataclasses.astuple(one),
        repr(copy.copy(one)),
        kind.__init__.__qualname__,
        kind.__init__.__module__,
        *(told(each) for each in (change, drop) if given),
        repr(one),
        told(lambda: repr(same)),
    ]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("place", range(len(bodies())))
def test_a_class_does_as_the_standard_librarys_does(place: int, form: dict[str, bool]) -> None:
    mine = ours.dataclass(**form)(bodies()[place])
    theirs = dataclasses.dataclass(**form)(bodies()[place])
    assert behaviour(mine) == behaviour(theirs)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_class_that_is_derived_does_as_the_standard_librarys_does(form: dict[str, bool]) -> None:
    def derived(make: Callable[..., Callable[[type], type]]) -> list[object]:
        class Base:
            """Have a name."""

            name: str

        made = make(**form)(Base)

        class Derived(made):
            """Have a size, too."""

            size: int = 1

        class Loose(made):
            """Be no data class itself."""

        if "slots" not in form:
            loose = Loose("a")
            loose.more = 2  # only fields are frozen there
            assert loose.more == 2
        return [behaviour(make(**form)(Derived)), told(lambda: setattr(Loose("a"), "name", "b"))]

    assert derived(ours.dataclass) == derived(dataclasses.dataclass)


@pytest.mark.parametrize(("base", "frozen"), [(ours, dataclasses), (dataclasses, ours), (ours, ours)])
@pytest.mark.parametrize("which", [True, False])
def test_frozen_and_not_do_not_go_together(base, frozen, which: bool) -> None:
    @base.dataclass(frozen=which)
    class Base:
        """Be one of both."""

    with pytest.raises(TypeError, match="cannot inherit"):

        @frozen.dataclass(frozen=not which)
        class Derived(Base):
            """Be the other."""


@ours.dataclass(frozen=True, slots=True)
class Kept:
    """Have a name for pickle."""

    name: str
    inner: object = None


def test_what_is_frozen_is_pickled_and_stays_frozen() -> None:
    kept = pickle.loads(pickle.dumps(Kept("a", Kept("b"))))
    assert kept == Kept("a", Kept("b"))
    with pytest.raises(FrozenInstanceError):
        kept.name = "z"


def test_what_holds_itself_is_shown() -> None:
    kept = Kept("a", [])
    kept.inner.append(kept)
    assert repr(kept) == "Kept(name='a', inner=[...])"


def test_nothing_is_compiled_before_it_is_used() -> None:
    @ours.dataclass(frozen=True, slots=True)
    class Unused:
        """Wait."""

        name: str

    def compiled() -> list[str]:
        return [name for name in ("__init__", "__repr__", "__eq__", "__hash__") if is_function(Unused, name)]

    def is_function(kind: type, name: str) -> bool:
        return isinstance(vars(kind)[name], FunctionType)

    assert compiled() == []
    one = Unused("a")
    assert compiled() == ["__init__"]
    assert one == Unused("a")
    assert compiled() == ["__init__", "__eq__"]
    assert len({one, Unused("a")}) == 1
    assert repr(one).endswith("Unused(name='a')")
    assert compiled() == ["__init__", "__repr__", "__eq__", "__hash__"]


def test_all_data_classes_of_ours_are_made_by_it() -> None:
    found = []
    for path in (each for part in ("core", "tui") for each in (ROOT / part).rglob("*.py")):
        if path == Path(ours.__file__) or "dataclasses" not in (text := path.read_text()):
            continue
        for node in ast.walk(ast.parse(text)):
            imported = isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
            named = imported and any(each.name == "dataclass" for each in node.names)
            if named or (isinstance(node, ast.Attribute) and ast.unparse(node) == "dataclasses.dataclass"):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == [], "import `dataclass` of agent_tt._dataclass: the standard library's takes ten times as long"


def test_what_it_does_not_know_is_refused():
    class Taken:
        name: InitVar[str]

    with pytest.raises(TypeError, match="InitVar"):
        ours.dataclass(Taken)
