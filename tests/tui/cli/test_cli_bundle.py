"""Bundles on the command line: exporting, looking, replaying once it is trusted, importing."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from agent_tt import samples

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command

pytestmark = pytest.mark.warm


@pytest.fixture
def exported(command: Command, tmp_path: Path) -> str:
    """The sample in a bundle, with its code; nothing else of it is here."""
    samples.ensure("refund-loop", tmp_path / "runs.db")
    done = command("export", "refund-loop", "--store", "runs.db", "--code", "-o", "x.att", "--json")
    assert done.json == {"path": "x.att", "format": "bundle", "runs": ["refund-loop"]}
    (tmp_path / "runs.db").unlink()
    return "x.att"


def test_a_bundle_is_looked_at_as_any_file_of_runs(command: Command, exported: str) -> None:
    (run,) = command("runs", "--store", exported, "--json").json
    assert (run["name"], run["steps"]) == ("refund-loop", 21)
    assert command("runs", "--store", exported).out.splitlines()[-1] == "x.att: a bundle, unsigned"
    for arguments in (
        ("show", "refund-loop", "2"),
        ("diff", "refund-loop@1", "refund-loop@2"),
        ("blame", "refund-loop", "notes", "--at", "2"),
        ("find", "refund-loop", "refund policy"),
        ("verify",),
        ("stats",),
    ):
        done = command(*arguments, "--store", exported)
        assert (done.code, done.err) in [(0, ""), (1, "")], arguments


def test_a_bundle_runs_only_what_it_is_trusted_with(command: Command, exported: str, tmp_path: Path) -> None:
    refused = command("replay", exported)
    assert refused.code == 2
    assert "x.att came from elsewhere (unsigned), and refund-loop would run refund_loop.py:main" in refused.err
    assert "--trust" in refused.err
    for again in (exported, f"{exported}:refund-loop"):
        done = command("replay", again, "--trust", "--json")
        assert (done.code, done.json["verdict"], done.json["served"]) == (0, "as_recorded", 41)
        assert done.err.splitlines() == [f"agent-tt: {tmp_path}/x.att: unsigned"]
    assert command("replay", "refund-loop", "--store", exported, "--dry-run").code == 0
    agent = ("--agent", f"{samples.folder()}/refund_loop.py:main")
    forked = command("fork", "refund-loop", "--at", "1", *agent, "--store", exported, "--trust")
    assert (forked.code, forked.out) == (2, "")
    assert "lies in the bundle" in forked.err
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".db"] == []


def test_an_imported_bundle_runs_what_is_named(command: Command, exported: str, tmp_path: Path) -> None:
    done = command("import", exported, "--into", "mine.db")
    assert (done.code, done.out.splitlines()[0]) == (0, f"{exported}: unsigned")
    (again,) = command("import", exported, "--into", "mine.db", "--json").json["runs"]
    assert (again["name"], again["added"], again["known"] > 0, again["problems"]) == ("refund-loop", 0, True, [])
    (folder := tmp_path / "folder").mkdir()
    shutil.copy(exported, folder / "x.att")
    (same,) = command("import", str(folder), "--into", "mine.db", "--json").json["runs"]
    assert {**same, "file": ""} == {**again, "file": ""}
    assert command("replay", "refund-loop", "--store", "mine.db").code == 2
    agent = f"{samples.folder()}/refund_loop.py:main"
    done = command("replay", "refund-loop", "--store", "mine.db", "--agent", agent, "--json")
    assert (done.code, done.json["verdict"]) == (0, "as_recorded")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("export", "refund-loop", "--markdown", "--code"), "--code, --with and --sign are of bundles"),
        (("export", "refund-loop", "-o", "y.att", "--with", "*.txt"), "--with names files beside the code"),
        (("export", "refund-loop", "-o", "y.att", "--sign", "none"), "the key none cannot be read"),
        (("export", "refund-loop", "--bundle"), "no file is named"),
        (("import", "x.att", "thread"), "a bundle is imported whole"),
    ],
)
def test_what_cannot_be_bundled_is_told(
    command: Command, exported: str, arguments: tuple[str, ...], words: str
) -> None:
    done = command(*arguments, *([] if arguments[0] == "import" else ["--store", exported]))
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_a_damaged_bundle_is_one_clear_error(command: Command, exported: str, tmp_path: Path) -> None:
    whole = bytearray((tmp_path / exported).read_bytes())
    whole[5_000] ^= 1
    (tmp_path / exported).write_bytes(whole)
    for arguments in (("runs", "--store", exported), ("replay", exported, "--trust"), ("import", exported)):
        done = command(*arguments)
        assert (done.code, done.out) == (4, "")
        assert "is damaged, or was changed" in done.err
