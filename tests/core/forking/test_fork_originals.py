"""A fork with originals works with the real values, and records their marks; without the key it is refused."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.core.redaction.test_secret_kinds import traces
from tests.core.stored_bytes import contents
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import VaultLocked
from agent_tt.redaction.vault import KEY_VARIABLE, new_key
from agent_tt.store import open_store

if TYPE_CHECKING:
    from conftest import Project

pytest.importorskip("cryptography")

pytestmark = pytest.mark.warm

AGENT = """
import json
import agent_tt

@agent_tt.tool(effect="read")
def look_up(who):
    return {"of": who, "boss": "boss@corp.example.com", "raw": b"call +49 170 1234567"}

def main(state=None):
    state = {"to": "ann@example.com"} if state is None else state
    with agent_tt.record("agent", state=state) as run:
        with run.step("one", state):
            found = look_up(state["to"])
            state["boss"] = found["boss"]
        with run.step("two", state):
            look_up(found["raw"].decode())
            with open("worked", "w") as file:
                json.dump([state["to"], state["boss"], found["raw"].decode()], file)

if __name__ == "__main__":
    main()
"""
REAL = ["ann@example.com", "boss@corp.example.com", "call +49 170 1234567"]


@pytest.mark.parametrize("by", ["restore", "replay"])
def test_a_fork_with_originals_works_with_the_real_values_and_records_marks(
    project: Project, monkeypatch: pytest.MonkeyPatch, by: str
):
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    monkeypatch.chdir(project.folder)
    settings = '[tool.agent-tt]\nredact = "personal"\n[tool.agent-tt.redaction]\nvault = true\n'
    project.put("pyproject.toml", settings)
    project.write(AGENT)
    project.run()
    worked = project.folder / "worked"
    for originals in (False, True):
        worked.unlink()
        agent_tt.fork("agent", 1, store=project.store_path, by=by, with_originals=originals).wait(PATIENCE_SECONDS)
        said = worked.read_text()
        assert (REAL[0] in said, all(value in said for value in REAL)) == (originals, originals)
        project.put("pyproject.toml", "[tool.agent-tt]\n")  # the rules of the run hold, whatever the settings say now
    found = b"\n".join(raw for _, raw in contents(project.store_path))
    assert [value for value in REAL if traces(value, found)] == []
    with closing(open_store(project.store_path)) as store:
        first, second = (run for run in store.runs() if run.parent is not None)
        assert store.state(first.id, 2) == store.state(second.id, 2), "the same marks"
        assert store.verify() == []
    monkeypatch.setenv(KEY_VARIABLE, new_key())
    with pytest.raises(VaultLocked, match="is not that of"):
        agent_tt.fork("agent", 1, store=project.store_path, by=by, with_originals=True)
