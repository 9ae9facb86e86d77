"""How fast the debugger opens and scrubs, measured through a pseudo-terminal on the real command.

    python tests/benchmarks/bench_screen.py [--steps 10000] [--seconds 10]

Prints how long `agent-tt open` takes until its scrubber is on screen, for a short run and for a long one, and how soon
after the last of 30 keys a second the right step is there.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt import samples

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS, ROWS = 120, 40
KEYS_PER_SECOND = 30
OPENINGS = 5
PATIENCE_SECONDS = 60.0
RIGHT, HOME = b"\x1b[C", b"\x1b[H"

CURSOR = re.compile(rb"\x1b\[(\d+);(\d+)H")
CUT_CHARACTER = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")
CONTROL = re.compile(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class Terminal:
    """The app in a pseudo-terminal of its own, and the cells that it has written there."""

    def __init__(self, command: list[str]) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
            environment["AGENT_TT_HINTS"] = "off"  # no tour above the footer, which an own first run would bring
            os.execve(command[0], command, environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.spent = 0.0
        """Seconds of the processor, on all threads of the app, until it had written what was read last."""
        self._clock = (~self.pid << 3) | 2  # as `clock_getcpuclockid` says
        self.rows: dict[int, dict[int, int]] = {}
        self._pending = b""
        self._at = (1, 1)

    def send(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def read(self, seconds: float) -> None:
        """Take in what the app writes, for so long at most."""
        ready, _, _ = select.select([self.fd], [], [], max(0.0, seconds))
        if ready:
            self.spent = time.clock_gettime(self._clock)  # before it is looked at, which takes longer than a frame
            self._take(os.read(self.fd, 1 << 16))

    def shows(self, step: int) -> bool:
        """Whether the scrubber's label names a step and the diff pane shows what it changed."""
        label = re.match(rf"\s*{step}/\d+\s", self.row_text(ROWS - 2))
        title = rf"DIFF\s+(\d+ \S|after) {step}\s"
        return label is not None and any(re.search(title, self.row_text(row)) for row in self.rows)

    def wait_for(self, step: int) -> float:
        """Wait until a step is shown; when that was."""
        return self.wait_until(lambda: self.shows(step), f"step {step}")

    def wait_until(self, is_shown: Callable[[], bool], what: str) -> float:
        """Wait until something is shown; when that was."""
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while not is_shown():
            if time.perf_counter() > deadline:
                raise TimeoutError(f"{what} was never shown; the label is {self.row_text(ROWS - 2)!r}")
            self.read(0.5)
        return time.perf_counter()

    def row_text(self, row: int) -> str:
        """What stands in a row, from 1."""
        cells = self.rows.get(row, {})
        return "".join(chr(cells.get(column, 32)) for column in range(1, COLUMNS + 1))

    def close(self) -> float:
        """End the app; the seconds of the processor that it took, on all its threads."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        _, _, used = os.wait4(self.pid, 0)
        os.close(self.fd)
        return used.ru_utime + used.ru_stime

    def _take(self, data: bytes) -> None:
        data = self._pending + data
        # A sequence or character may be cut in the middle: it waits for the rest.
        last = data.rfind(b"\x1b")
        is_cut = last >= 0 and not CONTROL.match(data, last)
        character = CUT_CHARACTER.search(data)
        whole = last if is_cut else character.start() if character else len(data)
        self._pending, data = data[whole:], data[:whole]
        position = 0
        while position < len(data):
            if data[position] == 0x1B:
                move = CURSOR.match(data, position)
                found = move or CONTROL.match(data, position)
                if move:
                    self._at = (int(move[1]), int(move[2]))
                position = found.end() if found else position + 1
                continue
            end = data.find(b"\x1b", position)
            end = len(data) if end < 0 else end
            self._write(data[position:end].decode("utf-8", "replace"))
            position = end

    def _write(self, text: str) -> None:
        row, column = self._at
        for character in text:
            if character == "\r":
                column = 1
            elif character == "\n":
                row += 1
            else:
                self.rows.setdefault(row, {})[column] = ord(character)
                column += 1
        self._at = (row, column)


SCRIPT = "import sys\nfrom agent_tt_tui.__main__ import main\nsys.argv[0] = 'agent-tt'\nsys.exit(main())"
"""What today's installers write as the command."""


def opening(store: Path, run: str) -> list[str]:
    """The command that opens a run."""
    return [sys.executable, "-c", SCRIPT, "open", run, "--store", str(store)]


def opening_seconds(store: Path, run: str, step: int) -> float:
    """The median time from starting the command until the step that it opens at is on screen."""
    times = []
    for _ in range(OPENINGS):
        terminal = Terminal(opening(store, run))
        try:
            times.append(terminal.wait_for(step) - terminal.started)
        finally:
            terminal.close()
    return statistics.median(times)


def scrubbing_seconds(store: Path, run: str, opened_at: int, seconds: float) -> float:
    """How long after the last of many keys the right step is on screen."""
    terminal = Terminal(opening(store, run))
    try:
        terminal.wait_for(opened_at)
        terminal.send(HOME)
        terminal.wait_for(0)
        keys = int(seconds * KEYS_PER_SECOND)
        begin = time.perf_counter()
        for key in range(keys):
            due = begin + key / KEYS_PER_SECOND
            while (left := due - time.perf_counter()) > 0:
                terminal.read(left)
            terminal.send(RIGHT)
        last_key = time.perf_counter()
        return terminal.wait_for(keys) - last_key
    finally:
        terminal.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=10_000, help="steps of the long run")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long keys are sent")
    parser.add_argument("--store", type=Path, help="a store with both runs, instead of making them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agent-tt-bench-") as folder:
        store = arguments.store or Path(folder) / "runs.db"
        if arguments.store is None:
            samples.ensure("refund-loop", store)
            samples.build("long-haul", store, steps=arguments.steps)
        short = opening_seconds(store, "refund-loop", 21)
        long = opening_seconds(store, "long-haul", arguments.steps)
        print(f"refund-loop, 21 steps:       open {short * 1000:6.0f} ms")
        print(
            f"long-haul, {arguments.steps:,} steps:   open {long * 1000:6.0f} ms   {long / short:.2f} times (at most 2)"
        )
        late = scrubbing_seconds(store, "long-haul", arguments.steps, arguments.seconds)
        print(
            f"long-haul: the right step {late * 1000:.0f} ms after the last of {KEYS_PER_SECOND} keys a second"
            f" for {arguments.seconds:.0f} s (at most 100)"
        )


if __name__ == "__main__":
    main()
