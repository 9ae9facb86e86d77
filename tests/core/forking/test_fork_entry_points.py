"""Reading what names an agent, and what its source says about taking a state, without importing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_tt.errors import InvalidEntryPoint
from agent_tt.forking.entry.entry_point import find_source, package_of, parse_entry_point
from agent_tt.forking.entry.entry_source import read_entry_source

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
raise SystemExit("this file must never be run")

import functools
from elsewhere import borrowed

def main(state=None): ...
async def serve(*, state, depth=1): ...
def anything(**options): ...
def stateless(question): ...
def asks(question, state=None): ...
def loose(state, /): ...
partial = functools.partial(main, 3)

if True:
    def nested(state=None): ...

class Loads:
    def __init__(self, depth=1): ...
    def load_state(self, state): ...
    def run(self): ...

class Plain:
    def run(self): ...
    def step(self, state=None): ...
    def needs(self, depth): ...
    @staticmethod
    def start(state=None): ...
    @classmethod
    def begin(cls, state=None): ...

class Wants:
    def __init__(self, client): ...
    def run(self): ...

class MadeByClassMethod:
    def __init__(self, client): ...
    @classmethod
    def load_state(cls, state): ...
    def run(self): ...

class Child(Plain):
    def run(self): ...
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "agent.py"
    file.write_text(SOURCE)
    return file


@pytest.mark.parametrize(
    ("qualname", "restore"),
    [
        ("main", "state"),
        ("serve", "state"),
        ("anything", "state"),
        ("nested", "state"),
        ("Loads.run", "load_state"),
        ("MadeByClassMethod.run", "load_state"),
        ("Plain.run", "attributes"),
        ("Plain.step", "state"),
        ("Plain.start", "state"),
        ("Plain.begin", "state"),
        ("Child.run", None),
        ("Child.inherited", None),
        ("borrowed", None),
        ("partial", None),
    ],
)
def test_the_way_to_hand_over_a_state_is_read_from_the_source(source: Path, qualname: str, restore: str | None) -> None:
    assert read_entry_source(parse_entry_point(f"agent:{qualname}"), source).restore == restore


def test_the_line_is_that_of_the_definition(source: Path) -> None:
    found = read_entry_source(parse_entry_point("agent:main"), source)
    assert SOURCE.splitlines()[(found.line or 0) - 1].startswith("def main")


@pytest.mark.parametrize(
    ("qualname", "says"),
    [
        ("stateless", "takes no state="),
        ("loose", "takes no state="),
        ("asks", "also needs question"),
        ("Plain.needs", "also needs depth"),
        ("Wants.run", "also needs client"),
        ("main.inner", "is a function"),
        ("mian", "has no mian"),
        ("Plain.rum", "has no rum"),
    ],
)
def test_what_cannot_take_a_state_is_refused_with_its_place(source: Path, qualname: str, says: str) -> None:
    with pytest.raises(InvalidEntryPoint) as caught:
        read_entry_source(parse_entry_point(f"agent:{qualname}"), source)
    assert says in str(caught.value)
    assert str(source) in str(caught.value)


def test_a_misspelt_function_is_offered_the_nearest(source: Path) -> None:
    with pytest.raises(InvalidEntryPoint) as caught:
        read_entry_source(parse_entry_point("agent:mian"), source)
    assert "main" in caught.value.hint


def test_a_file_that_is_not_python_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text("x = 1\ndef main(:\n")
    with pytest.raises(InvalidEntryPoint, match=r"agent\.py:2 is not valid Python"):
        read_entry_source(parse_entry_point("agent:main"), file)


@pytest.mark.parametrize("text", ["", "main", ":main", "agent:", "agent:main()", "a b:main", "agent:f.<locals>.g"])
def test_what_does_not_name_an_agent_is_refused(text: str) -> None:
    with pytest.raises(InvalidEntryPoint) as caught:
        parse_entry_point(text)
    assert caught.value.hint


def test_modules_and_files_are_found_without_running_a_package(tmp_path: Path) -> None:
    inner = tmp_path / "pkg" / "sub"
    inner.mkdir(parents=True)
    for folder in (tmp_path / "pkg", inner):
        (folder / "__init__.py").write_text("raise SystemExit('this package must never be run')")
    file = inner / "agent.py"
    file.write_text("def main(state=None): ...")
    assert find_source(parse_entry_point("pkg.sub.agent:main"), [tmp_path]) == file
    assert find_source(parse_entry_point("pkg/sub/agent.py:main"), [tmp_path]) == file
    assert find_source(parse_entry_point(f"{file}:main"), []) == file
    assert find_source(parse_entry_point("pkg.nothing:main"), [tmp_path]) is None
    assert package_of(file) == (tmp_path, "pkg.sub.agent")


def test_a_script_is_its_own_top_level(tmp_path: Path) -> None:
    assert package_of(tmp_path / "agent.py") == (tmp_path, "agent")
