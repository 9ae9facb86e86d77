"""`agent-tt doctor`: it tells what is there, what is missing and what is wrong, and writes nothing."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from agent_tt.store import open_store
from agent_tt_tui.cli.looking import doctor

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.cli.conftest import Command


def states(found: object) -> dict[str, str]:
    assert isinstance(found, list)
    return {each["about"]: each["state"] for each in found}


def test_a_new_machine_lacks_a_store_and_nothing_is_wrong_or_made(command: Command, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    ended = command("doctor", "--json")
    assert ended.code == 0
    assert states(ended.json) | {"store": "missing", "settings": "ok", "agent-tt": "ok"} == states(ended.json)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_store_and_settings_are_told_with_what_is_in_them(command: Command, tmp_path: Path) -> None:
    open_store(tmp_path / ".agent-tt" / "runs.db", create=True).close()
    (tmp_path / "config" / "agent-tt").mkdir(parents=True)
    (tmp_path / "config" / "agent-tt" / "config.toml").write_text(
        'theme = "tt-light"\n[keys]\n"fork.open" = "ctrl+f"\n'
    )
    text = " ".join(command("doctor").out.split())
    assert "✓ store" in text
    assert "0 runs, can be written" in text
    assert "theme tt-light, 1 keys changed" in text


@pytest.mark.parametrize("settings", ["theme = 'no such theme'", "no_such_key = 1", "theme = ["])
def test_settings_that_cannot_be_used_are_wrong_and_the_rest_is_still_told(
    command: Command, tmp_path: Path, settings: str
) -> None:
    folder = tmp_path / "config" / "agent-tt"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(settings)
    ended = command("doctor", "--json")
    found = states(ended.json)
    assert ended.code == 1
    assert found["settings"] == "wrong"
    assert {"editor", "sessions", "frameworks"} <= found.keys()


def test_a_damaged_store_is_wrong_with_what_to_do(command: Command, tmp_path: Path) -> None:
    path = tmp_path / ".agent-tt" / "runs.db"
    path.parent.mkdir()
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    ended = command("doctor")
    assert ended.code == 1
    assert "✗ store" in ended.out
    assert "Traceback" not in ended.out + ended.err


def test_an_extra_names_what_it_lacks_and_how_it_is_installed(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = metadata.version

    def lacking(name: str) -> str:
        if name == "uvicorn":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(doctor.metadata, "version", lacking)
    found = {each["about"]: each for each in command("doctor", "--json").json}  # type: ignore[union-attr, index]
    assert found["extra mcp"]["state"] == "missing"
    assert "uvicorn" in found["extra mcp"]["words"]
    assert found["extra mcp"]["hint"] == "pip install 'agent-tt[mcp]'"
    assert not any(about in found for about in ("extra test", "extra check"))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("theme = 'nord'\nglyphs = 'ascii'", "ASCII, theme nord"),
        ("", "Unicode, theme tt-"),
        ("theme = 'none'", "theme tt-"),
    ],
)
def test_the_terminal_is_told_with_the_look_that_was_chosen(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, said: str
) -> None:
    folder = tmp_path / "config" / "agent-tt"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(settings)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    found = {each["about"]: each for each in command("doctor", "--json").json}  # type: ignore[union-attr, index]
    assert said in found["terminal"]["words"]


def test_an_editor_that_is_not_there_is_named(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "no-such-editor --wait")
    found = {each["about"]: each for each in command("doctor", "--json").json}  # type: ignore[union-attr, index]
    assert (found["editor"]["state"], found["editor"]["words"]) == ("missing", "no-such-editor is not installed")
