"""What a file of transcripts held at one moment: its runs, those that were promised told when they are asked for."""

from __future__ import annotations

import time
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.codec.collector import collector_paused
from agent_tt.interop.kept import Kept
from agent_tt.interop.transcripts.document import Document, read_beginning, read_document, too_large
from agent_tt.interop.transcripts.formats import read_transcripts
from agent_tt.interop.transcripts.kept_list import beginning_of, identity_of, kept_list
from agent_tt.interop.transcripts.kept_steps import keep_steps, kept_steps
from agent_tt.interop.transcripts.stamps import TICK_NS, UNKNOWN, stamp_beside, stamp_of
from agent_tt.interop.transcripts.told_run import told_run
from agent_tt.interop.transcripts.transcript import Promise, Transcript
from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agent_tt.interop.transcripts.stamps import Stamp
    from agent_tt.interop.transcripts.told_run import ToldRun
    from agent_tt.model import Run

__all__ = ["Contents", "Found"]

_STEPS_KEPT: Final = 4_000
"""Steps of promised runs that are kept, together."""

Found: TypeAlias = "Callable[[Path], tuple[Document | None, Sequence[Transcript | Promise] | None]]"
"""Reads a file, and the runs in it."""


def _found_in(path: Path) -> tuple[Document | None, Sequence[Transcript | Promise] | None]:
    document = read_document(path)
    found = None if document is None else read_transcripts(document)
    beginning = None if found or document is None or not document.is_large else read_beginning(document)
    if beginning is None:
        return document, found
    found = read_transcripts(beginning)
    for told in found or ():
        if beginning.left_out and isinstance(told, Transcript):
            told.metadata |= RunFacts.parts_left_out.entry(beginning.left_out)
    return beginning if found else document, found


class Contents:
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

    def __init__(self, path: Path, before: Contents | None = None, found: Found | None = None) -> None:
        self._path, self._found = path, found or _found_in
        self._watched: tuple[Path, ...] = ()
        self.stamp = self.look()
        self.identity, self._beginning = identity_of(path), beginning_of(path)
        self._runs: dict[str, Run] = {}
        self._whole: dict[str, ToldRun] = {}
        self._promises: dict[str, Promise] = {}
        self._told: Kept[ToldRun] = Kept(_STEPS_KEPT, lambda told: len(told.steps))
        self._latest: ToldRun | None = None
        self._flaws_of: Document | None = None
        self._keeping: list[Thread] = []
        self._is_whole = before is None and found is None
        """Whether what is known of the file may be kept: what grows is another file by the next time."""
        kept = kept_list(path, self.identity) if found is None else None
        self._is_kept = self._is_unread = kept is not None
        self._runs = {run.id: run for run in kept or ()}
        self.ids = [*self._runs]
        if not self._is_unread:
            self._read(before)
            self._is_whole = self._is_whole and len(self.stamp) == 1  # what is in several files may change in another
            self._is_kept = not self._is_whole

    def look(self) -> Stamp:
        """What the file looks like from outside now, with what was read beside it."""
        return stamp_of(self._path), *filter(any, map(stamp_beside, self._watched))

    def check(self) -> None:
        """Read the file if only what was kept of it is known."""
        if self._is_unread:
            self._read()
            self._latest = None

    @property
    def flaws(self) -> tuple[str, ...]:
        """What of it could not be read, in words, where no run tells it; after `check`."""
        return () if self._flaws_of is None else tuple(map(str, self._flaws_of.seen_flaws))

    def run(self, run_id: str) -> Run:
        """A run; a promised one is told once, and kept without its steps."""
        if run_id not in self._runs:
            self._runs[run_id] = self.told(run_id).run
        return self._runs[run_id]

    def told(self, run_id: str) -> ToldRun:
        """A run with its steps; a promised one is told now unless it still is known."""
        if self._latest is None or self._latest.run.id != run_id:
            self._latest = None  # which alone may have more steps than are kept
            self._latest = self._found_again(run_id)
        return self._latest

    def settle(self) -> None:
        """Wait until what is kept for the next time is kept."""
        while self._keeping:
            self._keeping.pop().join()

    def _found_again(self, run_id: str) -> ToldRun:
        known = kept_steps(self._path, self.identity, self._runs.get(run_id)) if self._is_unread else None
        if known is not None:
            return known
        if self._is_unread:
            self._read()
        if run_id not in self._promises:
            return self._whole[run_id]
        return self._told.get(run_id, lambda: self._tell(self._promises[run_id]))

    def _tell(self, promise: Promise) -> ToldRun:
        with collector_paused():  # which would take a third of the time
            told = told_run(self._path, promise.tell())
        if told.transcript.rows is not None and self._is_whole:
            keeping = Thread(target=keep_steps, args=(self._path, self.identity, told), name="agent-tt keeps steps")
            self._keeping.append(keeping)
            keeping.start()  # while they are looked at already
        return told

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

    def _read(self, before: Contents | None = None) -> None:
        self._is_unread = False
        began_ns = time.time_ns()
        with collector_paused():
            document, found = self._found(self._path)
        self._watched = () if document is None else tuple(document.watched)
        # What was written while it was read is read again.
        beside = [each if each[0] < began_ns - TICK_NS else UNKNOWN for each in self.look()[1:]]
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
            whole = [told_run(self._path, each) for each in found if isinstance(each, Transcript)]
        self._whole = {told.run.id: told for told in whole}
        order = [(told.run.started_us, told.run.parent is not None, told.run.id) for told in whole]
        order += [(promise.began_us, False, promise.id) for promise in self._promises.values()]
        order.sort(key=lambda each: each[:2], reverse=True)
        self.ids = list(dict.fromkeys(run_id for _, _, run_id in order))
        tells = any(told.transcript.flaws for told in whole)
        self._flaws_of = None if tells else document
