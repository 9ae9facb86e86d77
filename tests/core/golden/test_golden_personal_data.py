"""A golden of a run with personal data carries neither key nor vault nor originals, and holds where others keep it."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import zstandard
from tests.core.golden.desk import tried
from tests.core.redaction.test_secret_kinds import traces
from tests.core.stored_bytes import contents
from tests.fresh_source import write_source

from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.recording_file import open_recording
from agent_tt.golden.run_rules import Ends
from agent_tt.golden.saving import save_golden
from agent_tt.golden.value_rules import Answer
from agent_tt.querying.marks_in import marks_in_run
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import key_path, store_key
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.vault import KEY_VARIABLE, new_key, vault_path
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.golden.golden_file import Golden
    from agent_tt.golden.running import GoldenResult

pytest.importorskip("cryptography")
pytestmark = pytest.mark.warm

ANN, BOB, PHONE, CARD = "Ann@example.com", "bob@example.com", "+49 170 1234567", "5500-0000-0000-0004"
AGENT = f"""
import agent_tt

@agent_tt.tool(effect="read")
def find(mail, phone):
    return {{"of": mail, "boss": "boss@example.com", "card": "{CARD}"}}

@agent_tt.tool(effect="write")
def send(text):
    return len(text)

def main():
    state = {{"people": ["{ANN}", "{BOB}"], "answer": None}}
    with agent_tt.record("people", state=state) as run, run.step("all", state):
        first, second = state["people"]
        found = find(first, "{PHONE}")
        send(f"{{found['boss']}} of {{found['card']}}: {{first}}, {{second}} and {{first.lower()}}, {PHONE}")
        state["answer"] = f"told {{second}} of {{first}}"
    return state
"""
SETTINGS = '[tool.agent-tt]\nredact = "personal"\n'


@pytest.fixture(autouse=True)
def _no_rules() -> Iterator[None]:
    yield
    OWN.use(Rules())
    GIVEN.forget()


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    """The folder with the agent in it, with changes."""
    text = AGENT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(SETTINGS)
    write_source(folder / "people.py", text)
    return folder


@pytest.fixture
def golden(tmp_path: Path) -> Golden:
    """A golden of a run whose store has a key and a vault."""
    folder = written(tmp_path / "first")
    (folder / "pyproject.toml").write_text(f"{SETTINGS}[tool.agent-tt.redaction]\nvault = true\n")
    environment = {**os.environ, "AGENT_TT_STORE": str(folder / "runs.db"), KEY_VARIABLE: new_key()}
    subprocess.run([sys.executable, "-c", "import people; people.main()"], cwd=folder, env=environment, check=True)
    (folder / "vault-key").write_text(environment[KEY_VARIABLE])
    with closing(open_store(folder / "runs.db")) as store:
        return save_golden(store, store.run("people"), folder / "goldens", "kept", (Ends(), Answer(contains=("told",))))


def elsewhere(golden: Golden, folder: Path) -> Golden:
    """The golden in another checkout, where nothing else of the first is."""
    shutil.copytree(golden.path.parent, folder / "goldens", dirs_exist_ok=True)
    return read_golden(folder / "goldens" / golden.path.name)


def marks_of(result: GoldenResult, run: str | None) -> list[str]:
    """The marks in a run that came of a golden, in order."""
    with closing(open_store(result.store)) as store:
        return marks_in_run(store, store.run(run or ""))


def test_a_golden_carries_neither_key_nor_vault_nor_originals(golden: Golden):
    first = golden.path.parents[1]
    key = key_path(first / "runs.db").read_bytes()
    ciphertexts = [line.split()[1] for line in vault_path(first / "runs.db").read_bytes().splitlines()]
    assert len(ciphertexts) == 6, "a line that begins it, and one for each mark"
    kept = sorted(file for file in golden.path.parent.rglob("*") if file.is_file())
    assert [file.suffixes[-2:] for file in kept] == [[".recording", ".zst"], [".toml"]]
    raw = [file.read_bytes() for file in kept]
    raw.append(zstandard.ZstdDecompressor().decompress(raw[0]))
    with open_recording(golden) as store:
        raw += [data for _, data in contents(store.path)]
        assert len(marks_in_run(store, store.run("people"))) == 5
    everything = b"\n".join(raw)
    originals = (ANN, ANN.lower(), BOB, "boss@example.com", PHONE, CARD)
    assert [value for value in originals if traces(value, everything)] == []
    for secret in (key, key.hex().encode(), base64.b64encode(key), (first / "vault-key").read_bytes(), *ciphertexts):
        assert secret not in everything


def test_in_a_second_store_the_marks_of_a_golden_correspond_one_to_one(golden: Golden, tmp_path: Path):
    there = elsewhere(golden, written(tmp_path / "second"))
    result = tried(there)
    assert (result.outcome, result.new_request) == ("passed", None), result.lines()
    assert marks_of(result, result.now) == marks_of(result, result.kept) != []
    assert store_key(result.store) != key_path(golden.path.parents[1] / "runs.db").read_bytes()
    written(tmp_path / "second", (ANN, "Eve@example.com"), (BOB, "joe@example.com"))
    assert tried(there).outcome == "passed", "two people are still two"
    written(tmp_path / "second", (ANN, BOB))
    result = tried(there)
    assert result.outcome == "failed"
    assert result.new_request is not None, "two are not one"
