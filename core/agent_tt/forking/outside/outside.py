"""What the process of a fork does outside the fork's recording, written down with the run for its ledger.

Calls that nothing records have no row of their own. Each becomes a note of kind `effect`, whose body is JSON:

| key | says |
|---|---|
| `kind`, `name`, `effect` | what was called, as in a call |
| `happened` | `sent` where it was made, `denied` where it was not. How it ended is not known |
| `because` | who decided: `default`, `you` or a file; left out where nobody had to |
| `when` | `before` the recording, `beside` or `after` it |
| `file`, `line` | where in the agent |
| `run` | id of another run that this process recorded: its calls are to be counted too. Then nothing else is said |
"""

from __future__ import annotations

import json
import threading
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError
from agent_tt.intercepting.run_handoff import run_waits
from agent_tt.recording.calls.site import shown_path
from agent_tt.recording.links import Link, Place
from agent_tt.recording.session import SESSION
from agent_tt.recording.store_work import is_store_at_work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.links import Unrecorded
    from agent_tt.recording.open_run import OpenRun

__all__ = ["Outside"]

_MOST: Final = 1000
_UNCOUNTED: Final = f"the ledger has the first {_MOST:,} calls outside the recording; there were more"


class Outside(Link):
    """Writes down what happens outside the recording. Safe to use from several threads."""

    place = Place.WATCH

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
        self._first: OpenRun | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear of every such call, and of every recording that begins, while the block lasts."""
        with SESSION.joined(self):
            try:
                yield
            finally:
                self._flush()

    def note(self, text: str) -> None:
        """Write a note for people, if there still is where to."""
        self._put("note", text)

    def made_unrecorded(self, call: Unrecorded) -> None:
        """Write down a call that nothing records."""
        with self._lock:
            self._count += 1
            count = self._count
        if count <= _MOST:
            file = call.site.get("file")
            shown = {} if not isinstance(file, str) else {"file": shown_path(file, self._root)}
            self._put("effect", _told(call, {**call.site, **shown}, self._when()))
        elif count == _MOST + 1:
            self._put("note", _UNCOUNTED)

    def run_begun(self, recording: OpenRun) -> None:
        """Write down a run that begins beside or after the fork's."""
        with self._lock:
            first, self._first = self._first, self._first or recording
        if first is not None:
            self._put("effect", json.dumps({"run": recording.id}))

    def _when(self) -> str:
        if run_waits():
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


def _told(call: Unrecorded, site: Mapping[str, Wire], when: str) -> str:
    """A call as it is kept; see the module."""
    facts = {
        "kind": call.kind,
        "name": call.name,
        "effect": call.effect,
        "happened": call.happened,
        "because": call.because,
        "when": when,
        **site,
    }
    return json.dumps({key: fact for key, fact in facts.items() if fact not in (None, "")})
