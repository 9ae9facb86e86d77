"""The runs of a server as a source. What was answered is kept as long as nothing changes there."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent_tt.addresses import Address
from agent_tt.errors import StoreUnreadable, UsageError
from agent_tt.model import Call, Delivery, Label, Note, Output, Problem, Replay, Run, Step
from agent_tt.protocols import Capabilities, RunSource
from agent_tt.questions import CallQuestion
from agent_tt.remote.connection import Connection
from agent_tt.remote.goldens import list_goldens, run_golden
from agent_tt.remote.records import read, read_all

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.remote.goldens import GoldenRun, RemoteGolden

__all__ = ["TOKEN_VARIABLE", "RemoteRuns", "open_server"]

T = TypeVar("T")

TOKEN_VARIABLE: Final = "AGENT_TT_SERVER_TOKEN"  # noqa: S105  the name of a variable

_LOOK_SECONDS: Final = 0.2
"""How long an answer counts without a look whether something has changed."""

_ODD: Final = (TypeError, ValueError, KeyError, IndexError, AttributeError)
"""What is raised of JSON that is not of the shape that was asked for."""

_MOST_BYTES: Final = 64 << 20
"""Of answers that are kept."""


def open_server(url: str, token: str | None = None) -> RemoteRuns:
    """Open the runs of a server, to read.

    Args:
        url: its address, as `agent-tt serve` writes it; over a network https, as the token goes with every question.
        token: what it was started with; else that of the variable AGENT_TT_SERVER_TOKEN.

    Raises:
        UsageError: the address is none, there is no token or another one, or httpx is not installed.
        StoreUnreadable: the server does not answer.
    """
    given = token or os.environ.get(TOKEN_VARIABLE)
    if not given:
        raise UsageError(f"no token for {url} is given", hint=f"Set {TOKEN_VARIABLE}, or name a file of it.")
    return RemoteRuns(Connection(url, given))


class RemoteRuns(RunSource):
    """The runs of a server. Safe to use from several threads.

    Args:
        connection: what asks the server.

    Raises:
        StoreUnreadable, UsageError: the server does not answer, or takes another token.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._path = Address.of(connection.url)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size, self._version, self._looked = 0, 0, 0.0
        try:
            said = self._fresh("about", {})["capabilities"]
            self._capabilities = Capabilities(
                pages=said["pages"] is True,
                indexes=said["indexes"] is True,
                anchors=said["anchors"] is True,
                redacted=said["redacted"] is True,
            )
        except (TypeError, KeyError) as error:
            raise StoreUnreadable(f"{connection.url} does not answer as agent-tt does") from error

    @property
    def capabilities(self) -> Capabilities:
        """What the server says of its source; nothing is recorded through it."""
        return self._capabilities

    @property
    def path(self) -> FilePath:
        """The address of the server."""
        return self._path

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def version(self) -> int:
        """Give a number that differs after anyone changed the store of the server, as of a moment ago at most."""
        with self._lock:
            if time.monotonic() - self._looked < _LOOK_SECONDS:
                return self._version
        now = self._fresh("version", {})
        if not isinstance(now, int):
            raise StoreUnreadable(f"{self._path} does not answer as agent-tt does")
        with self._lock:
            if now != self._version:
                self._kept.clear()
                self._size = 0
            self._version, self._looked = now, time.monotonic()
        return now

    # ---------------------------------------------------------------- runs and steps

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """List the runs, newest first."""
        return self._ask("runs", _runs, archived=archived, limit=limit)

    def run(self, ref: str) -> Run:
        """Find the run that `ref` names."""
        return self._ask("run", _run, ref=ref)

    def forks(self, run_id: str, *, deep: bool = False) -> list[Run]:
        """List the runs that were forked from a run, oldest first."""
        return self._ask("forks", _runs, run=run_id, deep=deep)

    def step_number(self, run: Run, ref: str) -> int:
        """Find the step that `ref` names."""
        return self._ask("step_number", _whole, run=run.id, ref=ref)

    def step_count(self, run_id: str) -> int:
        """Give the number of the last step."""
        return self._ask("step_count", _whole, run=run_id)

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1."""
        return self._ask("steps", _all(Step), run=run_id, start=start, stop=stop)

    # ---------------------------------------------------------------- calls

    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the calls of one step."""
        return self._ask("calls", _all(Call), run=run_id, step=step)

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        """List the calls of steps start..stop-1."""
        return self._ask("call_page", _all(Call), run=run_id, start=start, stop=stop)

    def call_heads(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Call]:
        """List the calls of steps start..stop-1 (None: to the end), without what they were asked and gave."""
        return self._ask("call_heads", _all(Call), run=run_id, start=start, stop=stop)

    def deliveries(self, run_id: str, step: int, call: int) -> list[Delivery]:
        """List what reached the agent of a call that answers in pieces."""
        return self._ask("deliveries", _all(Delivery), run=run_id, step=step, call=call)

    def output(self, run_id: str) -> Output | None:
        """Read what a run printed."""
        return self._ask("output", _one(Output), run=run_id)

    # ---------------------------------------------------------------- states

    def state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step`, the caller's own copy."""
        return self._ask("state", _wire, run=run_id, step=step)

    def pending_state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step` with what no checkpoint has taken in yet."""
        return self._ask("pending_state", _wire, run=run_id, step=step)

    def value(self, run_id: str, step: int, path: Path) -> Wire:
        """Read one value of a state."""
        return self._ask("value", _wire, run=run_id, step=step, path=[*path])

    def base_step(self, run_id: str, step: int) -> int | None:
        """Find the checkpoint that `changes(step)` are against."""
        return self._ask("base_step", _whole_or_none, run=run_id, step=step)

    def changes(self, run_id: str, step: int) -> list[Op]:
        """List the operations that turned checkpoint `base_step` into `step`."""
        return self._ask("changes", lambda found: [[*each] for each in found], run=run_id, step=step)

    def digest(self, run_id: str, step: int) -> bytes | None:
        """Give 16 bytes that are equal exactly when the states are."""
        return self._ask("digest", lambda found: None if found is None else bytes.fromhex(found), run=run_id, step=step)

    def digest_page(self, run_id: str, start: int, stop: int) -> dict[int, bytes]:
        """Give the digests of steps start..stop-1."""
        return self._ask("digest_page", _digests, run=run_id, start=start, stop=stop)

    # ---------------------------------------------------------------- who wrote what

    def written_at(self, run_id: str, step: int, path: Path) -> tuple[int, Path] | None:
        """Find the step that wrote a value, and where it was just after it."""
        return self._ask("written_at", _place, run=run_id, step=step, path=[*path])

    def next_write(self, run_id: str, step: int, path: Path) -> int | None:
        """Find the first later step that changed a value."""
        return self._ask("next_write", _whole_or_none, run=run_id, step=step, path=[*path])

    def steps_touching(self, run_id: str, first: int, last: int, path: Path) -> set[int]:
        """Find the steps that may have changed a place of the state."""
        return {*self._ask("steps_touching", _numbers, run=run_id, first=first, last=last, path=[*path])}

    def steps_calling(self, run_id: str, first: int, last: int, wanted: Mapping[str, str]) -> set[int]:
        """Find steps with a call that is as `wanted`."""
        return {*self._ask("steps_calling", _numbers, run=run_id, first=first, last=last, wanted={**wanted})}

    # ---------------------------------------------------------------- what people wrote down

    def notes(self, run_id: str) -> list[Note]:
        """List notes, bookmarks and watches of a run."""
        return self._ask("notes", _all(Note), run=run_id)

    def labels(self, run_id: str) -> dict[int, Label]:
        """Return the labels of a run's checkpoints by step number."""
        return {label.step: label for label in self._ask("labels", _all(Label), run=run_id)}

    def replays(self, run_id: str | None = None) -> list[Replay]:
        """List the replays that were kept, newest first."""
        return self._ask("replays", _all(Replay), run=run_id)

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:
        """List the calls that wait for somebody's decision."""
        return self._ask("questions", _all(CallQuestion), run=run_id)

    def anchor(self, run_id: str, step: int | None) -> tuple[str, str | None]:
        """Give the names that stay: the thread of a run, and the id of its checkpoint."""
        return self._ask("anchor", _anchor, run=run_id, step=step)

    def anchored_at(self, run_id: str, checkpoint: str, *, own: bool) -> int | None:
        """Find the step of a run that an id of `anchor` names."""
        return self._ask("anchored_at", _whole_or_none, run=run_id, checkpoint=checkpoint, own=own)

    # ---------------------------------------------------------------- damage

    def damage(self, run_id: str, last: int | None = None) -> Problem | None:
        """Find the first thing wrong with the rows of a run."""
        return self._ask("damage", _one(Problem), run=run_id, last=last)

    def damaged_steps(self, run_id: str) -> list[int]:
        """List the checkpoints that hold, or need, something damaged."""
        return self._ask("damaged_steps", _numbers, run=run_id)

    def verify(self, run_id: str | None = None) -> list[Problem]:
        """Check all that is stored of a run, or of every run."""
        return read_all(Problem, self._fresh("verify", {"run": run_id}))

    # ---------------------------------------------------------------- goldens

    def goldens(self) -> list[RemoteGolden]:
        """List the goldens of the folder that the server was started with."""
        return list_goldens(self._connection)

    def run_golden(self, name: str, *, seconds: float | None = None) -> GoldenRun:
        """Run a golden on the server, offline, and give its verdict; the server has to be started with --allow-forks.

        Args:
            name: of the golden.
            seconds: how long its agent may run, where that is less than the server allows.

        Raises:
            NotFound: there is none of this name.
            UsageError: the server starts no agents, or no more.
            StoreUnreadable: it does not answer.
        """
        return run_golden(self._connection, name, seconds)

    # ---------------------------------------------------------------- asking

    def _ask(self, question: str, made: Callable[[Any], T], **about: Any) -> T:
        """The answer to a question, the caller's own; asked again only where something has changed since.

        Args:
            question: the question.
            made: makes of JSON what is given back.
            **about: what it is about.

        Raises:
            StoreUnreadable: the server does not answer, or with something else.
            AgentTTError: what the server says.
        """
        self.version()
        key = f"{question} {json.dumps(about, sort_keys=True)}"
        with self._lock:
            body, of = self._kept.get(key), self._version
            if body is not None:
                self._kept.move_to_end(key)
        if body is None:
            body = self._connection.ask(question, about)
            with self._lock:
                if of == self._version:
                    self._keep(key, body)
        try:
            return made(self._value(body))
        except _ODD as error:
            raise StoreUnreadable(f"{self._path} answered to {question} what is none: {error}") from error

    def _fresh(self, question: str, about: Mapping[str, Any]) -> Any:
        return self._value(self._connection.ask(question, about))

    def _keep(self, key: str, body: bytes) -> None:
        self._size += len(body) - len(self._kept.get(key, b""))
        self._kept[key] = body
        while self._size > _MOST_BYTES:
            self._size -= len(self._kept.popitem(last=False)[1])

    def _value(self, body: bytes) -> Any:
        try:
            return json.loads(body)["value"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise StoreUnreadable(f"{self._path} does not answer as agent-tt does") from error


def _run(found: Any) -> Run:
    return replace(read(Run, found), read_only=True)


def _runs(found: Any) -> list[Run]:
    return [_run(each) for each in found]


def _all(kind: type[T]) -> Callable[[Any], list[T]]:
    return lambda found: read_all(kind, found)


def _one(kind: type[T]) -> Callable[[Any], T | None]:
    return lambda found: None if found is None else read(kind, found)


def _wire(found: Any) -> Wire:
    wire: Wire = found
    return wire


def _numbers(found: Any) -> list[int]:
    return [_whole(each) for each in found]


def _digests(found: Any) -> dict[int, bytes]:
    return {_whole(step): bytes.fromhex(each) for step, each in found}


def _place(found: Any) -> tuple[int, Path] | None:
    return None if found is None else (_whole(found[0]), tuple(found[1]))


def _anchor(found: Any) -> tuple[str, str | None]:
    run, checkpoint = found
    return str(run), None if checkpoint is None else str(checkpoint)


def _whole(found: Any) -> int:
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    raise StoreUnreadable("the server answered what is no number of a step")


def _whole_or_none(found: Any) -> int | None:
    return None if found is None else _whole(found)
