"""The terminal as Textual drives it, but asleep until somebody presses a key."""

from __future__ import annotations

import os
import selectors
import signal
import threading
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Final

from textual import constants
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from typing import Any

_MOST_BYTES: Final = 4096

_SEQUENCE_SECONDS: Final = constants.ESCAPE_DELAY * 1.2
"""How long after a byte a key may still be unfinished: an escape that nothing follows is the key of that name."""


class _Ending(threading.Event):
    """An event that can also be waited for together with a file; it lasts as long as the process."""

    def __init__(self) -> None:
        super().__init__()
        self.reader, self._writer = os.pipe()

    def set(self) -> None:
        super().set()
        os.write(self._writer, b"\0")

    def clear(self) -> None:
        os.read(self.reader, _MOST_BYTES)
        super().clear()


class QuietDriver(LinuxDriver):
    """Waits for keys without a look ten times a second; ends the app with its terminal."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Initialise the driver as Textual's."""
        super().__init__(*arguments, **options)
        self._ending = self.exit_event = _Ending()

    def run_input_thread(self) -> None:
        """Read keys until the driver ends."""
        parser, decode = XTermParser(self._debug), getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._ending.reader, selectors.EVENT_READ)
            may_be_unfinished = False
            while not self.exit_event.is_set():
                ready = {key.fd for key, _ in selector.select(_SEQUENCE_SECONDS if may_be_unfinished else None)}
                if self.fileno in ready:
                    data = self._read()
                    if not data:
                        selector.unregister(self.fileno)
                    for event in parser.feed(text) if (text := decode(data)) else ():
                        self.process_message(event)
                    may_be_unfinished = bool(data)
                elif not ready:
                    may_be_unfinished = False
                for event in parser.tick():
                    self.process_message(event)
        try:
            for event in parser.feed(""):
                self.process_message(event)
        except (EOFError, ParseError):
            pass

    def _read(self) -> bytes:
        """Read what was typed; nothing once there is no more to come. Where the terminal is gone, the app ends."""
        try:
            data = os.read(self.fileno, _MOST_BYTES)
        except OSError:
            data = b""
        if not data and self.input_tty:
            self._app.call_later(_end_with_terminal)
        return data


def _end_with_terminal() -> None:
    """End as programs do whose terminal is gone, also where nobody told this one: under nohup, or by setsid."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGHUP)
