"""A file of transcripts as a source of runs."""

from __future__ import annotations

import copy
import hashlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from agent_tt.codec.tlv import tlv
from agent_tt.errors import StepNotFound
from agent_tt.history.changes.diff import diff
from agent_tt.history.digest import DIGEST_SIZE
from agent_tt.interop.transcripts.contents import Contents
from agent_tt.interop.transcripts.document import could_be_document
from agent_tt.interop.transcripts.kept_list import keep_list
from agent_tt.model import Call, Problem, Run, Step
from agent_tt.protocols import Capabilities, RunSource
from agent_tt.protocols.derived import StateCursor

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.interop.transcripts.contents import Found
    from agent_tt.interop.transcripts.told_run import ToldRun
    from agent_tt.interop.transcripts.transcript import ToldCall

__all__ = ["TranscriptSource"]


class TranscriptSource(RunSource):
    """The runs in a file that another program keeps conversations in.

    Args:
        path: the file.
        contents: what it holds; read now where it is not given.
        found: what reads it, where no format does.
    """

    def __init__(self, path: Path, contents: Contents | None = None, found: Found | None = None) -> None:
        self._path, self._found = path, found
        contents = contents or Contents(path, found=found)
        self._lock = threading.RLock()
        self._known, self._stamp = contents, contents.stamp
        self._version = 0
        self._read = 0
        self._is_lost = False

    @classmethod
    def detect(cls, path: Path, head: bytes) -> TranscriptSource | None:
        """The source of a file of JSON, YAML or OTLP, or of a zip archive, if a format knows it, None if none does.

        Raises:
            StoreUnreadable: the file is too large, or cannot be read.
        """
        if not could_be_document(head):
            return None
        contents = Contents(path)
        return cls(path, contents) if contents.ids else None

    @property
    def capabilities(self) -> Capabilities:
        """Pages cost what they return."""
        return Capabilities(pages=True)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def close(self) -> None:
        """Let go of the file."""
        self._known.settle()

    def version(self) -> int:
        """Give a number that differs after the file changed."""
        with self._lock:
            stamp = self._known.look()
            if stamp != self._stamp:
                self._stamp = stamp
                self._version += 1
            return self._version

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:  # noqa: ARG002  # none is archived
        """List the runs, the one that began last first."""
        with self._lock:
            contents = self._contents()
        found: list[Run] = []
        for run_id in contents.ids[:limit]:
            with self._lock:  # for one at a time: of a large file others need not wait for all
                found.append(contents.run(run_id))
        with self._lock:
            listed = contents.to_keep()
        if listed:
            keep_list(self._path, contents.identity, listed)
        return found

    def step_count(self, run_id: str) -> int:
        """Give the number of the last step."""
        with self._lock:
            return self._contents().run(run_id).steps

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1 in order."""
        with self._lock:
            steps = self._contents().told(run_id).steps
            return [*steps[max(start - 1, 0) : None if stop is None else max(stop - 1, 0)]]

    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the calls of one step: what a model answered, the tools that it asked for, what a person said."""
        with self._lock:
            if not self._checked(run_id, step):
                return []
            told = self._contents().told(run_id).step(step).calls
            found = self._calls(run_id, step)
            return [replace(call, args=each.given) for call, each in zip(found, told, strict=True)]

    def with_values(self, run_id: str, head: Call) -> Call:
        """Read a call of `call_heads` with what the model was shown."""
        with self._lock:
            told = self._contents().told(run_id).step(head.step).calls[head.number - 1]
            return replace(self._calls(run_id, head.step)[head.number - 1], args=told.given)

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        """List the calls of steps start..stop-1."""
        with self._lock:
            last = min(stop - 1, self.step_count(run_id))
            return [call for step in range(max(start, 1), last + 1) for call in self._calls(run_id, step)]

    def state(self, run_id: str, step: int) -> Wire:
        """Read the conversation after `step`, the caller's own copy."""
        return copy.deepcopy(self._shared(run_id, step))

    def cursor(self, run_id: str, step: int) -> StateCursor:
        """Make a cursor that stands at `step`."""
        return StateCursor(lambda at: self._shared(run_id, at), step, lasts=True)

    def changes(self, run_id: str, step: int) -> list[Op]:
        """List the operations that turned the conversation before `step` into that after it."""
        base = self.base_step(run_id, step)
        if base is None:
            return []
        with self._lock:
            told = self._contents().told(run_id)
            before, after = told.talk(base), told.talk(step)
            goes_on = before.messages is after.messages or (
                before.messages[: before.length] == after.messages[: before.length]
            )
            if not goes_on or before.length > after.length:
                return diff(cast("Wire", before.state), cast("Wire", after.state))
            ops = diff(dict(before.beside), dict(after.beside)) if before.beside != after.beside else []
            said: Wire = after.messages[before.length : after.length]
            if said:
                ops.append(["a", ["messages"], before.length, said])
            return copy.deepcopy(ops)

    def digest(self, run_id: str, step: int) -> bytes | None:
        """Give 16 bytes that are equal exactly when two states are."""
        with self._lock:
            self._checked(run_id, step)
            told = self._contents().told(run_id)
            return told.token(told.talk(step)).to_bytes(DIGEST_SIZE, "little")

    def verify(self, run_id: str | None = None) -> list[Problem]:
        """List what of the file could not be read."""
        with self._lock:
            contents = self._contents()
            contents.check()
            problems = []
            if self._is_lost:
                problems.append(Problem(None, None, "it was changed and holds no runs now; shown is what it held"))
        of_runs: list[Problem] = []
        for each in contents.ids:
            if run_id in (None, each):
                with self._lock:
                    of_runs += [Problem(each, step, what) for step, what in contents.told(each).transcript.flaws]
        with self._lock:  # what is read in parts was checked only now
            return [Problem(None, None, what) for what in contents.flaws] + problems + of_runs

    def _shared(self, run_id: str, step: int) -> Wire:
        with self._lock:
            self._checked(run_id, step)
            return cast("Wire", self._contents().told(run_id).talk(step).state)

    def _checked(self, run_id: str, step: int) -> int:
        last = self.step_count(run_id)
        if not 0 <= step <= last:
            raise StepNotFound(f"there is no step {step}: the last one is {last}")
        return step

    def _calls(self, run_id: str, step: int) -> list[Call]:
        """The calls of a step, without what models were shown."""
        own = self._contents().told(run_id)
        told = own.step(step)
        return [
            Call(
                step=step,
                number=number,
                kind=call.kind,
                name=call.name,
                status=call.status,
                lane=told.lane,
                lane_seq=number,
                args=call.args,
                result=call.result,
                error=call.error,
                signature=_signature(own, call),
                started_us=call.started_us,
                ended_us=call.ended_us,
                meta=call.meta,
            )
            for number, call in enumerate(told.calls, 1)
        ]

    def _contents(self) -> Contents:
        """What the file holds now; what it held before, while it cannot be read."""
        version = self.version()
        if version != self._read:
            self._read = version
            self._is_lost = True
            before = self._known if self._found is None else None
            contents = Contents(self._path, before, self._found) if self._path.exists() else None
            if contents is not None and contents.ids:
                self._known, self._stamp, self._is_lost = contents, contents.stamp, False
        return self._known


def _signature(told: ToldRun, call: ToldCall) -> str:
    asked: Wire = call.args
    if call.asked is not None:
        asked = [told.beginning(call.asked).to_bytes(DIGEST_SIZE, "little").hex(), call.asked.length]
    return hashlib.blake2b(tlv([call.kind, call.name, asked]), digest_size=DIGEST_SIZE).hexdigest()
