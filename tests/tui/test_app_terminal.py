"""The app on a terminal of its own, as it is when that is gone."""

from __future__ import annotations

import os
import pty
import signal
import sys
import threading
from contextlib import closing

APP = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from textual.screen import Screen
from agent_tt_tui.app import AgentTT

class Shown(Screen[None]):
    def on_mount(self):
        self.set_timer(0.01, lambda: print("is shown", file=open("/dev/tty", "w")))

AgentTT(Shown).run()
"""


def test_an_app_that_ignores_hangups_ends_with_its_terminal() -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", APP])  # our own interpreter
    rescue = threading.Timer(60, os.kill, (pid, signal.SIGKILL))  # of this test, from an app that goes on for ever
    rescue.start()
    shown = b""
    with closing(os.fdopen(terminal, "rb", buffering=0)) as screen:
        while b"is shown" not in shown and (more := screen.read(4096)):
            shown += more
    _, status = os.waitpid(pid, 0)
    rescue.cancel()
    assert b"is shown" in shown
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGHUP
