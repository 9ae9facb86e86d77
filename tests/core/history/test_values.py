"""One value of a state, and states that share parts: always what a load of the whole state gives, damage included."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.history.logs import MemoryLog

from agent_tt.codec.paths import get
from agent_tt.codec.sameness import identical
from agent_tt.errors import Damaged, PathNotFound, StepNotFound
from agent_tt.history.changes.large_parts import LARGE_TEXT
from agent_tt.history.log.index import BLOCK
from agent_tt.history.log.states import load
from agent_tt.history.log.values import is_there, value_at
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.history.rows import row_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place of a value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        yield from places(item, (*path, step))


def change(drawn: random.Random, state: dict[str, Any]) -> None:
    """Do to a state what agents do, and what they do seldom."""
    messages, plan = state["messages"], state["plan"]
    large = "large " * LARGE_TEXT
    for _ in range(drawn.randrange(1, 4)):
        kind = drawn.randrange(11)
        if kind < 4:
            messages.append(drawn.choice([drawn.randrange(9), {"text": "said", "parts": [1, {"n": 2}]}, large]))
        elif kind == 4 and messages:
            messages.pop(drawn.randrange(len(messages)))
        elif kind == 5 and messages:
            messages[drawn.randrange(len(messages))] = {"text": large, "parts": [drawn.randrange(5)]}
        elif kind == 6:
            plan[drawn.choice("abc")] = {"k": drawn.randrange(9), "large": large, "list": [drawn.randrange(4)]}
        elif kind == 7:
            plan.pop(drawn.choice("abc"), None)
        elif kind == 8:
            state["text"] += "word " * drawn.randrange(3)
        elif kind == 9 and plan:
            drawn.choice(list(plan.values()))["list"].append(1.0)
        else:
            state["wide"] = {f"key {n}": drawn.randrange(9) for n in range(drawn.choice([3, 200]))}
    if drawn.random() < 0.03:
        state["messages"] = []


def history(seed: int) -> tuple[MemoryLog, list[tuple[int, int]], random.Random]:
    """Some tracks, a fork among them, each with its last checkpoint; the index knows all of them or a part."""
    drawn = random.Random(seed)
    log = MemoryLog(rows=drawn.choice([5, 17, 128]))
    state: dict[str, Any] = {"messages": [], "plan": {}, "text": "a text that will grow ", "wide": {}}
    writer = log.begin(state)
    last = drawn.choice([20, 150])
    for _ in range(last):
        change(drawn, state)
        log.step(writer, state)
        if writer.seq % BLOCK == BLOCK - 1:
            writer.flush(log.tx)
    if drawn.random() < 0.5:
        writer.flush(log.tx)
    at = drawn.randrange(last)
    state = load(log.fresh(), writer.track, at).value  # type: ignore[assignment]
    change(drawn, state)
    fork = log.fork(writer.track, at, state)
    for _ in range(drawn.randrange(20)):
        change(drawn, state)
        log.step(fork, state)
    return log, [(writer.track, last), (fork.track, fork.seq)], drawn


@pytest.mark.parametrize("seed", range(8))
def test_whatever_was_read_before_a_value_and_a_shared_state_are_those_of_a_load(seed: int) -> None:
    log, tracks, drawn = history(seed)
    warm = log.fresh()
    for _ in range(15):
        track, last = drawn.choice(tracks)
        seq = drawn.randrange(last + 1)
        truth = load(log.fresh(), track, seq).value
        assert identical(load(warm, track, seq, shared=True).value, truth)
        every = [*places(truth)]
        for path in drawn.sample(every, min(8, len(every))):
            assert identical(value_at(drawn.choice([warm, log.fresh()]), track, seq, path), get(truth, path))
        for path in drawn.sample(every, min(8, len(every))):
            for asked in (path, (*path, "no"), (*path, 0), (*path, 999), (*path[:-1], "plan")):
                assert is_there(drawn.choice([warm, log.fresh()]), track, seq, asked) == has(truth, asked), asked
        mine: Any = load(warm, track, seq).value
        change(drawn, mine)  # it is the caller's own
        assert identical(load(warm, track, seq).value, truth)
        with pytest.raises(PathNotFound):
            value_at(warm, track, seq, ("messages", len(truth["messages"])))  # type: ignore[index, call-overload]
        with pytest.raises(PathNotFound):
            value_at(warm, track, seq, ("nothing", "here"))


def has(value: Any, path: Path) -> bool:
    try:
        get(value, path)
    except PathNotFound:
        return False
    return True


def chat(steps: int = 300) -> MemoryLog:
    log = MemoryLog(rows=128)
    state: dict[str, Any] = {"messages": [], "n": 0, "seldom": 0}
    writer = log.begin(state)
    for step in range(1, steps + 1):
        state["messages"] += [{"id": 2 * step - 2, "text": "said " * 20}, {"id": 2 * step - 1, "text": "and " * 20}]
        state["n"] = step
        if step % 100 == 0:
            state["seldom"] = step
        log.step(writer, state)
        if step % BLOCK == BLOCK - 1:
            writer.flush(log.tx)
    return log


def rows_read(log: MemoryLog, path: Path, seq: int) -> list[str]:
    reader = log.fresh()
    log.rows.asked.clear()
    value_at(reader, 1, seq, path)
    return [asked for asked in log.rows.asked if "FROM deltas" in asked]


def test_of_a_value_that_changes_at_every_step_one_row_is_read() -> None:
    log = chat()
    assert len(rows_read(log, ("n",), 250)) <= 3  # all of them that one


def test_items_of_lists_that_only_grew_are_the_same_objects_in_states_that_share() -> None:
    log = chat().fresh()
    first: Any = load(log, 1, 150, shared=True).value
    second: Any = load(log, 1, 290, shared=True).value
    assert sum(one is other for one, other in zip(first["messages"], second["messages"], strict=False)) >= 200
    mine: Any = load(log, 1, 150).value
    assert not any(one is other for one, other in zip(mine["messages"], second["messages"], strict=False))


def test_a_wrong_index_gives_no_wrong_value() -> None:
    log = chat()
    log.rows.connection.execute("UPDATE changes SET touched = 0, struct = 0, grown = 1, len0 = 0")
    reader = log.fresh()
    for seq in (3, 130, 299):
        truth: Wire = load(log.fresh(), 1, seq).value
        for path in [*places(truth)][:: max(1, seq // 20)]:
            assert identical(value_at(reader, 1, seq, path), get(truth, path))


@pytest.mark.parametrize("column", ["digest", "ops", "size"])
def test_a_damaged_row_is_named_where_the_value_needs_it(column: str) -> None:
    log = chat(100)
    log.rows.connection.execute(
        f"UPDATE deltas SET {column} = ? WHERE id = ?",  # our own
        (5 if column == "size" else b"x" * 16, row_key(1, 60)),
    )
    with pytest.raises(Damaged, match="checkpoint 60 of track 1"):
        value_at(log.fresh(), 1, 60, ("n",))
    with pytest.raises(Damaged, match="checkpoint 60 of track 1"):
        value_at(log.fresh(), 1, 99, ("seldom",))
    assert value_at(log.fresh(), 1, 99, ("n",)) == 99
    with pytest.raises(StepNotFound):
        value_at(log.fresh(), 1, 101, ("n",))


def test_a_blob_that_cannot_be_read_is_a_placeholder_and_is_not_remembered_as_one() -> None:
    log = MemoryLog()
    log.track_of([{"text": "large " * LARGE_TEXT, "n": 1}, {"text": "large " * LARGE_TEXT, "n": 2}])
    reader = log.fresh()
    (kept,) = log.rows.connection.execute("SELECT data FROM blobs").fetchall()
    log.rows.connection.execute("UPDATE blobs SET data = ?", (kept[0][:-9] + b"damaged!!",))
    assert is_placeholder(value_at(reader, 1, 1, ("text",)))
    log.rows.connection.execute("UPDATE blobs SET data = ?", kept)
    assert value_at(reader, 1, 1, ("text",)) == "large " * LARGE_TEXT
