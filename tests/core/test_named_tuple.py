"""A named tuple is as one of `typing`, and the types of its fields are not compiled."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

from agent_tt._named_tuple import NamedTuple


class Place(NamedTuple):
    """Where something is."""

    file: str
    line: int = 1
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As people write it."""
        return f"{self.file}:{self.line}"

    @classmethod
    def first(cls, file: str) -> Place:
        """The first line of a file."""
        return cls(file)

    def __str__(self) -> str:
        return self.text


def test_it_is_a_tuple_with_names_defaults_and_methods() -> None:
    place = Place("a.py", words=("x",))
    assert place == ("a.py", 1, ("x",))
    assert isinstance(place, tuple)
    assert (place.file, place.text, str(place)) == ("a.py", "a.py:1", "a.py:1")
    assert Place.first("b.py") == Place("b.py", 1, ())
    assert place._replace(line=2).line == 2
    assert place._asdict() == {"file": "a.py", "line": 1, "words": ("x",)}
    assert repr(place) == "Place(file='a.py', line=1, words=('x',))"
    assert (Place._fields, Place._field_defaults) == (("file", "line", "words"), {"line": 1, "words": ()})
    assert (Place.__module__, Place.__qualname__, Place.__doc__) == (__name__, "Place", "Where something is.")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'file'"):
        Place()  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        place.line = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        place.other = 2  # type: ignore[attr-defined]


def test_it_is_copied_and_pickled_as_what_it_is() -> None:
    place = Place("a.py", 2)
    for again in (copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert type(again) is Place
        assert again == place


def test_types_of_fields_stay_as_they_are_written() -> None:
    class Late(NamedTuple):
        place: NotThere  # type: ignore[name-defined]  # noqa: F821

    assert Late.__annotations__ == {"place": "NotThere"}
    made = "from agent_tt._named_tuple import NamedTuple\nclass A(NamedTuple):\n    a: 'int'\nprint(A(a=1))"
    found = "import sys; print('typing' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{made}\n{found}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["A(a=1)", "False"]
