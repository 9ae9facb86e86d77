"""A growing chat in PostgreSQL: agent-tt beside LangGraph's PostgresSaver, on one server.

    python -m tests.benchmarks.bench_postgres [STEPS]

It starts a server of its own, which waits for its disk at each commit. Both keep the same states; the ways take turns
at each step, so that what else the machine does meets all of them. Told are the bytes of their tables with indexes, the
time of a step (median and 99 %), and how long the list of runs, or of a thread's checkpoints, takes to come.
"""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import closing
from typing import Any, Final

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from tests.benchmarks.store_workloads import growing_chat
from tests.postgres_server import database, own_server

from agent_tt.codec.track_reader import tracked
from agent_tt.model import AgentCode, CallEnd, NewCall, NewRun, NewStep, StepEnd
from agent_tt.store import open_store

STEPS: Final = 1000
RUNS_LISTED: Final = 100


class Ours:
    """A step with its beginning and end, and the state after it."""

    name = "agent-tt"
    _calls = 0

    def __init__(self, url: str, state: Any) -> None:
        self._url = url
        self._store = open_store(url, create=True)
        self._writer = self._store.begin_run(NewRun("bench", code=AgentCode(entry="bench:main")), state)

    @staticmethod
    def wrap(state: Any) -> Any:
        return state

    def keep(self, step: int, state: Any) -> None:
        number = self._writer.open_step(NewStep("chat"))
        for _ in range(self._calls):
            intent = NewCall("tool", "search", {"query": f"order {step}"}, f"{step:032x}", effect="read")
            call = self._writer.begin_call(number, intent)
            self._writer.end_call(number, call, CallEnd("ok", {"docs": [f"document {step}"], "count": 1}))
        self._writer.close_step(number, StepEnd("ok", tokens_in=400, tokens_out=380), state)

    def end(self) -> None:
        self._writer.finish("succeeded")
        self._store.close()

    def list(self) -> int:
        """List the steps."""
        with closing(open_store(self._url, read_only=True)) as store:
            return len(store.steps(store.runs()[0].id))


class Tracked(Ours):
    name = "agent-tt, tracked state"

    @staticmethod
    def wrap(state: Any) -> Any:
        return tracked(state)


class WithCall(Ours):
    name = "agent-tt, with a tool call"
    _calls = 1


class Saver:
    """PostgresSaver, as a graph of one node uses it: a checkpoint a step; or what its node wrote, too."""

    name = "PostgresSaver, checkpoints alone"
    _writes = False

    def __init__(self, url: str, state: Any) -> None:
        self._open = PostgresSaver.from_conn_string(url)
        self.saver = self._open.__enter__()
        self.saver.setup()
        self._before: str | None = None
        self.keep(0, state)

    wrap = Ours.wrap

    def keep(self, step: int, state: Any) -> None:
        checkpoint = empty_checkpoint()
        versions = dict.fromkeys(state, f"{step + 1:032}.0")
        checkpoint["channel_values"], checkpoint["channel_versions"] = dict(state), versions
        where: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": "", "checkpoint_id": self._before}}
        if self._writes and self._before is not None:
            self.saver.put_writes(where, [("messages", state["messages"][-2:])], "task")
        self.saver.put(where, checkpoint, {"source": "loop", "step": step - 1}, versions)
        self._before = checkpoint["id"]

    def end(self) -> None:
        self._open.__exit__(None, None, None)

    def list(self) -> int:
        """List the checkpoints of the thread."""
        with PostgresSaver.from_conn_string(self.url) as saver:
            return sum(1 for _ in saver.list({"configurable": {"thread_id": "bench"}}))

    url = ""


class GraphSaver(Saver):
    name = "PostgresSaver, with what nodes wrote"
    _writes = True


WAYS: Final = (Ours, Tracked, WithCall, Saver, GraphSaver)


def main(steps: int) -> None:
    with own_server("-c", "shared_buffers=128MB", "-c", "max_connections=50") as server:
        ways: list[Any] = []
        sources: list[Any] = []
        databases = []
        for number, kind in enumerate(WAYS):
            opened = database(server.address, f"bench{number}")
            found = opened.__enter__()
            databases.append((opened, found))
            states = growing_chat(steps)(kind.wrap)
            way = kind(found.url, next(states))
            if isinstance(way, Saver):
                way.url = found.url
            ways.append(way)
            sources.append(states)
        took: list[list[float]] = [[] for _ in ways]
        for step in range(1, steps + 1):
            for way, states, times in zip(ways, sources, took, strict=True):
                state = next(states)
                begun = time.perf_counter()
                way.keep(step, state)
                times.append((time.perf_counter() - begun) * 1000)
        print(f"{steps} steps of a growing chat; milliseconds a step")
        for way, times, (_, found) in zip(ways, took, databases, strict=True):
            way.end()
            (size,) = found.query(
                "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN pg_namespace n"
                " ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname IN ('public', 'agent_tt')"
            )[0]
            listed = min(_timed(way.list) for _ in range(3))
            cuts = statistics.quantiles(times, n=100)
            print(
                f"{way.name:38} p50 {statistics.median(times):7.2f}  p99 {cuts[98]:7.2f}  {size / 1e6:8.2f} MB"
                f"  listing {listed:8.1f} ms"
            )
        for opened, _ in databases:
            opened.__exit__(None, None, None)


def _timed(work: Any) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)
