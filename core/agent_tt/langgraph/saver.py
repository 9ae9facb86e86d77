"""The checkpointer: LangGraph's interface, sync and async, over the threads of a store."""

from __future__ import annotations

import asyncio
import atexit
import weakref
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self, cast

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from agent_tt.codec.collector import collector_paused
from agent_tt.errors import Damaged, UsageError
from agent_tt.interop.threads import shown
from agent_tt.interop.threads.entries import FACTS, USUAL, saved_checkpoint
from agent_tt.interop.threads.writes import Write
from agent_tt.langgraph.asynchronous import AsyncMethods
from agent_tt.langgraph.threads import KEPT, Threads
from agent_tt.langgraph.values import Values
from agent_tt.model.facts import StepFacts
from agent_tt.recording.scope import here
from agent_tt.store.file.locate import writable_store_path
from agent_tt.store.threads import open_threads

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, DeltaChannelHistory
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.threads.entries import Entry, Saved
    from agent_tt.langgraph.reading import Reader
    from agent_tt.langgraph.thread import Thread
    from agent_tt.store.file.connection import Durability

__all__ = ["Checkpointer"]

_MOST_AT_ONCE: Final = 16
"""Checkpoints that are read together: each may hold thousands of objects, among which there are no cycles."""


class Checkpointer(AsyncMethods):
    """Keeps a graph's threads in a store of agent-tt: `graph.compile(checkpointer=Checkpointer("runs.db"))`.

    Each checkpoint, and what each task wrote, is committed before the method that is given it returns. Any number of
    threads and processes may use one file at once.

    Args:
        store: the file, made where it is missing; else the project's or the user's own.
        serde: LangGraph's serializer; by default its own. A graph goes on from what is kept, so no secret is taken out
            of that: with LangGraph's `EncryptedSerializer` none is kept readable, and all comes back.
        durability: `full` forces every commit to the disk; `normal` may lose the last ones in a power cut.

    Raises:
        NotAStore, NewerFormat, OlderFormat: the file is something else.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | None = None,
        *,
        serde: SerializerProtocol | None = None,
        durability: Durability = "full",
    ) -> None:
        super().__init__(serde=serde)
        path = writable_store_path(store)
        self._threads = Threads(open_threads(path, durability=durability))
        self._values = Values()
        _OPEN.add(self._threads)

    @property
    def path(self) -> Path:
        """The file."""
        return self._threads.store.path

    def close(self) -> None:
        """Let go of the file. Threads that a node was to go on with count as interrupted."""
        _OPEN.discard(self._threads)
        self._threads.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    # ---------------------------------------------------------------- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the checkpoint that a config names, or the latest of its thread and namespace."""
        names = config["configurable"]
        with self._threads.use(str(names["thread_id"])) as thread:
            entry = thread.asked(names.get("checkpoint_ns", ""), get_checkpoint_id(config))
            if entry is None:
                return None
            found = self._tuple(names["thread_id"], thread.reader()(entry))
        return found._replace(config=config) if get_checkpoint_id(config) else found

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002  LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Read checkpoints, those with the greatest ids first.

        Args:
            config: of which thread, and perhaps of which namespace and of which id; None for those of all threads.
            filter: what their metadata has to say, by key.
            before: a config whose checkpoint's id is greater than theirs.
            limit: the most that are given.
        """
        found = self._listed(config, filter or {}, get_checkpoint_id(before) if before is not None else None)
        size, failure = 1, None
        while failure is None and (limit is None or limit > 0):
            page: list[CheckpointTuple] = []
            with collector_paused():
                try:
                    for given in islice(found, size if limit is None else min(size, limit)):
                        page.append(given)  # noqa: PERF402  those before a failure are kept
                except Exception as error:  # noqa: BLE001  raised below, after what comes before it
                    failure = error
            yield from page
            if len(page) < size:
                break
            limit = None if limit is None else limit - size
            size = min(2 * size, _MOST_AT_ONCE)
        if failure is not None:
            raise failure

    def _listed(
        self, config: RunnableConfig | None, wanted: Mapping[str, object], last: str | None
    ) -> Iterator[CheckpointTuple]:
        names = config["configurable"] if config is not None else {}
        only = (get_checkpoint_id(config) if config is not None else None) or None
        readers: dict[str, tuple[Thread, Reader]] = {}
        of_thread = str(names["thread_id"]) if config is not None else None
        for thread_id, entry in self._threads.newest_first(of_thread, last or None):
            if (only and entry.id != only) or names.get("checkpoint_ns", entry.namespace) not in (
                entry.namespace,
                None,
            ):
                continue
            with self._threads.use(thread_id) as thread:
                if thread.find(entry.namespace, entry.id) != entry:
                    continue  # it was taken away meanwhile
                metadata = self._metadata(thread.facts_of(entry))
                if any(metadata.get(key) != value for key, value in wanted.items()):
                    continue
                if readers.get(thread_id, (None,))[0] is not thread:
                    readers = {**dict([*readers.items()][1 - KEPT :]), thread_id: (thread, thread.reader())}
                given = self._tuple(names.get("thread_id", thread_id), readers[thread_id][1](entry))
            yield given
            del given  # it is not to be kept while the next one is made

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Give, for each channel, the value that the nearest ancestor has, and what was written on the way from there.

        Args:
            config: the checkpoint, or the latest of its thread and namespace.
            channels: the channels.
        """
        names = config["configurable"]
        written: dict[str, list[tuple[str, Wire]]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        with self._threads.use(str(names["thread_id"])) as thread, collector_paused():
            entry = thread.asked(names.get("checkpoint_ns", ""), get_checkpoint_id(config))
            read = thread.reader()
            while entry is not None and entry.parent is not None and len(seeds) < len(written):
                entry = thread.entries[entry.namespace].get(entry.parent)
                if entry is None:
                    break
                missing = written.keys() - seeds.keys()
                for write in reversed(read.writes(entry)):
                    if write.channel in missing:
                        written[write.channel].append((write.task, write.value))
                seeds |= {name: self._given(read.value(entry, name)) for name in missing & read.channels(entry)}
            return {
                name: cast(
                    "DeltaChannelHistory",
                    {
                        "writes": self._given_writes(name, rows[::-1]),
                        **({"seed": seeds[name]} if name in seeds else {}),
                    },
                )
                for name, rows in written.items()
            }

    def _given_writes(self, channel: str, rows: Sequence[tuple[str, Wire]]) -> Sequence[tuple[str, str, Any]]:
        values = self._values.given_each(self.serde, [wire for _, wire in rows])
        return [(task, channel, value) for (task, _), value in zip(rows, values, strict=True)]

    # ---------------------------------------------------------------- writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002  what has changed is found by comparing
    ) -> RunnableConfig:
        """Store a checkpoint durably; return the config that names it.

        Args:
            config: its thread and namespace, and the checkpoint before it.
            checkpoint: the checkpoint.
            metadata: where it came from.
            new_versions: the channels that were written to since the checkpoint before.
        """
        names = config["configurable"]
        namespace = names.get("checkpoint_ns", "")
        said = cast("Mapping[str, object]", get_checkpoint_metadata(config, metadata))
        parent = names.get("checkpoint_id")
        saved = saved_checkpoint(namespace, parent, cast("Mapping[str, object]", checkpoint), said, self._kept)
        recorded_in = self._recorded_in()
        if recorded_in is not None:
            saved.extra[StepFacts.recorded_in.key] = recorded_in
        self._threads.write(str(names["thread_id"]), lambda thread: thread.put(saved), checkpoint=saved.id)
        return _config(names["thread_id"], namespace, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Commit what a task wrote on top of a checkpoint.

        Args:
            config: the checkpoint.
            writes: channels and values.
            task_id: which task.
            task_path: its place in the graph.
        """
        names = config["configurable"]
        kept = [
            Write(task_id, task_path, WRITES_IDX_MAP.get(channel, at), channel, self._kept(value)[0])
            for at, (channel, value) in enumerate(writes)
        ]
        place = names.get("checkpoint_ns", ""), str(names["checkpoint_id"])
        self._threads.write(
            str(names["thread_id"]), lambda thread: thread.put_writes(*place, kept), checkpoint=place[1], gather=True
        )

    def delete_thread(self, thread_id: str) -> None:
        """Take a thread away, with all its branches."""
        with self._threads.use(str(thread_id)) as thread:
            thread.remove()
            self._threads.store.give_back_room()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Take away the checkpoints whose metadata names one of LangGraph's runs."""
        gone = set(run_ids)
        if gone:
            self._keep(
                self._threads.ids(),
                lambda thread, entry: self._metadata(thread.facts_of(entry)).get("run_id") not in gone,
            )

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread, and what was written on top of them, into another one."""
        with self._threads.use(str(source_thread_id)) as source, self._threads.use(str(target_thread_id)) as target:
            target.take_in([saved for _, saved in source.everything()])

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Take old checkpoints away.

        Args:
            thread_ids: of which threads.
            strategy: `keep_latest` keeps the latest checkpoint of each namespace, and those before it that a delta
                channel of it is rebuilt from; `delete` keeps none.

        Raises:
            ValueError: it is another word.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"strategy={strategy!r}: it is 'keep_latest' or 'delete'")
        kept: dict[str, set[tuple[str, str]]] = {}

        def keeps(thread: Thread, entry: Entry) -> bool:
            if strategy == "delete":
                return False
            if thread.id not in kept:
                kept[thread.id] = self._needed(thread)
            return (entry.namespace, entry.id) in kept[thread.id]

        self._keep([str(thread_id) for thread_id in thread_ids], keeps)

    def _keep(self, thread_ids: Sequence[str], keeps: Callable[[Thread, Entry], bool]) -> None:
        for thread_id in thread_ids:
            with self._threads.use(thread_id) as thread:
                thread.rewrite(lambda entry, thread=thread: keeps(thread, entry))  # type: ignore[misc]
        if thread_ids:
            with self._threads.lock:
                self._threads.store.give_back_room()

    def _needed(self, thread: Thread) -> set[tuple[str, str]]:
        """The latest checkpoint of each namespace, and the ancestors that its delta channels need."""
        needed = set()
        read = thread.reader()
        for namespace in thread.entries:
            entry = thread.find(namespace, None)
            counters = self._metadata(thread.facts_of(entry)).get("counters_since_delta_snapshot") if entry else None
            missing = set(counters or ())
            while entry is not None:
                needed.add((namespace, entry.id))
                missing -= shown.joined(read(entry).state)[0].keys()
                entry = thread.entries[namespace].get(entry.parent or "") if missing else None
        return needed

    # ---------------------------------------------------------------- versions and values

    def get_next_version(self, current: str | float | None, channel: None) -> Any:  # noqa: ARG002  LangGraph's shape
        """The version of a channel after a write: the next whole number; one of text, which an import brought, goes on.

        A text begins with the number, with a fraction behind it that LangGraph's own savers draw.
        """
        if isinstance(current, str):
            number, _, fraction = current.partition(".")
            return f"{int(number) + 1:0{len(number)}}" + (f".{fraction}" if fraction else "")
        return 1 if current is None else int(current) + 1

    def _recorded_in(self) -> str | None:
        """The id of the run that records whoever saves a checkpoint now, in the same file; None outside any."""
        scope = here()
        if scope is None or scope.recording.file is None or scope.recording.file != self.path:
            return None
        with suppress(UsageError):  # it has not begun
            return scope.recording.id
        return None

    def _kept(self, value: object) -> tuple[Wire, object]:
        """What is stored of a value, and the value unpacked."""
        return self._values.kept(self.serde, value)

    def _given(self, wire: Wire) -> Any:
        """The value of what is stored."""
        return self._values.given(self.serde, wire)

    def _metadata(self, extra: Mapping[str, Wire]) -> dict[str, Any]:
        found = {name: extra.get(key) for name, key in zip(FACTS, _FACT_KEYS, strict=True)}
        facts = {name: value for name, value in found.items() if value is not None}
        return {**facts, **_mapping(self._given(extra.get(StepFacts.checkpoint_metadata.key, USUAL)))}

    def _tuple(self, thread_id: object, saved: Saved) -> CheckpointTuple:
        values, book = shown.joined(saved.state)
        checkpoint = {
            **_mapping(self._given(book)),
            "id": saved.id,
            "channel_values": {name: self._given(value) for name, value in values.items()},
        }
        stamp = StepFacts(saved.extra).checkpoint_ts
        if stamp is not None:
            checkpoint["ts"] = stamp
        return CheckpointTuple(
            config=_config(thread_id, saved.namespace, saved.id),
            checkpoint=cast("Checkpoint", checkpoint),
            metadata=cast("CheckpointMetadata", self._metadata(saved.extra)),
            parent_config=_config(thread_id, saved.namespace, saved.parent) if saved.parent else None,
            pending_writes=[(write.task, write.channel, self._given(write.value)) for write in saved.writes],
        )


_FACT_KEYS: Final = (StepFacts.source.key, StepFacts.langgraph_step.key)


def _config(thread_id: object, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Damaged("a checkpoint is not as it was stored", hint="`agent-tt verify` says what is damaged.")
    return value


_OPEN: Final[weakref.WeakSet[Threads]] = weakref.WeakSet()


@atexit.register
def _interrupt() -> None:
    """Say of threads that wait for a node that nobody runs it any more."""
    for threads in list(_OPEN):
        threads.close()
