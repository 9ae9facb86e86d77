"""What it costs to start: `agent-tt open` beside a bare Textual app, and `agent-tt --version` beside Python itself.

    python tests/benchmarks/bench_opening.py [--rounds 9] [--steps 10000 100000] [--folder FOLDER]

Each app is the real command in a pseudo-terminal, until its first useful screen: the scrubber names the step, and its
state and its changes are there. The bare app shows one line. All are started in each round, in another order each time;
medians count. The times are the processor's, of all threads, as the kernel says them when that screen was written
(what the app goes on with while it is looked at does not count), and those by the clock. Bare Python is `python -c
pass`, with all that starts with it, as it does for `agent-tt`; `python -I -S -c pass` stands beside it. The command is
started as by the script that today's installers write; the one that is installed here is shown, too, since those of
older ones (pip 23) import `re` first. The runs are made in a temporary folder, or kept in FOLDER. Exits with 1 where a
target is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bench_ask import record
from bench_screen import COLUMNS, ROWS, SCRIPT, Terminal, opening

from agent_tt import samples
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SHORTEST: Final = 21
MOST_OF_BARE_APP: Final = 1.6
MOST_OF_SHORTEST: Final = 1.1
MOST_OF_PYTHON: Final = 1.5
WARM_UP_ROUNDS: Final = 1

LINE: Final = "a bare app"
BARE_APP: Final = f"""
from textual.app import App
from textual.widgets import Static

class Bare(App):
    def compose(self):
        yield Static({LINE!r})

Bare().run()
"""


class Took(NamedTuple):
    """Milliseconds of the processor, and by the clock."""

    work: float
    clock: float


def started(command: list[str], is_useful: Callable[[Terminal], bool]) -> Took:
    """Start an app, and end it when its first useful screen is there."""
    terminal = Terminal(command)
    try:
        seen = terminal.wait_until(lambda: is_useful(terminal), " ".join(command))
    finally:
        terminal.close()
    return Took(terminal.spent * 1000, (seen - terminal.started) * 1000)


def is_useful(step: int, terminal: Terminal) -> bool:
    """Whether a step is on screen with its state and its changes."""
    rows = [terminal.row_text(row) for row in range(1, ROWS + 1)]
    title = next((number for number, text in enumerate(rows) if re.search(rf"after {step}\s", text)), None)
    # Below the title is the path of what is selected, and then the state.
    has_state = title is not None and rows[title + 2][COLUMNS * 2 // 5 :].strip() != ""
    return has_state and terminal.shows(step)


def ended(command: Sequence[str]) -> Took:
    """Run a command to its end."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Took((used.ru_utime + used.ru_stime) * 1000, (time.perf_counter() - begun) * 1000)


def stores(folder: Path, lengths: Sequence[int]) -> dict[int, Path]:
    """A store with one run, for each number of steps; made where it is not there."""
    found = {}
    for steps in lengths:
        found[steps] = path = folder / f"{steps}.db"
        if not path.exists():
            begun = path.with_suffix(".begun")
            begun.unlink(missing_ok=True)
            # One commit a step, as an agent makes them; the disk's part of it is not what is measured.
            with closing(open_store(begun, create=True, durability="normal")) as store:
                record(store, steps)
            begun.rename(path)
    return found


def medians(ways: Mapping[str, Callable[[], Took]], rounds: int) -> dict[str, Took]:
    """The figures of all ways."""
    names = list(ways)
    found: dict[str, list[Took]] = {name: [] for name in names}
    for number in range(-WARM_UP_ROUNDS, rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            took = ways[name]()
            if number >= 0:
                found[name].append(took)
    return {name: Took(*map(statistics.median, zip(*rows, strict=True))) for name, rows in found.items()}


def main() -> int:
    """Measure all ways, print their figures, and say whether the targets are reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, nargs="*", default=[10_000, 100_000], help="lengths of the longer runs")
    parser.add_argument("--folder", type=Path, help="where the runs are, or are kept for the next time")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has been compiled
    with tempfile.TemporaryDirectory(prefix="agent-tt-bench-") as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        lengths = [SHORTEST, *given.steps]
        made = stores(folder, lengths)
        sample = folder / "refund-loop.db"
        samples.ensure("refund-loop", sample)
        script = str(Path(sys.executable).with_name("agent-tt"))
        app = {steps: f"open, {steps:,} steps" for steps in lengths}
        ways: Mapping[str, Callable[[], Took]] = {
            "python -c pass": partial(ended, [sys.executable, "-c", "pass"]),
            "python -I -S -c pass": partial(ended, [sys.executable, "-I", "-S", "-c", "pass"]),
            "agent-tt --version": partial(ended, [sys.executable, "-c", SCRIPT, "--version"]),
            "the same, installed here": partial(ended, [script, "--version"]),
            "a bare Textual app": partial(
                started, [sys.executable, "-c", BARE_APP], lambda terminal: LINE in terminal.row_text(1)
            ),
            "open, refund-loop": partial(started, opening(sample, "refund-loop"), partial(is_useful, 21)),
        } | {
            app[steps]: partial(started, opening(path, "bench"), partial(is_useful, steps))
            for steps, path in made.items()
        }
        found = medians(ways, given.rounds)
    print(f"{'':26}{'ms of the processor':>20}{'ms by the clock':>18}")
    for name, took in found.items():
        print(f"{name:26}{took.work:>20.1f}{took.clock:>18.1f}")
    compared = [("agent-tt --version", "python -c pass", MOST_OF_PYTHON)]
    compared += [(name, "a bare Textual app", MOST_OF_BARE_APP) for name in ("open, refund-loop", *app.values())]
    compared += [(app[lengths[-1]], app[SHORTEST], MOST_OF_SHORTEST)] if given.steps else []
    missed = 0
    for name, other, most in compared:
        ratio = found[name].work / found[other].work
        missed += ratio > most
        by_clock = found[name].clock / found[other].clock
        verdict = "reached" if ratio <= most else "missed"
        print(f"{name} / {other}: {ratio:.2f} × (≤ {most:g}), {by_clock:.2f} × by the clock  {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
