"""The part of the user's own store that keeps the marks on one file."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from agent_tt.addresses import identity_of
from agent_tt.errors import AgentTTError, StoreBusy
from agent_tt.store.file.locate import own_store_path
from agent_tt.store.foreign_marks import ForeignMarks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.store.foreign_marks import ForeignMark

__all__ = ["MarkBook"]

_LOG = logging.getLogger(__name__)


class MarkBook:
    """The marks on the runs of one file. Safe to use from several threads.

    The own store is looked for when marks are first asked for, opened for reading only, and made when the first mark is
    written. One that cannot be read counts as one without marks: the file itself can still be looked at.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._path: Path | None = None
        self._lock = threading.RLock()
        self._store: ForeignMarks | None = None
        self._unreadable = False
        self._known: tuple[int, Sequence[ForeignMark]] = (0, ())

    def close(self) -> None:
        """Let go of the own store."""
        with self._lock:
            if self._store is not None:
                self._store.close()

    def version(self) -> int:
        """A number that differs after the own store changed; 0 as long as there is none."""
        with self._lock:
            try:
                store = self._reading()
                return 0 if store is None else 1 + store.version()
            except AgentTTError as error:
                self._give_up(error)
                return 0

    def marks(self) -> Sequence[ForeignMark]:
        """All marks on the file, oldest first."""
        with self._lock:
            version = self.version()
            if self._known[0] != version:
                self._known = (version, self._read())
            return self._known[1]

    def writing(self) -> ForeignMarks:
        """The marks, to be changed.

        Raises:
            ReadOnlySource: the own store cannot be made or written.
            StoreUnreadable: it cannot be opened.
        """
        with self._lock:
            if self._store is None or self._store.read_only:
                store = self._open(read_only=False)
                if self._store is not None:
                    self._store.close()
                self._store, self._unreadable, self._known = store, False, (0, ())
            return self._store

    def _reading(self) -> ForeignMarks | None:
        if self._store is None and not self._unreadable and self._place().exists():
            self._store = self._open(read_only=True)
        return self._store

    def _read(self) -> Sequence[ForeignMark]:
        try:
            return () if self._store is None else self._store.all()
        except AgentTTError as error:
            self._give_up(error)
            return ()

    def _give_up(self, error: AgentTTError) -> None:
        """Do not try again, ten times a second, what cannot be read; what is only busy now can soon."""
        if not isinstance(error, StoreBusy):
            self._unreadable = True
            _LOG.warning("marks on %s cannot be read: %s", self._file, error)

    def _place(self) -> Path:
        if self._path is None:
            self._path = own_store_path(self._file)
        return self._path

    def _open(self, *, read_only: bool) -> ForeignMarks:
        return ForeignMarks(self._place(), identity_of(self._file), read_only=read_only)
