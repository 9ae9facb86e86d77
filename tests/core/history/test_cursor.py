"""Standing at one checkpoint after another: the state is that of a load, also around what cannot be read."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.core.history.logs import MemoryLog

from agent_tt.errors import CorruptDelta, Damaged, StepNotFound
from agent_tt.history.changes.large_parts import LARGE_TEXT
from agent_tt.history.log import cursor as cursors
from agent_tt.history.log.cursor import TrackCursor
from agent_tt.history.log.log import RowOps
from agent_tt.history.log.states import RollingState, load
from agent_tt.history.payloads.damage import apply_around, find_placeholder, is_placeholder, placeholder
from agent_tt.history.rows import row_key

LARGE = "large " * LARGE_TEXT


def track(**policy: int) -> MemoryLog:
    """Track 1 with 30 checkpoints; track 2 goes on from an edit of its 20th."""
    log = MemoryLog(**policy)
    log.track_of({"n": n, "grown": [*range(n)], "last": f"{LARGE}{n}" if n in (7, 8, 22) else n} for n in range(30))
    writer = log.fork(1, 20, {"n": -20, "grown": [], "edited": True})
    for n in range(21, 26):
        log.step(writer, {"n": -n, "grown": [*range(n)], "edited": True})
    return log


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("undo", "roll"), [(4096, 256), (3, 256), (4096, 2), (2, 4)])
def test_any_way_through_a_track_gives_the_states_of_a_load(
    monkeypatch: pytest.MonkeyPatch, seed: int, undo: int, roll: int
) -> None:
    monkeypatch.setattr(cursors, "_MOST_UNDO", undo)
    monkeypatch.setattr(cursors, "_LONGEST_ROLL", roll)
    choose = random.Random(seed)
    log = track(rows=choose.choice([6, 128]))
    number = choose.choice([1, 2])
    last = 29 if number == 1 else 25
    truth = [load(log.fresh(), number, seq).value for seq in range(last + 1)]
    standing = TrackCursor(log.fresh(), number, choose.randrange(last + 1))
    at = last
    for _ in range(25):
        near = min(max(at + choose.randrange(-3, 4), 0), last)
        at = choose.choice([near, near, choose.randrange(last + 1)])
        assert standing.seek(at) == truth[at], (number, at)
        assert standing.value == truth[at]


def test_going_back_over_rows_that_were_applied_reads_nothing() -> None:
    log = track()
    standing = TrackCursor(log.fresh(), 1, 3)
    standing.seek(15)
    log.rows.asked.clear()
    for seq in (14, 9, 4, 3):
        assert standing.seek(seq)["n"] == seq  # type: ignore[index, call-overload]
    assert len(log.rows.asked) <= 4  # whether there is such a checkpoint
    standing.seek(2)
    log.rows.asked.clear()
    assert standing.seek(1)["n"] == 1  # type: ignore[index, call-overload]
    assert len(log.rows.asked) <= 1


@pytest.mark.parametrize("rows", [5, 128])
def test_around_a_part_that_is_lost_every_checkpoint_is_what_a_load_gives(rows: int) -> None:
    log = track(rows=rows)
    names = {row[0] for seq in (7, 22) for row in log.rows.query(
        "SELECT refs FROM deltas WHERE id = ?", (row_key(1, seq),)
    )}  # fmt: skip
    for name in names:
        log.rows.connection.execute("DELETE FROM blobs WHERE hash = ?", (name,))
    choose = random.Random(rows)
    standing = TrackCursor(log.fresh(), 1, 0)
    for at in [*range(30), *range(29, -1, -1), *(choose.randrange(30) for _ in range(30))]:
        found: Any = standing.seek(at)
        assert found == load(log.fresh(), 1, at).value
        assert is_placeholder(found["last"]) is (at in (7, 22))
        assert found["n"] == at


def test_where_rows_cannot_be_read_it_goes_on_elsewhere() -> None:
    log = track(rows=6)
    log.rows.connection.execute("UPDATE deltas SET ops = x'00' WHERE id = ?", (row_key(1, 13),))
    standing = TrackCursor(log.fresh(), 1, 11)
    for _ in range(2):
        for lost in (13, 15):
            with pytest.raises(Damaged, match="checkpoint 13 of track 1"):
                standing.seek(lost)
        for seq in (12, 20, 11, 25):
            assert standing.seek(seq)["n"] == seq  # type: ignore[index, call-overload]
    with pytest.raises(StepNotFound):
        standing.seek(30)
    assert standing.value["n"] == 25  # type: ignore[index, call-overload]


# ---------------------------------------------------------------- placeholders

LOST = placeholder("lost")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (1, None),
        ({"a": [1, {"b": "damaged"}], "$type": "tuple"}, None),
        (LOST, ()),
        ([0, LOST], (1,)),
        ({"a": 1, "b": {"c": [0, [LOST]]}}, ("b", "c", 1, 0)),
        ([[[]], {"x": {}}], None),
    ],
)
def test_what_cannot_be_read_is_found_wherever_it_is(value: Any, path: Any) -> None:
    assert find_placeholder(value) == path
    assert is_placeholder(value) is (path == ())


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (["s", ["ok"], 2], {"ok": 2, "lost": LOST}),
        (["s", ["lost"], 2], {"ok": 1, "lost": 2}),
        (["s", ["lost", "x"], 2], {"ok": 1, "lost": LOST}),
        (["s", ["lost", "x", 0], 2], {"ok": 1, "lost": LOST}),
        (["d", ["lost"]], {"ok": 1}),
        (["d", ["lost", "x"]], {"ok": 1, "lost": LOST}),
        (["a", ["lost"], 3, [1]], {"ok": 1, "lost": LOST}),
        (["x", ["lost"], 3, 1, []], {"ok": 1, "lost": LOST}),
        (["t", ["lost"], 3, "x"], {"ok": 1, "lost": LOST}),
        (["o", ["lost"], ["x"]], {"ok": 1, "lost": LOST}),
        (["o", [], ["lost", "ok"]], {"lost": LOST, "ok": 1}),
        (["m", ["lost"], ["there"]], {"ok": 1, "there": LOST}),
        (["m", ["lost", "x"], ["there"]], {
            "ok": 1, "lost": LOST, "there": placeholder("it was moved out of a damaged value")
        }),
        (["m", ["ok"], ["there"]], {"lost": LOST, "there": 1}),
    ],
)  # fmt: skip
def test_what_was_done_in_a_lost_value_is_left_out_and_all_else_is_done(op: Any, expected: Any) -> None:
    before = {"ok": 1, "lost": placeholder("lost")}
    assert apply_around(before, [op]) == expected
    state = RollingState({"ok": 1, "lost": placeholder("lost")}, whole=False)
    state.apply(RowOps(1, [op]))
    assert (state.value, state.whole) == (expected, False)


@pytest.mark.parametrize("op", [["a", ["ok"], 0, [1]], ["d", ["nowhere"]], ["s", ["nowhere", "x"], 1]])
def test_what_does_not_fit_a_readable_part_is_an_error_there_too(op: Any) -> None:
    with pytest.raises(CorruptDelta):
        apply_around({"ok": 1, "lost": placeholder("lost")}, [op])
    with pytest.raises(CorruptDelta):
        RollingState({"ok": 1}).apply(RowOps(1, [op]))


def test_a_whole_state_takes_placeholders_of_a_recording_for_what_they_are() -> None:
    state = RollingState({"a": {"$type": "damaged", "why": "x", "$v": None}})
    state.apply(RowOps(1, [["s", ["a", "y"], 1]]))
    assert state.value == {"a": {"$type": "damaged", "why": "x", "$v": None, "y": 1}}
    state.apply(RowOps(2, [["s", ["b"], 1]], whole=False))
    assert not state.whole
