"""What the tests of screens share."""

import shutil

import pytest
from tests.tui.parsed_once import parse_once
from tests.tui.settling import let_messages_stay, settle_fast

from agent_tt import samples
from agent_tt.store import open_store

_PREBUILT = [sample.name for sample in samples.names() if sample.prebuilt]


@pytest.fixture(scope="session")
def sample_runs_file(tmp_path_factory):
    """A store that holds every shipped sample run; copied, never written to."""
    path = tmp_path_factory.mktemp("samples") / "runs.db"
    for name in _PREBUILT:
        samples.ensure(name, path)
    return path


@pytest.fixture
def sample_store(sample_runs_file, tmp_path):
    """A store of its own for one test, with the shipped sample runs."""
    path = tmp_path / "runs.db"
    shutil.copy(sample_runs_file, path)
    store = open_store(path)
    yield store
    store.close()


@pytest.fixture(autouse=True)
def _pilots_settle_fast(monkeypatch):
    settle_fast(monkeypatch)
    let_messages_stay(monkeypatch)
    parse_once(monkeypatch)
