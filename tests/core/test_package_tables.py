"""Lists of files that are kept by hand: a package's docstring names each of its modules; the quick tests are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEADING = re.compile(r"^\| module \|.*\n\|[-|]+\|\n", re.MULTILINE)


def named_in(docstring: str) -> list[str]:
    """The modules that a docstring's table names, in its order."""
    rows = HEADING.split(docstring)[1].split("\n\n")[0].splitlines()
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def tables() -> dict[str, str]:
    """The docstrings that have a table, by package."""
    found = {}
    for init in [*ROOT.glob("core/agent_tt/**/__init__.py"), *ROOT.glob("tui/agent_tt_tui/**/__init__.py")]:
        docstring = ast.get_docstring(ast.parse(init.read_text())) or ""
        if HEADING.search(docstring):
            found[str(init.parent.relative_to(ROOT))] = docstring
    return found


@pytest.mark.parametrize(("package", "docstring"), tables().items())
def test_a_package_names_its_modules(package: str, docstring: str) -> None:
    inside = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__", "__main__"}
    inside |= {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    named = named_in(docstring)
    assert sorted(named) == sorted(inside)


def test_the_files_of_the_quick_tests_are_there():
    lines = (ROOT / "tests/quick.txt").read_text(encoding="utf-8").splitlines()
    files = [line.removeprefix("--deselect=").partition("::")[0] for line in lines]
    assert files
    assert [file for file in files if not (ROOT / file).is_file()] == []
