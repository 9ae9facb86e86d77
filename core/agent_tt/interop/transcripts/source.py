"""A file of transcripts as a source of runs."""

from __future__ import annotations

import copy
import hashlib
import os
import threading
import time
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from agent_tt.codec.collector import collector_paused
from agent_tt.codec.tlv import tlv
from agent_tt.errors import StepNotFound, StoreNotFound
from agent_tt.history.changes.diff import diff
from agent_tt.history.digest import DIGEST_SIZE, entry_token, list_token, polynomial, sum_token, token
from agent_tt.interop.kept import Kept
from agent_tt.interop.transcripts.document import could_be_document, read_document, too_large
from agent_tt.interop.transcripts.kept_list import beginning_of, identity_of, keep_list, kept_list
from agent_tt.interop.transcripts.telling import strongest
from agent_tt.interop.transcripts.transcript import Promise, Transcript
from agent_tt.model import NO_USAGE, AgentCode, Call, ModelConfig, Problem, Run, Step
from agent_tt.model.facts import StepFacts
from agent_tt.plugins import PluginFailed, Plugins
from agent_tt.protocols import Capabilities, RunSource
from agent_tt.protocols.derived import StateCursor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Talk, ToldCall, ToldStep

__all__ = ["FORMATS", "Format", "TranscriptSource"]


class Format(Protocol):
    """Reads a document as transcripts: what an entry point of the group `agent_tt.formats` names."""

    def __call__(self, document: Document) -> Sequence[Transcript | Promise] | None:
        """The runs in a document, told or promised; None where it is of another format. Never raises."""


def _accepted(found: object) -> Format:
    if not callable(found):
        raise PluginFailed(f"is a {type(found).__name__}, not a function that reads a document")
    return cast("Format", found)


_OURS: Final = "agent_tt.interop.transcripts"
_NAMES: Final = (
    "otlp", "langfuse", "inspect_ai", "openai_agents", "vcr", "claude_code", "claude_stream", "pi", "atif", "swe_agent",
    "mini_swe_agent", "openhands", "openhands_v1", "agentrr", "clearstone", "orca", "codex", "gemini_cli", "opencode",
    "langsmith", "phoenix", "ai_sdk", "exchanges", "chat",
)  # fmt: skip
FORMATS: Final = Plugins[Format](
    "agent_tt.formats",
    {name: f"{_OURS}.{name}:read_{name}" for name in _NAMES},
    _accepted,
)
"""Formats of JSON files, the most particular first: what is merely a list of messages is asked last."""


def read_transcripts(document: Document) -> Sequence[Transcript | Promise] | None:
    """What the first format that knows a document tells of it; None where none does."""
    for _, read in FORMATS.all():
        found = read(document)
        if found:
            return found
    return None


_HASHES_KEPT: Final = 64
_STEPS_KEPT: Final = 4_000
"""Steps of promised runs that are kept, together."""


@dataclass(slots=True)
class _Told:
    """A transcript as a run with its steps.

    Attributes:
        hashes: of each list of messages the hashes of its beginnings, as far as they were asked for, by its identity;
            the list stands beside them, so that no other one has that identity meanwhile.
    """

    transcript: Transcript
    run: Run
    steps: list[Step]
    hashes: dict[int, tuple[list[Wire], list[int]]] = field(default_factory=dict)

    def step(self, step: int) -> ToldStep:
        return self.transcript.steps[step - 1]

    def talk(self, step: int) -> Talk:
        """The conversation after a step."""
        if not step:
            return self.transcript.opening
        return self.transcript.steps[step - 1].talk or self.transcript.opening

    def beginning(self, talk: Talk) -> int:
        """The hash of a conversation's messages, from which it is not seen how many there are."""
        if self.transcript.later is not None and len(self.hashes) == _HASHES_KEPT:
            self.hashes.clear()  # such lists are made anew each time, and would all be kept
        _, hashes = self.hashes.setdefault(id(talk.messages), (talk.messages, [0]))
        for message in talk.messages[len(hashes) - 1 : talk.length]:
            hashes.append(polynomial(hashes[-1], [token(message)]))
        return hashes[talk.length]

    def token(self, talk: Talk) -> int:
        """The digest of a state as a number, as `agent_tt.history.digest.token` gives it."""
        if not talk.length:
            return token(cast("Wire", talk.state))
        messages = list_token(talk.length, self.beginning(talk))
        parts = [entry_token("messages", messages)]
        parts += [entry_token(key, token(value)) for key, value in talk.beside.items()]
        return sum_token(len(parts), sum(parts))


Found: TypeAlias = "Callable[[FilePath], tuple[Document | None, Sequence[Transcript | Promise] | None]]"
"""Reads a file, and the runs in it."""


def _found_in(path: FilePath) -> tuple[Document | None, Sequence[Transcript | Promise] | None]:
    document = read_document(path)
    return document, None if document is None else read_transcripts(document)


