"""The vault gives originals back with the key alone, and nothing of it can be read, moved or trusted without."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.redaction.test_secret_kinds import traces
from tests.core.stored_bytes import contents

import agent_tt
from agent_tt.errors import UsageError, VaultLocked
from agent_tt.querying.marks_in import marks_in_run
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import KEYED, keyed_marks_in
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.values import redact
from agent_tt.redaction.vault import KEY_VARIABLE, VAULT, Vault, find_key, new_key, open_vault, vault_path
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("cryptography")

ANN, PHONE, CARD = "Ann.Lee@mail.example.com", "+49 170 1234567", "5500-0000-0000-0004"


@pytest.fixture(autouse=True)
def _no_vault(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    yield
    VAULT.keep_nowhere()
    VAULT.reveals = None
    OWN.at_least = Rules()
    OWN.use(Rules())
    GIVEN.forget()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a run whose originals are kept."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.agent-tt]\nredact = "personal"\n[tool.agent-tt.redaction]\nvault = true\n'
    )
    path = tmp_path / "runs.db"
    state: dict[str, Any] = {"to": ANN, "raw": f"call {PHONE}".encode()}
    with agent_tt.record("desk", state=state, store=path) as run, run.step("one", state):
        state["card"] = CARD
        run.note(f"again {ANN.lower()}")
    return path


def test_with_the_key_each_mark_has_its_original_and_without_nothing_can_be_read(
    store: Path, monkeypatch: pytest.MonkeyPatch
):
    with closing(open_store(store)) as source:
        marks = marks_in_run(source, source.run("desk"))
    vault = open_vault(store)
    assert {vault.original(mark) for mark in marks} == {ANN, PHONE, CARD}
    everything = b"\n".join(
        [*(raw for _, raw in contents(store)), *(file.read_bytes() for file in store.parent.iterdir())]
    )
    assert [value for value in (ANN, PHONE, CARD) if traces(value, everything)] == []
    assert vault_path(store).stat().st_mode & 0o077 == 0
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    with pytest.raises(VaultLocked, match="is not that of"):
        open_vault(store)
    monkeypatch.delenv(KEY_VARIABLE)
    monkeypatch.setattr("agent_tt.redaction.vault.find_spec", lambda name: None if name == "keyring" else name)
    with pytest.raises(VaultLocked, match="there is no key"):
        open_vault(store)
    monkeypatch.setenv(KEY_VARIABLE, "c2hvcnQ=")
    with pytest.raises(VaultLocked, match="holds no key"):
        open_vault(store)


def test_a_key_may_lie_in_a_file(store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "key"
    monkeypatch.setenv("AGENT_TT_VAULT_KEY_FILE", str(file))
    file.write_text(f"{os.environ[KEY_VARIABLE]}\n")
    monkeypatch.delenv(KEY_VARIABLE)
    assert open_vault(store)
    file.unlink()
    with pytest.raises(VaultLocked, match="cannot be read"):
        open_vault(store)


def test_an_agent_goes_on_without_a_key_and_that_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any):
    monkeypatch.setenv(KEY_VARIABLE, "nonsense")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.agent-tt]\nredact = "personal"\n[tool.agent-tt.redaction]\nvault = true\n'
    )
    with caplog.at_level(logging.WARNING), agent_tt.record("desk", state={"to": ANN}, store=tmp_path / "runs.db"):
        pass
    assert "originals are not kept" in caplog.text
    assert not vault_path(tmp_path / "runs.db").exists()
    with pytest.raises(UsageError, match="has no vault"):
        open_vault(tmp_path / "runs.db")


def test_no_line_can_stand_for_another_mark_and_one_that_was_not_finished_is_skipped(store: Path):
    path = vault_path(store)
    begin, first, second, *rest = path.read_text().splitlines()
    (mark, value), (other, _) = first.split(" "), second.split(" ")
    path.write_text("\n".join([begin, f"{other} {value}", first, *rest, second[:30]]))
    vault = open_vault(store)
    assert vault.original(other) is None
    assert vault.original(mark) is not None
    path.write_text("something else\n")
    with pytest.raises(UsageError, match="no vault of this version"):
        open_vault(store)


def test_two_values_of_one_mark_are_neither(tmp_path: Path):
    vault = Vault(tmp_path / "runs.db", find_key())
    vault.keep("~id2abcdefgh~", "536-90-4399")
    vault.keep("~id2abcdefgh~", "536 90 4399")
    assert vault.original("~id2abcdefgh~") == "536-90-4399", "the same, written in another way"
    vault.keep("~id2abcdefgh~", "536-90-4398")
    assert vault.original("~id2abcdefgh~") is None
    assert Vault(tmp_path / "runs.db", find_key()).original("~id2abcdefgh~") is None


def test_what_is_forgotten_is_gone_for_good(store: Path):
    vault = open_vault(store)
    OWN.use(Rules(profile="personal"))
    KEYED.at(store)
    (mark,) = keyed_marks_in(str(redact(ANN)))
    before = len(vault_path(store).read_text().splitlines())
    assert (vault.forget({mark}), vault.forget({mark})) == (1, 0)
    assert len(vault_path(store).read_text().splitlines()) == before - 1
    assert open_vault(store).original(mark) is None
    assert open_vault(store).shown(f"x {mark}") == f"x {mark}"


def test_the_key_itself_reaches_no_file(store: Path):
    key = os.environ[KEY_VARIABLE]
    state: dict[str, Any] = {}
    with agent_tt.record("leak", state=state, store=store) as run, run.step("one", state):
        state["said"] = f"my environment is {key}"
    assert not traces(key, b"\n".join(raw for _, raw in contents(store)))
