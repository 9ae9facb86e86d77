"""The app on a terminal of its own, as it is when that is gone."""

from __future__ import annotations

import os
import pty
import signal
import sys
import threading
from contextlib import closing, suppress

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

KEYS = """
from textual.screen import Screen
from agent_tt_tui.app import AgentTT

class Typed(Screen[None]):
    def on_mount(self):
        self.set_timer(0.01, lambda: self.tell("is shown"))

    def on_key(self, event):
        self.tell(f"<{event.key}>")
        if event.key == "s":
            with self.app.suspend():
                self.tell("suspended")
        if event.key == "x":
            self.app.exit()

    def tell(self, words):
        print(words, file=open("/dev/tty", "w"))

AgentTT(Typed).run()
"""


def test_keys_reach_the_app_however_they_come_and_also_after_it_was_suspended() -> None:
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", KEYS])  # our own interpreter
    rescue = threading.Timer(60, os.kill, (pid, signal.SIGKILL))
    rescue.start()
    shown = b""
    with closing(os.fdopen(terminal, "r+b", buffering=0)) as screen:
        for typed, words in (
            (b"", b"is shown"),
            (b"a", b"<a>"),
            (b"\x1b[A", b"<up>"),
            (b"\x1b", b"<escape>"),  # alone: known when nothing follows it
            (b"\xc3", b""),
            (b"\xa9", b"<\xc3\xa9>"),
            (b"s", b"suspended"),
            (b"b", b"<b>"),
        ):
            screen.write(typed)
            while words not in shown and (more := screen.read(4096)):
                shown += more
        screen.write(b"x")
        with suppress(OSError):  # the end of a terminal
            while screen.read(4096):
                pass
    _, status = os.waitpid(pid, 0)
    rescue.cancel()
    assert os.waitstatus_to_exitcode(status) == 0


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
