"""Which threads cannot hold what is searched for, told from what is stored: that takes a tenth of reading them.

A thread is passed over only where that is certain: where nothing stored of it, and nothing that this reader says
itself, holds what some text would have to hold. What stands with one checkpoint (its row, its values, what tasks wrote
from it) is looked at together, since names and decisions of a step are put together of it; where tasks have no path of
their own, all of the thread is.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.interop.langgraph.rows import column_text
from agent_tt.interop.langgraph.stored_words import StoredWords, Unclear
from agent_tt.interop.langgraph.tasks import NO_TASK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows, WriteRow
    from agent_tt.protocols import Needed

__all__ = ["Sieve", "Stopped"]

_WRITES: Final = "writes"
"""What older metadata of LangGraph calls what nodes wrote."""

_Test: TypeAlias = "int | tuple[str, list[_Test]]"

_WORD: Final = re.compile(r"\w+")
_MARK: Final = "redacted"
_BEGIN: Final = "eyj"
"""What stands in the place of a secret, and how one begins that keeps all but its signature."""

_OF_LOOPS: Final = "loop"
_OF_TASKS: Final = "task"
_OF_ERRORS: Final = "exception"
_OF_ANSWERS: Final = ("not", "in", "the", "database")
"""What the reader names what has no name, and says of an answer that is lost."""

_PULLED: Final = "~__pregel_pull, "
_ASK_EVERY: Final = 256
"""Rows after which it is asked whether to go on."""


class Stopped(Exception):
    """The search was cancelled."""


class Sieve:
    """Takes in what is stored of threads, and knows which of them may hold what is needed.

    Args:
        needed: literals, see `RunSource.may_hold`; each of these is to stand somewhere in a thread.
        cancelled: asked now and then; `Stopped` is raised when it says yes.
    """

    def __init__(self, needed: Iterable[Needed], cancelled: Callable[[], bool] = lambda: False) -> None:
        places: dict[str, int] = {}
        tests = [_test_of(each, places) for each in needed]
        self._tests = [test for test in tests if test is not None]
        self._words = StoredWords(list(places))
        self._all = (1 << len(self._tests)) - 1
        self._said = {
            name: reduce(or_, (1 << place for word, place in places.items() if any(word in each for each in said)), 0)
            for name, said in {"loop": (_OF_LOOPS,), "task": (_OF_TASKS,), "error": (_OF_ERRORS,),
                               "answer": _OF_ANSWERS}.items()
        }  # fmt: skip
        self._counts = [(1 << place, word) for word, place in places.items() if word.isdecimal()]
        self._fulfilled: dict[int, int] = {0: self._fulfilled_by(0)}
        self._met: dict[str, int] = {}
        self._chunks: dict[tuple[str, object], int] = {}
        self._joined: dict[str, int] = {}
        self._told: dict[int, int] = {}
        self._cancelled = cancelled

    @property
    def tells(self) -> bool:
        """Whether it tells anything: what is needed may have no words that can be looked for."""
        return bool(self._tests)

    def holds(self, thread: str) -> bool:
        """Whether a thread may hold what is needed."""
        met = self._met.get(thread, 0)
        if thread in self._joined:
            met |= self._fulfilled_by(self._joined[thread])
        return met == self._all

    # ---------------------------------------------------------------- taking in

    def take_rows(self, threads: Mapping[str, ThreadRows]) -> None:
        """Take in all but the values, before these."""
        for number, (name, thread) in enumerate(threads.items()):
            self._may_go_on(number)
            written = thread.writes
            if any(not _is_pulled(write) for each in written.values() for write in each):
                self._joined[name] = 0
            for key, row in thread.checkpoints.items():
                if row.flaw or row.delta_counts:
                    self._met[name] = self._all
                else:
                    self._take(name, key, self._in_row(row, thread))
            for key, writes in written.items():
                self._take(name, key, self._in_writes(writes))

    def take_checkpoints(self, rows: Iterable[Sequence[object]]) -> None:
        """Take in checkpoints: thread, namespace, id, how the bytes are written, and the bytes."""
        for number, (thread, namespace, name, encoding, blob) in enumerate(rows):
            self._may_go_on(number)
            if isinstance(thread, str) and self._is_open(thread):
                try:
                    self._take(
                        thread, (column_text(namespace), column_text(name)), self._words.in_checkpoint(encoding, blob)
                    )
                except Unclear:
                    self._met[thread] = self._all

    def take_values(self, rows: Iterable[Sequence[object]]) -> None:
        """Take in what tasks wrote: thread, namespace, id, channel, how the bytes are written, and the bytes."""
        for number, (thread, namespace, name, channel, encoding, blob) in enumerate(rows):
            self._may_go_on(number)
            if isinstance(thread, str) and self._is_open(thread):
                key = (column_text(namespace), column_text(name))
                look = self._words.in_error if channel == "__error__" else self._words.in_value
                try:
                    self._take(thread, key, self._words.in_text(column_text(channel)) | look(encoding, blob))
                except Unclear:
                    self._met[thread] = self._all

    def _may_go_on(self, number: int) -> None:
        if number % _ASK_EVERY == 0 and self._cancelled():
            raise Stopped

    def _is_open(self, thread: str) -> bool:
        """Whether more about a thread changes anything."""
        return self._met.get(thread, 0) != self._all

    def _take(self, thread: str, key: object, mask: int) -> None:
        if thread in self._joined:
            self._joined[thread] |= mask
        chunk = self._chunks.get((thread, key), 0) | mask
        if mask:
            self._chunks[thread, key] = chunk
        fulfilled = self._fulfilled.get(chunk)
        if fulfilled is None:
            fulfilled = self._fulfilled[chunk] = self._fulfilled_by(chunk)
        if fulfilled:
            self._met[thread] = self._met.get(thread, 0) | fulfilled

    def _fulfilled_by(self, mask: int) -> int:
        return sum(1 << place for place, test in enumerate(self._tests) if _holds(test, mask))

    # ---------------------------------------------------------------- rows

    def _in_row(self, row: CheckpointRow, thread: ThreadRows) -> int:
        """What the row of a checkpoint shows: its graph, what made it, and what nodes wrote where it says so."""
        mask = self._words.in_text(row.namespace) if row.namespace else 0
        source = row.source
        if source != "loop":
            return mask | self._words.in_text(source)
        if _WRITES not in row.metadata:
            return mask if _has_tasks(row, thread) else mask | self._said["loop"]
        known = self._told.get(id(row.metadata))  # which many rows share
        if known is None:
            known = self._told[id(row.metadata)] = self._in_told(row)
        return mask | known | self._said["loop"]

    def _in_told(self, row: CheckpointRow) -> int:
        mask = self._words.in_wire(row.metadata[_WRITES]) | self._numbers(len(row.told_writes))
        for _, update in row.told_writes:
            for value in update.values():
                mask |= self._words.in_failures(value)
        return mask

    def _in_writes(self, writes: Sequence[WriteRow]) -> int:
        mask = 0
        tasks = set()
        is_pulled = False
        for write in writes:
            tasks.add(write.task_id)
            mask |= self._words.in_text(write.task_path) | self._words.in_text(write.channel)
            if _is_pulled(write):
                is_pulled = True
            else:
                mask |= self._said["task"]
            if write.channel == "__error__":
                mask |= self._said["error"]
            elif write.channel == "__interrupt__":
                mask |= self._said["answer"]
        return mask | self._numbers(len(tasks)) | (0 if is_pulled else self._said["loop"])

    def _numbers(self, tasks: int) -> int:
        """The words that may be in how many tasks a node had, which stands beside its name."""
        return sum(bit for bit, word in self._counts if tasks > 1 and len(word) <= len(str(tasks)))


def _has_tasks(row: CheckpointRow, thread: ThreadRows) -> bool:
    """Whether something was written on the way to a checkpoint, from one that comes before it for certain."""
    key = (row.namespace, row.parent or "")
    return key < row.key and key in thread.checkpoints and key in thread.writes


def _is_pulled(write: WriteRow) -> bool:
    """Whether the path of a task tells which node it ran."""
    path = write.task_path
    return path.startswith(_PULLED) and len(path) > len(_PULLED) and write.task_id != NO_TASK


def _is_of_marks(word: str) -> bool:
    """Whether a word may be part of a mark in the place of a secret, or of a token's signature: nothing tells where."""
    return word in _MARK or word in _BEGIN or _MARK.endswith(word.rstrip("a"))


def _test_of(needed: Needed, places: dict[str, int]) -> _Test | None:
    """What a set of words is asked: bits of words that all stand there, or `AND`, `OR` of several; None for nothing.

    Args:
        needed: literals.
        places: the words and their bits; it takes in those of the literals.
    """
    if not isinstance(needed, list):
        words = [word for word in _WORD.findall(needed or "") if not _is_of_marks(word)]
        bits = {1 << places.setdefault(word, len(places)) for word in words}
        return sum(bits) or None
    sign, *parts = needed
    tests = [_test_of(part, places) for part in parts]
    known = [test for test in tests if test is not None]
    if not known or (sign == "OR" and len(known) < len(tests)):
        return None
    return (str(sign), known)


def _holds(test: _Test, mask: int) -> bool:
    if isinstance(test, int):
        return mask & test == test
    sign, parts = test
    return (all if sign == "AND" else any)(_holds(part, mask) for part in parts)