class _Contents:
    """What a file held at one moment; where its list was kept, it is read once more than that is asked for.

    Args:
        path: the file.
        before: what it held before. If it only grew, promised runs that nothing was added to are not told again.
        found: what reads it, where no format does; its list is not kept then.

    Attributes:
        ids: of its runs, the one that began last first.
        identity: what tells the file from what it was before.
        stamp: what it looked like from outside.
    """

    def __init__(self, path: FilePath, before: _Contents | None = None, found: Found | None = None) -> None:
        self._path, self._found = path, found or _found_in
        self._watched: tuple[FilePath, ...] = ()
        self.stamp = self.look()
        self.identity, self._beginning = identity_of(path), beginning_of(path)
        self._runs: dict[str, Run] = {}
        self._whole: dict[str, _Told] = {}
        self._promises: dict[str, Promise] = {}
        self._told: Kept[_Told] = Kept(_STEPS_KEPT, lambda told: len(told.steps))
        self._latest: _Told | None = None
        self._flaws_of: Document | None = None
        kept = kept_list(path, self.identity) if found is None else None
        self._is_kept = self._is_unread = kept is not None
        self._runs = {run.id: run for run in kept or ()}
        self.ids = [*self._runs]
        if not self._is_unread:
            self._read(before)
            # What grows, or is in several files, is another file by the next time.
            self._is_kept = before is not None or found is not None or len(self.stamp) > 1

    def look(self) -> Stamp:
        """What the file looks like from outside now, with what was read beside it."""
        return _stamp(self._path), *filter(any, map(_stamp_beside, self._watched))

    @property
    def flaws(self) -> tuple[str, ...]:
        """What of it could not be read, in words, where no run tells it."""
        if self._is_unread:
            self._read()
        return () if self._flaws_of is None else tuple(map(str, self._flaws_of.seen_flaws))

    def run(self, run_id: str) -> Run:
        """A run; a promised one is told once, and kept without its steps."""
        if run_id not in self._runs:
            self._runs[run_id] = self.told(run_id).run
        return self._runs[run_id]

    def told(self, run_id: str) -> _Told:
        """A run with its steps; a promised one is told now unless it still is known."""
        if self._is_unread:
            self._read()
        if run_id not in self._promises:
            return self._whole[run_id]
        if self._latest is None or self._latest.run.id != run_id:  # which alone may have more steps than are kept
            self._latest = None
            self._latest = self._told.get(run_id, lambda: self._kept(self._promises[run_id]))
        return self._latest

    def _kept(self, promise: Promise) -> _Told:
        with collector_paused():  # which would take a third of the time
            return _told(self._path, promise.tell())

    def rows_of(self, promises: Mapping[str, Promise]) -> dict[str, Run]:
        """The runs among those promised by the file as it is now that nothing was added to, if it only grew."""
        if self._beginning is None or self._beginning != beginning_of(self._path, self._beginning[2]):
            return {}
        known = ((promise, self._promises.get(run_id)) for run_id, promise in promises.items())
        same = [now.id for now, old in known if old and (now.began_us, now.size) == (old.began_us, old.size)]
        return {run_id: self._runs[run_id] for run_id in same if run_id in self._runs}

    def to_keep(self) -> list[Run]:
        """The list, once: when all of it is known, and is not kept yet; else nothing."""
        if self._is_kept or len(self._runs) < len(self.ids):
            return []
        self._is_kept = True
        return [self._runs[run_id] for run_id in self.ids]

    def _read(self, before: _Contents | None = None) -> None:
        self._is_unread = False
        began_ns = time.time_ns()
        with collector_paused():
            document, found = self._found(self._path)
        self._watched = () if document is None else tuple(document.watched)
        # What was written while it was read is read again.
        beside = [each if each[0] < began_ns - _TICK_NS else _UNKNOWN for each in self.look()[1:]]
        self.stamp = self.stamp[0], *beside
        if document is None or not found:
            if document is not None and document.is_large:
                raise too_large(self._path, self.stamp[0][1])
            self.ids = []
            return
        self._promises = {each.id: each for each in found if isinstance(each, Promise)}
        if before is not None:
            self._runs = before.rows_of(self._promises)
        with collector_paused():
            whole = [_told(self._path, each) for each in found if isinstance(each, Transcript)]
        self._whole = {told.run.id: told for told in whole}
        order = [(told.run.started_us, told.run.parent is not None, told.run.id) for told in whole]
        order += [(promise.began_us, False, promise.id) for promise in self._promises.values()]
        order.sort(key=lambda each: each[:2], reverse=True)
        self.ids = list(dict.fromkeys(run_id for _, _, run_id in order))
        tells = any(told.transcript.flaws for told in whole)
        self._flaws_of = None if tells else document


