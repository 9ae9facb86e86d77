"""Small recordings for the tests of the store."""

from __future__ import annotations

import functools
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from agent_tt.history.log import append
from agent_tt.history.log.keyframes import KeyframePolicy
from agent_tt.model import AgentCode, CallEnd, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.store import SqliteStore, open_store

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from agent_tt.model import Effect
    from agent_tt.protocols import RunWriter

AGENT = AgentCode(entry="tests.agent:main", version="1")


def new_store(folder: Path, name: str = "runs.db") -> SqliteStore:
    """A store that trades its durability for the tests' time."""
    return open_store(folder / name, create=True, durability="normal")


def many_keyframes(monkeypatch: pytest.MonkeyPatch, rows: int = 5, weight: int = 1 << 40) -> None:
    """From now on keyframes come after so many rows, or bytes of rows."""
    policy = functools.partial(KeyframePolicy, most_rows=rows, least_weight=weight)
    monkeypatch.setattr(append, "KeyframePolicy", policy)


def begin(store: SqliteStore, state: object, name: str = "demo", **facts: Any) -> RunWriter:
    return store.begin_run(NewRun(name, code=AGENT, **facts), state)


def step(writer: RunWriter, state: object, name: str = "step", *, track: str = "main", **end: Any) -> int:
    number = writer.open_step(NewStep(name))
    writer.close_step(number, StepEnd(end.pop("status", "ok"), **end), state, track=track)
    return number


def call(
    writer: RunWriter,
    number: int,
    args: Any,
    result: Any,
    *,
    name: str = "search",
    effect: Effect | None = "read",
    **end: Any,
) -> int:
    """A call that was answered; its signature says what it asks."""
    intent = NewCall(
        "tool", name, args, blake2b(repr((name, args)).encode(), digest_size=16).hexdigest(), effect=effect
    )
    made = writer.begin_call(number, intent)
    writer.end_call(number, made, CallEnd(end.pop("status", "ok"), result, **end))
    return made


def chat(store: SqliteStore, steps: int, name: str = "chat") -> str:
    """A finished run whose checkpoint k holds k messages and the number k."""
    state: dict[str, Any] = {"messages": [], "n": 0}
    writer = begin(store, state, name)
    for number in range(1, steps + 1):
        made = writer.open_step(NewStep("chat"))
        call(writer, made, {"n": number}, {"found": number})
        state["messages"].append({"role": "user", "content": f"message {number}"})
        state["n"] = number
        writer.close_step(made, StepEnd("ok", tokens_in=2, cost_usd=0.5), state)
    writer.finish("succeeded")
    return writer.run_id


def fork(store: SqliteStore, parent: str, at: int, state: Any, name: str = "") -> tuple[str, RunWriter]:
    """A fork that its agent has taken over."""
    fork_id = store.begin_fork(NewFork(parent, at, state=state, new=NewRun(name, code=AGENT)))
    return fork_id, store.adopt_run(fork_id, NewRun("demo", code=AGENT), state)
