"""What the process of a fork does outside the fork's recording, written down with the run for its ledger.

Calls that nothing records are told by `agent_tt.recording.unrecorded`; each becomes a note of kind `effect`. Another
run that the process records, beside the fork's or after it, is named there, too: its calls are part of the ledger.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError
from agent_tt.recording.adoption import is_offered
from agent_tt.recording.begun import told_of_begun
from agent_tt.recording.call_site import shown_path
from agent_tt.recording.scope import is_store_at_work
from agent_tt.recording.unrecorded import telling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.recording.recorder import Recording
    from agent_tt.recording.unrecorded import Unrecorded

__all__ = ["Outside"]

_MOST: Final = 1000
_UNCOUNTED: Final = f"the ledger has the first {_MOST:,} calls outside the recording; there were more"


class Outside:
    """Writes down what happens outside the recording. Safe to use from several threads."""

    def __init__(self, write: Callable[[str, str], object], root: str | None) -> None:
        """Begin.

        Args:
            write: adds a note to the fork's run: its kind and its body.
            root: the project root, relative to which files are named.
        """
        self._root = root
        self._write = write
        self._lock = threading.Lock()
        self._waiting: deque[tuple[str, str]] = deque()
        self._count = 0
        self._first: Recording | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear of every such call, and of every recording that begins, while the block lasts."""
        with telling(self._called), told_of_begun(self._begun):
            try:
                yield
            finally:
                self._flush()

    def note(self, text: str) -> None:
        """Write a note for people, if there still is where to."""
        self._put("note", text)

    def _called(self, call: Unrecorded) -> None:
        with self._lock:
            self._count += 1
            count = self._count
        if count <= _MOST:
            file = call.site.get("file")
            shown = {} if not isinstance(file, str) else {"file": shown_path(file, self._root)}
            self._put("effect", replace(call, site={**call.site, **shown}).to_text(self._when()))
        elif count == _MOST + 1:
            self._put("note", _UNCOUNTED)

    def _begun(self, recording: Recording) -> None:
        with self._lock:
            first, self._first = self._first, self._first or recording
        if first is not None:
            self._put("effect", json.dumps({"run": recording.id}))

    def _when(self) -> str:
        if is_offered():
            return "before"
        return "beside" if self._first is not None and self._first.is_open else "after"

    def _put(self, kind: str, body: str) -> None:
        self._waiting.append((kind, body))
        if not is_store_at_work():  # a finalizer that runs inside the store's own work must not begin another
            self._flush()

    def _flush(self) -> None:
        while self._waiting:
            with suppress(IndexError, AgentTTError):
                self._write(*self._waiting.popleft())
