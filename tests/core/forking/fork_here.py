"""A fork that this process is, and a listener on loopback that counts who comes."""

from __future__ import annotations

import contextlib
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import agent_tt
from agent_tt.forking.outside.guarding import guarding
from agent_tt.forking.outside.ledger import effects_of
from agent_tt.intercepting.approvals import Approvals
from agent_tt.intercepting.policy import ToolPolicy
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.intercepting.rules import read_rule
from agent_tt.intercepting.run_handoff import RunHandoff
from agent_tt.model import NewFork, NewRun
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project

    from agent_tt.comparing.steps.effects import EffectRow
    from agent_tt.model import Call

__all__ = ["Here", "Listener"]


class Here:
    """A fork that this process is."""

    def __init__(self, project: Project) -> None:
        self.notes: list[str] = []
        self.run_id = ""
        self._project = project

    @contextmanager
    def guarded(self, **rules: str) -> Iterator[None]:
        """The fork under its guard, but outside its recording."""
        policy = ToolPolicy(tuple((name, read_rule(text)) for name, text in rules.items()))
        store, made = self._project.store, self._project.made("agent:main", {"n": 1})
        self.run_id = store.begin_fork(
            NewFork(made.id, 0, state={"n": 1}, new=NewRun(name=""), policy=policy.to_mapping())
        )
        SESSION.start(RunHandoff(store, self.run_id), PolicyEnforcement(policy), Approvals())
        try:
            with guarding(str(self._project.folder), self._write):
                yield
        finally:
            SESSION.start()

    def _write(self, kind: str, body: str) -> None:
        self._project.store.add_note(self.run_id, None, kind, body)
        if kind == "note":
            self.notes.append(body)

    @contextmanager
    def step(self, **rules: str) -> Iterator[None]:
        """The fork in its only step."""
        with self.guarded(**rules), agent_tt.record("agent", state={"n": 1}) as run, run.step("go"):
            yield

    @property
    def calls(self) -> list[Call]:
        """The calls of that step."""
        return self._project.store.calls(self.run_id, 1)

    @property
    def outside(self) -> list[EffectRow]:
        """What happened outside the recording, as its ledger has it."""
        ledger = effects_of(self._project.store, self._project.store.run(self.run_id))
        return [row for row in ledger.rows if row.where]

    @property
    def reads(self) -> dict[str, int]:
        """How often what only reads was called, in the recording and outside of it."""
        return dict(effects_of(self._project.store, self._project.store.run(self.run_id)).reads)

    @property
    def said(self) -> list[tuple[str, str, str]]:
        """Kind, name and status of each."""
        return [(call.kind, call.name, call.status) for call in self.calls]


class Listener:
    """Hears who connects on loopback. `127.1` names it so that the name has to be looked up."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        self.address = ("127.0.0.1", self.port)

    def heard(self) -> int:
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                self.socket.accept()[0].close()
                count += 1
        return count
