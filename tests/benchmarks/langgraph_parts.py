"""What the parts of a superstep take of the processor, where our checkpointer keeps the thread."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from langgraph.checkpoint.base import BaseCheckpointSaver

from agent_tt.history.changes import kept_values
from agent_tt.history.log.append import PendingMarks
from agent_tt.history.payloads.frames import Frames
from agent_tt.langgraph import Checkpointer
from agent_tt.langgraph.messages import Chunk
from agent_tt.langgraph.threads import Threads
from agent_tt.langgraph.values import Values
from agent_tt.store.file.connection import Database
from agent_tt.store.file.transaction import Transaction
from agent_tt.store.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARTS: Final[list[tuple[str, Any, str]]] = [
    ("the commit, forced to the disk", Transaction, "__exit__"),
    ("its beginning, and whether the file is still there", Database, "begin"),
    ("rows, with their proofs", Table, "write"),
    ("rows, with their proofs", Table, "rewrite"),
    ("compression", Frames, "compress"),
    ("messages compared with what they held", Chunk, "is_of"),
    ("what is new, through LangGraph's serializer and readable", Values, "kept"),
    ("digest", kept_values, "retallied"),
    ("digest", kept_values, "token_of"),
    ("what changed", kept_values, "diff"),
    ("index of what changed", PendingMarks, "add"),
    ("the thread: facts, writes, its state", Threads, "write"),
    ("LangGraph's arguments", Checkpointer, "put"),
    ("LangGraph's arguments", Checkpointer, "put_writes"),
]


class Nothing(BaseCheckpointSaver[Any]):
    """Keeps nothing: what is left is LangGraph's own."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Give the config of a checkpoint."""
        names = config["configurable"]
        kept = {"thread_id": names["thread_id"], "checkpoint_ns": "", "checkpoint_id": checkpoint["id"]}
        return {"configurable": kept}

    def put_writes(self, *given: Any) -> None:
        """Forget what a task wrote."""

    def get_tuple(self, config: Any) -> None:
        """Give no checkpoint."""


class Clock:
    """Adds up what functions take of the processor, each without those that it calls."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = defaultdict(float)
        self._open = threading.local()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure all parts while the block lasts."""
        with ExitStack() as stack:
            for part, owner, name in PARTS:
                stack.enter_context(mock.patch.object(owner, name, self._timed(part, getattr(owner, name))))
            yield

    def _timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            inside, self._open.inside = getattr(self._open, "inside", 0.0), 0.0
            begun = time.thread_time()
            try:
                return function(*given, **named)
            finally:
                whole = time.thread_time() - begun
                self.taken[part] += whole - self._open.inside
                self._open.inside = inside + whole

        return timed


def print_parts(step_ms: Callable[[Any, str], float], rounds: int) -> None:
    """Print the microseconds of each part, with a plain channel and with a delta channel.

    Args:
        step_ms: runs the loop with a saver, in a way of keeping it, and gives milliseconds of a superstep.
        rounds: of which the medians count.
    """
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for _ in range(rounds):
        for name in ("ours", "ours, DeltaChannel"):
            own = step_ms(Nothing(), name) * 1e3
            with tempfile.TemporaryDirectory() as folder, Checkpointer(Path(folder) / "threads.db") as saver:
                clock = Clock()
                supersteps = 0
                put = saver.put

                def counted(*given: Any, put: Any = put) -> Any:
                    nonlocal supersteps
                    supersteps += 1
                    return put(*given)

                with clock.watching():
                    saver.put = counted  # type: ignore[method-assign]
                    whole = step_ms(saver, name) * 1e3
            parts = {part: clock.taken[part] * 1e6 / supersteps for part in dict.fromkeys(part for part, *_ in PARTS)}
            rest = whole - own - sum(parts.values())
            for part, taken in {
                "LangGraph, with a saver that keeps nothing": own,
                "threads that hand over and wait": rest,
                **parts,
                "all of it, with the measuring": whole,
            }.items():
                found[part][name].append(taken)
    print(f"{'µs of the processor, a superstep':62}{'plain':>10}{'delta':>10}")
    for part, of in found.items():
        print(f"{part:62}" + "".join(f"{statistics.median(taken):>10.0f}" for taken in of.values()))
