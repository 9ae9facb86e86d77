"""Ways of keeping the state of every step: ours, and those of others. All have it on the disk before the next step."""

from __future__ import annotations

import importlib.util
import sqlite3
import time
import uuid
from typing import TYPE_CHECKING, Any, Final

import orjson
import zstandard
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from agent_tt.codec.track_reader import tracked
from agent_tt.model import AgentCode, CallEnd, NewCall, NewRun, NewStep, StepEnd
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["WAYS", "Way", "is_there"]


class Way:
    """Keeps the states of one run in a folder."""

    name = ""
    needs = ""

    def __init__(self, folder: Path, state: Any) -> None:
        """Begin with the first state."""
        raise NotImplementedError

    @staticmethod
    def wrap(state: dict[str, Any]) -> Any:
        """The agent's state: a plain dict, unless the way asks for another."""
        return state

    def keep(self, step: int, state: Any) -> None:
        """Keep the state after a step."""
        raise NotImplementedError

    def end(self) -> None:
        """End the run and close the file."""


class Ours(Way):
    """agent-tt: a step with its beginning and end, and the state after it."""

    name = "agent-tt"

    def __init__(self, folder: Path, state: Any) -> None:
        self._store = open_store(folder / "runs.db", create=True)
        self._writer = self._store.begin_run(NewRun("bench", code=AgentCode(entry="bench:main")), state)

    def keep(self, step: int, state: Any) -> None:
        number = self._writer.open_step(NewStep("chat"))
        self._within(number, step)
        self._writer.close_step(number, StepEnd("ok", tokens_in=400, tokens_out=380), state)

    def _within(self, number: int, step: int) -> None:
        """What happens in a step."""

    def end(self) -> None:
        self._writer.finish("succeeded")
        self._store.close()


class OursTracked(Ours):
    """The same with a state that knows what is written into it."""

    name = "agent-tt, tracked"

    @staticmethod
    def wrap(state: dict[str, Any]) -> Any:
        return tracked(state)


class OursWithCall(Ours):
    """The same with a tool call in each step, its intent and its answer: two commits more."""

    name = "agent-tt, with a tool call"

    def _within(self, number: int, step: int) -> None:
        intent = NewCall("tool", "search", {"query": f"order {step}"}, f"{step:032x}", effect="read")
        call = self._writer.begin_call(number, intent)
        self._writer.end_call(number, call, CallEnd("ok", {"docs": [f"document {step}"], "count": 1}))


class Saver(Way):
    """LangGraph's SqliteSaver, told to wait for the disk."""

    name = "SqliteSaver"

    def __init__(self, folder: Path, state: Any) -> None:
        self.connection = sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)
        self.saver = SqliteSaver(self.connection)
        self.saver.setup()
        self.connection.execute("PRAGMA synchronous = FULL")
        self.ids: list[str] = []
        self.keep(0, state)

    def keep(self, step: int, state: Any) -> None:
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = state
        checkpoint["channel_versions"] = dict.fromkeys(state, step + 1)
        before = self.ids[-1] if self.ids else None
        where: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": "", "checkpoint_id": before}}
        self.saver.put(where, checkpoint, {"source": "loop", "step": step - 1}, {})
        self.ids.append(checkpoint["id"])

    def end(self) -> None:
        self.connection.close()


class Json(Way):
    """All of the state as JSON, a row a step."""

    name = "orjson in SQLite"

    def __init__(self, folder: Path, state: Any) -> None:
        self._connection = sqlite3.connect(folder / "states.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("CREATE TABLE states(step INTEGER PRIMARY KEY, state BLOB)")
        self.keep(0, state)

    def _packed(self, state: Any) -> bytes:
        return orjson.dumps(state)

    def keep(self, step: int, state: Any) -> None:
        self._connection.execute("INSERT INTO states VALUES(?, ?)", (step, self._packed(state)))

    def end(self) -> None:
        self._connection.close()


class Compressed(Json):
    """The same, compressed."""

    name = "orjson + zstd in SQLite"
    _compressor = zstandard.ZstdCompressor(3)

    def _packed(self, state: Any) -> bytes:
        return self._compressor.compress(orjson.dumps(state))


class AgentRR(Way):
    """agentrr: a boundary event a step, with the state as its response."""

    name, needs = "agentrr", "agentrr_recorder"

    def __init__(self, folder: Path, state: Any) -> None:
        from agentrr_core.log.writer import LogWriter, LogWriterConfig
        from agentrr_core.schema.events import RunHeader
        from agentrr_recorder.recorder import Recorder

        self._recorder = Recorder.create(LogWriter(LogWriterConfig(folder / "run.jsonl")), RunHeader(run_id="bench"))
        self._recorder.begin_run()
        self.keep(0, state)

    def keep(self, step: int, state: Any) -> None:
        from agentrr_core.schema.events import EventType
        from agentrr_recorder.pending_event import PendingBoundary

        asked = PendingBoundary(f"e-{uuid.uuid4().hex[:12]}", EventType.STEP_MARKER, {"step": step}, None)
        self._recorder.record_boundary(asked, response=state)

    def end(self) -> None:
        self._recorder.emit_run_end()


class Clearstone(Way):
    """clearstone-sdk: a span a step, with the state as its output; its writer does not wait for the disk."""

    name, needs = "clearstone-sdk", "clearstone"

    def __init__(self, folder: Path, state: Any) -> None:
        from clearstone.storage.sqlite import TraceStore

        self._store = TraceStore(str(folder / "traces.db"))
        self.keep(0, state)

    def keep(self, step: int, state: Any) -> None:
        from clearstone.observability.models import Span

        at = time.time_ns()
        span = Span(
            trace_id="bench",
            name=f"step {step}",
            start_time_ns=at,
            end_time_ns=at,
            output_snapshot=state,
            instrumentation_name="bench",
            instrumentation_version="1",
        )
        self._store.write_spans([span])


WAYS: Final[tuple[type[Way], ...]] = (*(Ours, OursTracked, OursWithCall, Saver, Json, Compressed, AgentRR, Clearstone),)


def is_there(way: type[Way]) -> bool:
    """Whether what a way needs is installed."""
    return not way.needs or importlib.util.find_spec(way.needs) is not None
