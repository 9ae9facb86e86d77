"""Which of a process's recordings a run is.

A script that asks its agent several questions may record a run for each; a replay of any of them starts the whole
script again (`agent_tt.replaying.tape.siblings`).
"""

from __future__ import annotations

import os
import secrets
import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agent_tt.model.facts import ProcessFacts, RunFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["number_around_all", "number_of_this_run", "process_of", "said_of_every_run", "say_of_every_run"]


class _Process:
    """This process, as the runs that it records name it."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self.lock = threading.Lock()
        self.token = secrets.token_hex(8)
        self.begun = 0

    also: Mapping[str, Wire] = MappingProxyType({})


_PROCESS: Final = _Process()


def number_of_this_run() -> dict[str, Wire]:
    """A recording begins: what its metadata say of its process."""
    with _PROCESS.lock:
        _PROCESS.begun += 1
        return ProcessFacts.of_run(_PROCESS.token, _PROCESS.begun)


def number_around_all() -> dict[str, Wire]:
    """What the metadata say of a recording of all that its process does outside of the program's own recordings."""
    return ProcessFacts.of_run(_PROCESS.token, 0)


def say_of_every_run(facts: Mapping[str, Wire]) -> None:
    """Let the metadata of every run that begins in this process say these facts too."""
    _PROCESS.also = facts


def said_of_every_run() -> Mapping[str, Wire]:
    """What the metadata of a run that begins now say too."""
    return _PROCESS.also


def process_of(metadata: Mapping[str, Wire]) -> tuple[str | None, int]:
    """The process that recorded a run, and which of its recordings the run is; None and 1 where nobody said."""
    said = RunFacts.process.of(metadata)
    token, number = said.id, said.run
    return (token, number) if token is not None and number is not None else (None, 1)
