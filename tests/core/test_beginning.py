"""When a process began tells it from another one, with what Linux says of it and without."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from agent_tt.supervising import beginning
from agent_tt.supervising.adopted import AdoptedProcess


@pytest.mark.parametrize("knows_ticks", [True, False])
def test_it_tells_a_process_from_a_later_one(knows_ticks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not knows_ticks:
        monkeypatch.setattr(beginning, "ticks", lambda _: None)
    here = beginning.began(os.getpid())
    assert here is not None
    assert beginning.began(os.getpid()) == here
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        since = beginning.began(child.pid)
        assert since is not None
        assert since > here
        assert AdoptedProcess(child.pid, since).poll() is None
        assert AdoptedProcess(child.pid, since + 1).poll() == 0, "another one has that number"
        child.communicate(b"\n")
    assert not psutil.pid_exists(child.pid)
    assert beginning.began(child.pid) is None
