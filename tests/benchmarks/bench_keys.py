"""How soon a key settles, measured through a pseudo-terminal on the real command, beside a bare Textual app.

    python -m tests.benchmarks.bench_keys [--steps 100000] [--runs 100000] [--rounds 3] [--idle 60] [--processor]
                                         [--keep FOLDER]

A key has settled with the last byte that the app writes before it is quiet. The debugger is open on a run of so many
steps with a state of 1 MB, at 120 columns and 40 rows, its inspector and its diff open; the browser on so many runs.
For each key: median, 99th percentile and the worst, by the clock and of the processor's time of all its threads. Where
the machine does other work, too, only the latter says something: `--processor` judges by it. A letter that is typed
into a filter is measured until it stands there; the search goes on meanwhile, and is ended by `esc` with the last
letter. The memory that is held is taken before anything was searched for, and printed after it, too. Last come the
ticks of 10 ms that an open, finished run takes while nobody touches it. Exits with 1 where one is more than it may be.
What is under way is told on the standard error.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from contextlib import contextmanager, suppress
from fcntl import ioctl
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.benchmarks.long_runs import long_run, many_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

COLUMNS: Final = 120
LINES: Final = 40
QUIET_S: Final = 0.12
"""So long an app has to write nothing to count as quiet; longer than what it waits for by itself."""
FIRST_S: Final = 0.5
"""So long the first byte may take on a busy machine; a key that changes nothing writes none."""

OPEN_S: Final = 60.0
REST_S: Final = 0.5
BETWEEN_LETTERS_S: Final = 0.1
REST_MS: Final = 2.0
"""So much of the processor an app that is at rest may take in that time."""

SETTLED_MS: Final = (16.0, 50.0)
"""What a key of the debugger may take, half of the time and nearly always."""
BROWSER_MS: Final = 50.0
MEMORY_MB: Final = 150
IDLE_TICKS: Final = 1

DEBUGGER_KEYS: Final[Sequence[tuple[str, Sequence[bytes]]]] = (
    ("right, left: to the next and previous step", (b"\x1b[C",) * 12 + (b"\x1b[D",) * 8),
    ("j, k in the timeline", (b"j",) * 10 + (b"k",) * 10),
    ("page down, page up", (b"\x1b[6~",) * 6 + (b"\x1b[5~",) * 6),
    ("g, G: to the ends", (b"g", b"G") * 3),
    ("tab: to the next pane", (b"\t",) * 9),
)
TREE_KEYS: Final[Sequence[tuple[str, Sequence[bytes]]]] = (
    ("j, k in the state", (b"j",) * 10 + (b"k",) * 10),
    ("h, l, enter: fold and unfold a branch of the state", (b"h", b"l") * 6 + (b"\r",) * 6),
    ("left, right from the state", (b"\x1b[C",) * 8 + (b"\x1b[D",) * 8),
)
FILTERS: Final = (
    "kind:model",
    "kind:read took>1s",
    "name:ask step:50000-",
    "tool:search",
    "changed:totals.refund",
    "refund",
    "error:",
    "agent:critic",
    "?state.plan.tries > 3",
)
"""What is typed into the line that narrows the timeline; all of the steps are looked at for some of it."""

TAKEN_BACK: Final = 3
"""Letters of what was typed that are taken back again."""
NARROWED: Final = "agent:critic"
"""What the timeline is narrowed by while one goes through it."""
NARROWED_KEYS: Final[Sequence[tuple[str, Sequence[bytes]]]] = (
    ("^down, ^up: more or fewer steps around", (b"\x1b[1;5B",) * 3 + (b"\x1b[1;5A",) * 4),
    ("enter: stay there", (b"\r",)),
    ("j, k in the narrowed timeline", (b"j",) * 10 + (b"k",) * 10),
    ("page down, page up in it", (b"\x1b[6~",) * 6 + (b"\x1b[5~",) * 6),
    ("g, G: to its ends", (b"g", b"G") * 3),
)

BROWSER_FILTERS: Final = ("refund-inv", "fork-1", "succeeded")
BROWSER_KEYS: Final[Sequence[tuple[str, Sequence[bytes]]]] = (
    ("j, k", (b"j",) * 10 + (b"k",) * 10),
    ("page down, page up", (b"\x1b[6~",) * 6 + (b"\x1b[5~",) * 6),
    ("G, g: to the ends", (b"G", b"g") * 3),
    ("a filter, letter by letter", (b"/", *(bytes([each]) for each in b"refund-inv"), *(b"\x7f",) * 6, b"\x1b")),
)
BROWSER_NARROWED_KEYS: Final = BROWSER_KEYS[:3]


class Measured:
    """An app in a pseudo-terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
            environment["AGENT_TT_HINTS"] = "off"  # no tour above the footer, which an own first run would bring
            os.execve(sys.executable, [sys.executable, *arguments], environment)
        ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.come_to_rest()

    def come_to_rest(self) -> None:
        """Wait until it neither writes nor works: what is read after the first screen is read by then."""
        deadline, processor = time.perf_counter() + OPEN_S, 0.0
        while time.perf_counter() < deadline:
            has_written = self.settled(REST_S, quiet=REST_S) is not None
            before, processor = processor, self.processor_ms()
            if not has_written and processor - before < REST_MS:
                return

    def settled(self, patience: float, quiet: float = QUIET_S) -> float | None:
        """Wait until it is quiet; when it wrote last, None if it wrote nothing."""
        last, deadline = None, time.perf_counter() + patience
        while (now := time.perf_counter()) < deadline:
            wait = max(quiet, FIRST_S) if last is None else quiet
            ready, _, _ = select.select([self.fd], [], [], min(wait, deadline - now))
            if not ready:
                break
            os.read(self.fd, 1 << 16)
            last = time.perf_counter()
        return last

    def key(self, key: bytes) -> tuple[float, float]:
        """Press a key; milliseconds until it has settled, and of the processor."""
        processor, begun = self.processor_ms(), time.perf_counter()
        os.write(self.fd, key)
        last = self.settled(OPEN_S)
        return ((last or begun) - begun) * 1e3, self.processor_ms() - processor

    def typed(self, text: str, taken_back: int = 0) -> list[tuple[float, float]]:
        """Type a text while it is searched for, and take letters back; milliseconds until each stands there."""
        found = []
        ends = [*range(1, len(text) + 1), *range(len(text) - 1, len(text) - 1 - taken_back, -1)]
        for number, end in enumerate(ends):
            key = b"\x7f" if number >= len(text) else text[end - 1].encode()
            processor, begun, written = self.processor_ms(), time.perf_counter(), b""
            os.write(self.fd, key)
            while text[:end].encode() not in written and time.perf_counter() < begun + OPEN_S:
                select.select([self.fd], [], [], OPEN_S)
                written += os.read(self.fd, 1 << 16)
            found.append(((time.perf_counter() - begun) * 1e3, self.processor_ms() - processor))
            due = time.perf_counter() + BETWEEN_LETTERS_S
            while (left := due - time.perf_counter()) > 0:
                if select.select([self.fd], [], [], left)[0]:
                    os.read(self.fd, 1 << 16)
        return found

    def held(self, key: bytes, count: int, per_second: float) -> tuple[float, float]:
        """Hold a key down; milliseconds from its last repetition until it has settled, and of the processor each."""
        processor, begun = self.processor_ms(), time.perf_counter()
        for number in range(count):
            due = begun + number / per_second
            while (left := due - time.perf_counter()) > 0:
                if select.select([self.fd], [], [], left)[0]:
                    os.read(self.fd, 1 << 16)
            os.write(self.fd, key)
        sent = time.perf_counter()
        last = self.settled(OPEN_S)
        return ((last or sent) - sent) * 1e3, (self.processor_ms() - processor) / count

    def processor_ms(self) -> float:
        """What all threads that are there took of the processor."""
        found = 0
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            with suppress(OSError):
                found += int((task / "schedstat").read_text().split()[0])
        return found / 1e6

    def ticks(self) -> int:
        """Ticks of the processor, user and system."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def memory_mb(self) -> float:
        """The memory that it holds."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> None:
        """End it."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@contextmanager
def opened(*arguments: str) -> Iterator[Measured]:
    """An app that is open and quiet."""
    app = Measured(*arguments)
    try:
        yield app
    finally:
        app.close()


class Table:
    """What was measured of each key, and what is more than it may be."""

    def __init__(self, *, by_processor: bool) -> None:
        self.by_processor = by_processor
        self.rows: dict[str, list[tuple[float, float]]] = {}
        self.missed: list[str] = []

    def press(self, app: Measured, prefix: str, groups: Sequence[tuple[str, Sequence[bytes]]]) -> None:
        """Press the keys of each group."""
        for name, keys in groups:
            progress(f"{prefix}: {name}")
            self.rows.setdefault(f"{prefix}: {name}", []).extend(map(app.key, keys))

    def show(self, prefix: str) -> list[float]:
        """Print the rows of an app; give the times of all its keys."""
        every: list[float] = []
        for name, found in self.rows.items():
            if name.startswith(prefix):
                self._line(name, found)
                every += [processor if self.by_processor else clock for clock, processor in found]
        return every

    def hold(self, what: str, value: float, most: float) -> None:
        """Print a figure with what it may be at most."""
        said = "reached" if value <= most else "MISSED"
        print(f"{what:58}{value:>9.1f}   {said} (at most {most:g})", flush=True)
        if value > most:
            self.missed.append(what)

    def _line(self, name: str, found: Sequence[tuple[float, float]]) -> None:
        figures = ""
        for each in zip(*found, strict=True):
            ordered = sorted(each)
            figures += f"{statistics.median(ordered):>11.1f}{percentile(ordered, 0.99):>8.1f}{ordered[-1]:>8.1f}"
        print(f"{name:58}{figures}", flush=True)


def progress(what: str) -> None:
    """Tell what is under way where the figures are not: a round takes minutes."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def percentile(ordered: Sequence[float], part: float) -> float:
    """The value below which so much of an ordered list lies."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0


def measure(folder: Path, steps: int, runs: int, rounds: int, idle: float, *, by_processor: bool) -> int:
    """Measure all, print the figures; 1 where one is more than it may be."""
    store, many = folder / f"long-{steps}.db", folder / f"runs-{runs}.db"
    make_stores({long_run: (store, steps), many_runs: (many, runs)})
    table = Table(by_processor=by_processor)
    debugger = ("-m", "agent_tt_tui", "open", "long", "--store", str(store), "--at", str(steps // 2 + 7))
    print(f"{'ms':58}{'clock p50':>11}{'p99':>8}{'worst':>8}{'proc. p50':>11}{'p99':>8}{'worst':>8}")
    for number in range(rounds):
        with opened(str(Path(__file__).with_name("bare_screen.py"))) as app:
            app.key(b"j")
            table.press(app, "bare", (("j, k", (b"j",) * 20 + (b"k",) * 20),))
        if steps:
            with opened(*debugger) as app:
                _debugger_round(table, app, idle if number == rounds - 1 else 0)
        if runs:
            with opened("-m", "agent_tt_tui", "--store", str(many)) as app:
                table.press(app, "browser", BROWSER_KEYS)
                table.rows.setdefault("browser: held down", []).append(app.held(b"j", 90, 30))
                for typed in BROWSER_FILTERS:
                    progress(f"filter of runs {typed}")
                    app.key(b"/")
                    table.rows.setdefault(f"list typed: {typed}", []).extend(app.typed(typed, TAKEN_BACK))
                    app.settled(OPEN_S, quiet=1.0)
                    app.key(b"\r")
                    table.press(app, "browser, narrowed", BROWSER_NARROWED_KEYS)
                    app.key(b"\x1b")
                memory = app.memory_mb()
            if number == rounds - 1:
                print(f"{'browser: memory, MB':58}{memory:>9.1f}")
    bare = sorted(table.show("bare"))
    if steps:
        typed = sorted(table.show("typed"))
        table.hold("a filter as it is typed, nearly always (p99)", percentile(typed, 0.99), SETTLED_MS[1])
        found = sorted(table.show("debugger"))
        table.hold("debugger: all keys, half of the time", statistics.median(found), SETTLED_MS[0])
        table.hold("debugger: all keys, nearly always (p99)", percentile(found, 0.99), SETTLED_MS[1])
        ratio = statistics.median(found) / statistics.median(bare)
        print(f"{'debugger / bare Textual, half of the time':58}{ratio:>9.2f}")
    if runs:
        typed = sorted(table.show("list typed"))
        table.hold("a filter of runs as it is typed, nearly always (p99)", percentile(typed, 0.99), BROWSER_MS)
        found = sorted(table.show("browser"))
        table.hold("browser: all keys, nearly always (p99)", percentile(found, 0.99), BROWSER_MS)
    return 1 if table.missed else 0


def make_stores(wanted: Mapping[Callable[[Path, int], None], tuple[Path, int]]) -> None:
    """Make the stores that are not there yet, at once; each is there only when it is whole."""
    begun = []
    for make, (path, count) in wanted.items():
        if count and not path.exists():
            begun.append(multiprocessing.Process(target=_make_store, args=(make, path, count)))
            begun[-1].start()
    for process in begun:
        process.join()
        if process.exitcode:
            sys.exit("a store could not be made")


def _make_store(make: Callable[[Path, int], None], path: Path, count: int) -> None:
    unfinished = path.with_suffix(".begun")
    unfinished.unlink(missing_ok=True)
    make(unfinished, count)
    unfinished.rename(path)


def _debugger_round(table: Table, app: Measured, idle: float) -> None:
    for key in (b"\x1b[C", b"\x1b[D"):  # the first of each kind makes what later ones find
        app.key(key)
    table.press(app, "debugger", DEBUGGER_KEYS)
    app.key(b"2")
    app.key(b"1")
    app.key(b"\t")
    app.key(b"j")
    table.press(app, "debugger", TREE_KEYS)
    app.key(b"\x1b[Z")
    table.rows.setdefault("debugger: held down, then let go", []).append(app.held(b"\x1b[C", 90, 30))
    app.come_to_rest()
    table.hold("debugger: memory, MB", app.memory_mb(), MEMORY_MB)
    for typed in FILTERS:
        progress(f"filter {typed}")
        app.key(b"/")
        app.key(b"\x15")
        table.rows.setdefault(f"typed: {typed}", []).extend(app.typed(typed, TAKEN_BACK))
        app.key(b"\x1b")
    app.come_to_rest()
    print(f"{'debugger: memory after all these filters, MB':58}{app.memory_mb():>9.1f}", flush=True)
    app.key(b"/")
    app.key(b"\x15")
    app.typed(NARROWED)
    app.settled(OPEN_S, quiet=1.0)
    table.press(app, "debugger, narrowed", NARROWED_KEYS)
    table.rows.setdefault("debugger, narrowed: held down", []).append(app.held(b"k", 90, 30))
    app.key(b"\x1b")
    if idle:
        progress("idle")
        app.settled(5.0, quiet=5.0)
        before, processor = app.ticks(), app.processor_ms()
        written = app.settled(idle, quiet=idle)
        time.sleep(0 if written is None else idle)
        table.hold(f"debugger: ticks of 10 ms in {idle:.0f} s of idleness", app.ticks() - before, IDLE_TICKS)
        print(f"{'debugger: processor in that time, ms':58}{app.processor_ms() - processor:>9.1f}")


def main() -> int:
    """Measure with what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000, help="steps of the run; 0 leaves the debugger out")
    parser.add_argument("--runs", type=int, default=100_000, help="runs in the list; 0 leaves the browser out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=float, default=60.0, help="seconds nobody touches it")
    parser.add_argument("--processor", action="store_true", help="judge by the processor's time, not by the clock")
    parser.add_argument("--keep", type=Path, help="a folder for the stores, where the next time finds them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agent-tt-bench-") as folder:
        kept = given.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        return measure(kept, given.steps, given.runs, given.rounds, given.idle, by_processor=given.processor)


if __name__ == "__main__":
    sys.exit(main())
