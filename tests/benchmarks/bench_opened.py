"""How fast large files of other programs are on screen, measured through a pseudo-terminal on the real command.

    python -m tests.benchmarks.bench_opened

Of a session of Claude Code of 5,000 lines, a file of OTLP/JSON of 100,000 spans in 1,000 traces, by lines and as one
value, and one trace of 100,000 spans in these forms and in protocol buffers: seconds
from the command to the list with its runs, the first time and a later one; how soon a line that is added is seen in the
list; and the most memory that the app took. Where caches lie is a folder of its own.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.benchmarks.bench_screen import PATIENCE_SECONDS, ROWS, Terminal
from tests.benchmarks.large_files import session_lines, trace_lines, write_lines
from tests.core.interop.otlp_bytes import request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def seen(terminal: Terminal, pattern: str) -> float:
    """Wait until a row of the screen has a text; seconds since the app was started."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while not any(re.search(pattern, terminal.row_text(row)) for row in range(1, ROWS + 1)):
        if time.perf_counter() > deadline:
            raise TimeoutError(f"{pattern!r} was never shown")
        terminal.read(0.5)
    return time.perf_counter() - terminal.started


def peak_mb(pid: int) -> int:
    """The most memory that a process took, in MB."""
    (found,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found) >> 10


def measured(path: Path, shown: str, added: dict[str, Any] | None, then: str) -> tuple[float, float, float | None, int]:
    """First opening, later opening, seconds until a line that is added is seen, and MB at most."""
    times, following, peak = [], None, 0
    for again in (False, True):
        terminal = Terminal([sys.executable, "-m", "agent_tt_tui", "open", str(path)])
        try:
            times.append(seen(terminal, shown))
            settle = time.perf_counter() + (0 if again else PATIENCE_SECONDS / 2)
            while time.perf_counter() < settle:  # the other runs are read meanwhile, and the list is kept
                terminal.read(0.5)
            if again and added is not None:
                with path.open("a") as file:
                    file.write(json.dumps(added) + "\n")
                begun = time.perf_counter() - terminal.started
                following = seen(terminal, then) - begun
            peak = max(peak, peak_mb(terminal.pid))
        finally:
            terminal.close()
    return times[0], times[1], following, peak


def _of_one_trace(folder: Path) -> Iterator[Path]:
    yield write_lines(folder / "one.jsonl", trace_lines(100_000, 1))
    whole, written = folder / "one.json", folder / "one.pb"
    whole.write_text(json.dumps({"resourceSpans": [line["resourceSpans"][0] for line in trace_lines(100_000, 1)]}))
    yield whole
    written.write_bytes(b"".join(map(request, trace_lines(100_000, 1))))
    yield written


def main() -> int:
    """Measure each file and print its row."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"], os.environ["XDG_DATA_HOME"] = f"{folder}/cache", f"{folder}/data"
        session = write_lines(Path(folder) / "session.jsonl", session_lines(5_000, 8_000))
        *_, last = session_lines(5_000, 0)
        asked = {**last, "parentUuid": last["uuid"], "uuid": "new", "message": {"role": "user", "content": "Go on."}}
        asked.pop("toolUseResult", None)
        traces = write_lines(Path(folder) / "traces.jsonl", trace_lines(100_000, 1_000))
        whole = Path(folder) / "traces.json"
        requests = (line["resourceSpans"][0] for line in trace_lines(100_000, 1_000))
        whole.write_text(json.dumps({"resourceSpans": [*requests]}))
        files: Sequence[tuple[Path, str, dict[str, Any] | None, str]] = [
            (session, r"1,?708", asked, r"1,?709"),
            (traces, r"\d runs", None, ""),
            (whole, r"\d runs", None, ""),
            *((path, r"50,000", None, "") for path in _of_one_trace(Path(folder))),
        ]
        print(f"{'':16}{'MB':>6}{'first s':>10}{'later s':>10}{'a line s':>10}{'RSS MB':>10}")
        for path, shown, added, then in files:
            first, later, following, peak = measured(path, shown, added, then)
            line = "" if following is None else f"{following:.2f}"
            size = path.stat().st_size >> 20
            print(f"{path.name:16}{size:>6}{first:>10.2f}{later:>10.2f}{line:>10}{peak:>10}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
