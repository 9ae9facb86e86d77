"""`agent-tt originals`: what marks stand for, with the key alone; and what is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import agent_tt
from agent_tt.redaction.keyed import key_path
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.vault import KEY_VARIABLE, VAULT, vault_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.tui.cli.conftest import Command

pytest.importorskip("cryptography")

ANN, PHONE = "ann@example.com", "+49 170 1234567"


@pytest.fixture(autouse=True)
def _no_vault_kept() -> Iterator[None]:
    yield
    VAULT.keep_nowhere()
    OWN.use(Rules())


@pytest.fixture
def recorded(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a run of before the vault, in a project that has one."""
    monkeypatch.chdir(tmp_path)
    key = command("originals", "--new-key").out.strip()
    monkeypatch.setenv(KEY_VARIABLE, key)
    store = tmp_path / "runs.db"
    with agent_tt.record("desk", state={"to": ANN, "call": PHONE}, store=store):
        pass
    (tmp_path / "pyproject.toml").write_text("[tool.agent-tt.redaction]\nvault = true\n")
    return store


def test_what_was_taken_out_is_shown_with_the_key_alone_until_it_is_forgotten(
    command: Command, recorded: Path, monkeypatch: pytest.MonkeyPatch
):
    store = ("--store", str(recorded))
    assert command(*store, "redact", "desk", "--profile", "personal", "--yes").code == 0
    shown = command(*store, "originals", "desk")
    assert (shown.code, ANN in shown.out, PHONE in shown.out) == (0, True, True)
    originals = command(*store, "originals", "desk", "--json").json["originals"]
    assert {each["original"] for each in originals} == {ANN, PHONE}
    mark = originals[0]["mark"]
    assert command(*store, "originals", mark).out.split() == [mark, *originals[0]["original"].split()]
    with monkeypatch.context() as other:
        other.setenv(KEY_VARIABLE, command("originals", "--new-key").out.strip())
        refused = command(*store, "originals", "desk")
        assert (refused.code, refused.out, "is not that of" in refused.err) == (2, "", True)
    assert command(*store, "originals", "desk", "--forget").code == 2, "nobody can be asked"
    assert command(*store, "originals", mark, "--forget", "--yes", "--json").json == {"forgotten": 1}
    assert command(*store, "originals", mark).code == 1
    assert command(*store, "redact", "desk", "--forget", "--yes").code == 0
    assert command(*store, "originals", "desk").code == 1


def test_redact_with_forget_keeps_no_original(command: Command, recorded: Path):
    done = command("--store", str(recorded), "redact", "desk", "--profile", "personal", "--forget", "--yes")
    assert done.code == 0
    assert not vault_path(recorded).exists()
    assert key_path(recorded).exists()