class TranscriptSource(RunSource):
    """The runs in a file that another program keeps conversations in.

    Args:
        path: the file.
        contents: what it holds; read now where it is not given.
        found: what reads it, where no format does.
    """

    def __init__(self, path: FilePath, contents: _Contents | None = None, found: Found | None = None) -> None:
        self._path, self._found = path, found
        contents = contents or _Contents(path, found=found)
        self._lock = threading.RLock()
        self._known, self._stamp = contents, contents.stamp
        self._version = 0
        self._read = 0
        self._is_lost = False

    @classmethod
    def detect(cls, path: FilePath, head: bytes) -> TranscriptSource | None:
        """The source of a file of JSON, YAML or OTLP, or of a zip archive, if a format knows it, None if none does.

        Raises:
            StoreUnreadable: the file is too large, or cannot be read.
        """
        if not could_be_document(head):
            return None
        contents = _Contents(path)
        return cls(path, contents) if contents.ids else None

    @property
    def capabilities(self) -> Capabilities:
        """Pages cost what they return."""
        return Capabilities(pages=True)

    @property
    def path(self) -> FilePath:
        """The file."""
        return self._path

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
            return steps[max(start - 1, 0) : None if stop is None else max(stop - 1, 0)]

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

    def _contents(self) -> _Contents:
        """What the file holds now; what it held before, while it cannot be read."""
        version = self.version()
        if version != self._read:
            self._read = version
            self._is_lost = True
            before = self._known if self._found is None else None
            contents = _Contents(self._path, before, self._found) if self._path.exists() else None
            if contents is not None and contents.ids:
                self._known, self._stamp, self._is_lost = contents, contents.stamp, False
        return self._known


def _signature(told: _Told, call: ToldCall) -> str:
    asked: Wire = call.args
    if call.asked is not None:
        asked = [told.beginning(call.asked).to_bytes(DIGEST_SIZE, "little").hex(), call.asked.length]
    return hashlib.blake2b(tlv([call.kind, call.name, asked]), digest_size=DIGEST_SIZE).hexdigest()


def _facts_of(step: ToldStep) -> dict[str, Wire]:
    facts: dict[str, Wire] = {}
    if step.raw:
        StepFacts.raw_entries.put(facts, step.raw)
    if step.usage.unpriced:
        StepFacts.unpriced.put(facts, step.usage.unpriced)
    return facts


def _told(path: FilePath, transcript: Transcript) -> _Told:
    numbers = {id(step): number for number, step in enumerate(transcript.steps, 1)}
    parent, shared = transcript.fork or (None, 0)
    checkpoints: dict[str, int] = {"main": 0}
    steps: list[Step] = []
    usage = NO_USAGE
    for number, step in enumerate(transcript.steps, 1):
        seq = checkpoints[step.lane] = checkpoints.get(step.lane, 0) + 1
        usage += step.usage
        begun_by = None if step.parent is None else numbers.get(id(step.parent))
        steps.append(
            Step(
                number=number,
                name=step.name,
                status=step.status,
                kind=strongest(step.calls),
                agent=step.agent,
                lane=step.lane,
                parent=begun_by if begun_by is not None and begun_by < number else None,
                started_us=step.started_us,
                ended_us=step.ended_us,
                tokens_in=step.usage.tokens_in,
                tokens_out=step.usage.tokens_out,
                cost_usd=step.usage.cost_usd,
                error=step.error,
                track=step.lane,
                seq=seq,
                inherited=number <= shared,
                decision=step.decision,
                calls=len(step.calls),
                extra=_facts_of(step),
            )
        )
    usage = transcript.usage or usage
    own = transcript.steps[shared:]
    times = [at for step in own for at in (step.started_us, step.ended_us) if at is not None]
    run = Run(
        id=transcript.id,
        name=transcript.id,
        status=transcript.status,
        started_us=min(times, default=0) if transcript.began_us is None else transcript.began_us,
        ended_us=max(times, default=None),
        code=AgentCode(),
        model=ModelConfig(transcript.model) if transcript.model else None,
        parent=parent,
        fork_step=shared if parent is not None else None,
        steps=len(steps),
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost_usd=usage.cost_usd,
        unpriced=usage.unpriced or 0,
        error=transcript.error,
        metadata=transcript.metadata,
        read_only=True,
        origin={"system": transcript.system, "file": str(path)},
    )
    if transcript.later is not None:
        transcript.steps = transcript.later
    return _Told(transcript, run, steps)


Stamp: TypeAlias = "tuple[tuple[int, int, int], ...]"
_UNKNOWN: Final = -1, -1, -1
_TICK_NS: Final = 20_000_000
"""So coarse times of files are at most."""

_MOST_WATCHED: Final = 5_000
"""So many files of a folder are looked at to see whether it changed."""


def _stamp_beside(path: FilePath) -> tuple[int, int, int]:
    """What a file, or all files of a folder, look like from outside; zeros where there are none."""
    try:
        with os.scandir(path) as entries:
            found = [each.stat(follow_symlinks=False) for each in islice(entries, _MOST_WATCHED)]
        times = [path.stat().st_mtime_ns, *(each.st_mtime_ns for each in found)]
        return max(times), sum(each.st_size for each in found), len(found)
    except NotADirectoryError:
        try:
            return _stamp(path)
        except StoreNotFound:
            return 0, 0, 0
    except OSError:
        return 0, 0, 0


def _stamp(path: FilePath) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0, 0
    except OSError as error:
        raise StoreNotFound(f"{path} cannot be read: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino
