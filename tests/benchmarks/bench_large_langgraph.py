"""Opening a large file of LangGraph's SqliteSaver, the first time and the second, beside SqliteSaver's own list.

    python tests/benchmarks/bench_large_langgraph.py [--mb 500] [--rounds 5] [--file FILE]

Twenty threads of a growing chat, written by SqliteSaver. Measured is what the app does before its first useful screen:
open the file, list the runs, read the steps of the newest and its last state. Times are the processor's, in a process
that has its modules loaded: without the start of Python and of Textual, which `bench_screen.py` measures. The first
time there is nothing in the cache folder, which is one of this benchmark's own. The file is in the system's cache, and
is as it was afterwards. Exits with 1 if a threshold is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench_reading import chat
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Callable

_THREADS: Final = 20
_FIRST_S: Final = 1.0
_SECOND_S: Final = 0.3
_LIST: Final = 10


def write(path: Path, megabytes: int) -> None:
    """Write threads that take so many megabytes in all."""
    steps = round((megabytes * 2 / _THREADS / 0.0031) ** 0.5)
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        saver.setup()
        connection.execute("PRAGMA synchronous = OFF")
        for thread in range(_THREADS):
            before = None
            for step, state in enumerate(chat(steps)):
                checkpoint = empty_checkpoint()
                checkpoint["channel_values"] = state
                checkpoint["channel_versions"] = dict.fromkeys(state, step + 1)
                of: dict[str, Any] = {"thread_id": f"thread {thread}", "checkpoint_ns": "", "checkpoint_id": before}
                saver.put({"configurable": of}, checkpoint, {"source": "loop", "step": step - 1, "parents": {}}, {})
                before = of["checkpoint_id"] = checkpoint["id"]
                saver.put_writes({"configurable": of}, [("messages", state["messages"][-2:])], f"task {step}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.sync()
    time.sleep(2.5)  # a file that was written a moment ago may still be written to


def opened(path: Path) -> tuple[float, float]:
    """Seconds until the runs are listed, and until the newest is on the screen."""
    begun = time.process_time()
    with closing(open_source(path)) as source:
        run = source.runs()[0]
        listed = time.process_time() - begun
        steps = source.steps(run.id)
        source.state(run.id, len(steps))
        return listed, time.process_time() - begun


def listed_by_peer(path: Path) -> float:
    """Seconds of SqliteSaver's own list of all checkpoints."""
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        saver.is_setup = True
        begun = time.process_time()
        for _ in saver.list(None):
            pass
        return time.process_time() - begun


def content(path: Path) -> tuple[str, list[str]]:
    """What the file holds, and what lies beside it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest(), sorted(each.name for each in path.parent.iterdir())


def main() -> int:
    """Measure, print a table, and say whether every threshold is reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file", type=Path, help="measure this file; the peer's list is of all that is in it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        os.environ["XDG_CACHE_HOME"] = str(cache)
        path = given.file or Path(folder) / "threads" / "checkpoints.db"
        if given.file is None:
            path.parent.mkdir()
            write(path, given.mb)
        before = content(path)
        opened(path)  # loads the modules
        found: dict[str, list[float]] = {}
        for _ in range(given.rounds):
            shutil.rmtree(cache, ignore_errors=True)
            for when in ("first time", "second time"):
                listed, shown = opened(path)
                found.setdefault(f"listed, {when}", []).append(listed)
                found.setdefault(f"on screen, {when}", []).append(shown)
            found.setdefault("SqliteSaver's list", []).append(listed_by_peer(path))
        unchanged = content(path) == before
        size = path.stat().st_size / 1e6
    return _told(size, {name: statistics.median(times) for name, times in found.items()}, unchanged=unchanged)


def _told(size: float, found: dict[str, float], *, unchanged: bool) -> int:
    wanted: dict[str, Callable[[float], bool]] = {
        "on screen, first time": lambda taken: taken <= _FIRST_S,
        "on screen, second time": lambda taken: taken <= _SECOND_S,
        "listed, second time": lambda taken: found["SqliteSaver's list"] / taken >= _LIST,
    }
    print(f"{size:,.0f} MB; seconds of the processor")
    missed = [name for name, holds in wanted.items() if not holds(found[name])]
    for name, taken in found.items():
        ratio = found["SqliteSaver's list"] / taken
        print(f"  {name:24}{taken:8.3f}{ratio:8.1f} × faster than its list  {'missed' if name in missed else ''}")
    print("  the file and its folder are as they were" if unchanged else "  THE FILE OR ITS FOLDER WAS CHANGED")
    return 1 if missed or not unchanged else 0


if __name__ == "__main__":
    sys.exit(main())
