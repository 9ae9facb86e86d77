"""What holds for every test."""

from __future__ import annotations

import compileall
import itertools
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import agent_tt
import agent_tt_tui

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

# A test never depends on how fast the machine is.
settings.register_profile("agent-tt", settings.default, deadline=None)
settings.load_profile("agent-tt")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell without job control, which has its commands ignore Ctrl-C; the processes
    # that tests start and interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_COUNT = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    """Compile the packages once, before any worker starts.

    The tests start some thousand processes. Where Python is told to write no bytecode, each of them would compile what
    it imports of ours, which takes longer than all the rest of its start.
    """
    if not hasattr(config, "workerinput"):
        for package in (agent_tt, agent_tt_tui):
            compileall.compile_dir(Path(str(package.__file__)).parent, quiet=2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Give each worker a stretch of neighbours, and who is done early some of what another has left.

    In turns, as by default, both workers would make what the tests of a module share, and the last long one would be
    waited for. Another way that is asked for by `--dist` stays.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test searches by an index in the cache folder of whoever runs the tests, nor by another test's."""
    # Not the test's own `monkeypatch`, which would then be undone after what other fixtures look at in the end.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{next(_COUNT)}"))
        yield
