"""`agent-tt export`."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.usefixtures("source")


def test_text_goes_to_standard_output_and_a_file_says_its_format(command: Command, tmp_path: Path) -> None:
    shown = command("export", "support", "--markdown", "--at", "2")
    assert shown.code == 0
    assert shown.out.startswith("## `support`")
    done = command("export", "support@2", "support/fork-1", "-o", "runs.md", "--json")
    assert done.json == {"path": "runs.md", "format": "markdown", "runs": ["support", "support/fork-1"]}
    written = (tmp_path / "runs.md").read_text()
    assert written.startswith(shown.out)
    assert "## `support/fork-1`" in written


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("support",), 2, "no format is named"),
        (("support", "-o", "x.txt"), 2, "nothing says in which format x.txt"),
        (("support", "--json", "--markdown"), 2, "no file is named"),
        (("support", "support/fork-1", "--at", "1", "--markdown"), 2, "--at is of one run"),
        (("nobody", "--markdown"), 3, "nobody"),
        (("support@99", "--markdown"), 3, "there is no step 99"),
    ],
)
def test_what_cannot_be_exported_is_told(command: Command, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = command("export", *arguments)
    assert (done.code, done.out) == (code, "")
    assert words in done.err


def test_a_file_that_is_there_is_replaced_only_by_force(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("mine")
    assert command("export", "support", "-o", "x.md").code == 2
    assert (tmp_path / "x.md").read_text() == "mine"
    assert command("export", "support", "-o", "x.md", "--force").code == 0
    assert (tmp_path / "x.md").read_text().startswith("## `support`")


def test_a_picture_shows_the_screen_at_a_step_or_two_runs_and_loads_nothing(command: Command, tmp_path: Path) -> None:
    assert command("export", "support@2", "-o", "one.svg").code == 0
    one = (tmp_path / "one.svg").read_text()
    assert "TIMELINE" in one
    assert "after" in one
    assert not re.search(r"url\(\s*['\"]?http|@font-face|@import|href=['\"]http", one)
    assert command("export", "support", "support/fork-1", "-o", "two.svg").code == 0
    assert re.search("parted.at", html.unescape((tmp_path / "two.svg").read_text()))
    three = command("export", "support", "support/fork-1", "support", "--svg")
    assert (three.code, "one run, or two" in three.err) == (2, True)


def test_the_last_word_may_be_the_file_and_alone_it_gets_all_runs(command: Command, tmp_path: Path) -> None:
    one = command("export", "support", "--db", "out.db", "--json")
    assert one.json == {"path": "out.db", "format": "db", "runs": ["support"]}
    every = command("export", "--jsonl", "all.jsonl", "--json")
    assert sorted(every.json["runs"]) == sorted(run["name"] for run in command("runs", "--all", "--json").json)
    assert (tmp_path / "all.jsonl").stat().st_size > 0
    assert command("export", "nobody", "--db", "x.db").code == 3
    assert command("export", "support", "--openai", "examples.jsonl", "--json").json["path"] == "examples.jsonl"
    assert not (tmp_path / "x.db").exists()
