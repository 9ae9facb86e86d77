"""The rows of a log: read one by one, in stretches and through the tracks that a fork goes back to."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.history.logs import MemoryLog
from tests.core.store.rows import insert

from agent_tt.errors import CorruptDelta, Damaged, StepNotFound
from agent_tt.history.changes.large_parts import LARGE_TEXT
from agent_tt.history.log.log import Segment
from agent_tt.history.log.pages import PAGE
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.history.payloads.frames import MOST_PLAIN
from agent_tt.history.rows import row_key
from agent_tt.store.tables.definitions import DELTAS

if TYPE_CHECKING:
    from agent_tt.history.log.log import StateLog

LAST = 2 * PAGE + 9
LARGE = "large " * LARGE_TEXT


@pytest.fixture(scope="module")
def made() -> MemoryLog:
    """Track 1 with 0 to LAST; 2, a fork of it at 10; 3, a fork of that at 12; 4, of 2 at 10; 5, of 1 at 0."""
    log = MemoryLog()
    log.track_of(range(LAST + 1))
    for parent, seq, edited, further in ((1, 10, -1, 4), (2, 12, -2, 3), (2, 10, -3, 1), (1, 0, -4, 2)):
        writer = log.fork(parent, seq, edited)
        for number in range(further):
            log.step(writer, 100 * edited - number)
    return log


TRACKS = {
    (1, 3): [(1, 0, 3)],
    (2, 14): [(1, 0, 10), (2, 10, 14)],
    (2, 10): [(1, 0, 10), (2, 10, 10)],
    (2, 9): [(1, 0, 9), (2, 10, 9)],
    (3, 15): [(1, 0, 10), (2, 10, 12), (3, 12, 15)],
    (3, 11): [(1, 0, 10), (2, 10, 11), (3, 12, 11)],
    (4, 11): [(1, 0, 10), (2, 10, 10), (4, 10, 11)],
    (5, 2): [(1, 0, 0), (5, 0, 2)],
}


@pytest.mark.parametrize(("place", "expected"), TRACKS.items(), ids=str)
def test_a_fork_goes_back_through_its_parents_as_far_as_they_are_its_own(
    made: MemoryLog, place: tuple[int, int], expected: list[tuple[int, int, int]]
) -> None:
    log = made.fresh()
    for _ in range(2):
        assert log.segments(*place) == [Segment(*each) for each in expected]


def test_the_first_row_of_a_track_is_that_of_its_fork(made: MemoryLog) -> None:
    firsts = {1: 0, 2: 10, 3: 12, 4: 10, 5: 0}
    for track, first in firsts.items():
        for seq in (0, 1, 9, 10, 11, 12, 13):
            assert made.log.begins_with(row_key(track, seq)) is (seq == first)
    assert [made.log.last_seq(track) for track in (1, 2, 3, 4, 5, 6)] == [LAST, 14, 15, 11, 2, None]


def test_a_checkpoint_ends_with_the_row_of_the_youngest_track_that_has_it(made: MemoryLog) -> None:
    for track, seq, owner in (
        (1, 10, 1),
        (2, 10, 2),
        (2, 9, 1),
        (3, 12, 3),
        (3, 11, 2),
        (3, 3, 1),
        (4, 10, 4),
        (5, 0, 5),
    ):
        row = made.fresh().head(track, seq)
        assert (row.track, row.seq, row.proven) == (owner, seq, True)
        assert row.what == f"checkpoint {seq} of track {owner}"
        assert (row.digest, row.chain) == made.rows.query(
            "SELECT digest, chain FROM deltas WHERE id = ?", (row_key(owner, seq),)
        )[0]
    for track, seq in ((1, LAST + 1), (2, 15), (3, 16)):
        with pytest.raises(StepNotFound, match=f"there is no checkpoint {seq} on track {track}"):
            made.log.head(track, seq)


def test_a_track_that_is_not_there_or_was_changed_is_damage(made: MemoryLog) -> None:
    with pytest.raises(Damaged, match="track 77 is missing") as caught:
        made.log.segments(77, 0)
    assert "agent-tt verify" in caught.value.hint
    log = MemoryLog()
    log.track_of([1])
    log.rows.connection.execute("UPDATE tracks SET name = 'other'")
    with pytest.raises(Damaged, match="track 1 is damaged: its row is not as it was written"):
        log.fresh().segments(1, 0)


@pytest.mark.parametrize(("parent", "fork_seq"), [("x", 0), (1, "x"), (-1, 0), (1, -1), (0.5, 0)])
def test_a_track_whose_origin_is_no_number_is_damage(parent: Any, fork_seq: Any) -> None:
    log = MemoryLog()
    log.track_of([1])
    insert(log.tx, "tracks", run=2, name="odd", parent=parent, fork_seq=fork_seq, indexed_to=-1, dict=0)
    with pytest.raises(Damaged, match="track 2 is damaged"):
        log.fresh().segments(2, 0)


def test_a_track_that_descends_from_itself_is_damage() -> None:
    log = MemoryLog()
    insert(log.tx, "tracks", run=1, name="a", parent=2, fork_seq=0, indexed_to=-1, dict=0)
    insert(log.tx, "tracks", run=2, name="b", parent=1, fork_seq=0, indexed_to=-1, dict=0)
    with pytest.raises(Damaged, match="track 2 descends from itself, or from too many others"):
        log.fresh().segments(2, 0)


# ---------------------------------------------------------------- stretches


def values(log: StateLog, track: int, first: int, last: int) -> list[tuple[int, Any]]:
    return [(row.seq, row.ops[-1][2]) for row in log.operations(track, first, last)]


@pytest.mark.parametrize("seed", range(3))
def test_any_stretch_of_rows_is_read_whatever_was_read_before(made: MemoryLog, seed: int) -> None:
    choose = random.Random(seed)
    log = made.fresh()
    ends = [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE - 1, 2 * PAGE, LAST]
    for _ in range(12):
        first, last = sorted(choose.choice([choose.choice(ends), choose.randrange(LAST + 1)]) for _ in range(2))
        expected = [(seq, seq) for seq in range(first, last + 1)]
        assert values(log, 1, first, last) == expected
        assert [(row.seq, log.ops(row).ops[-1][2]) for row in log.scan(1, first, last)] == expected
    assert values(log, 1, 5, 4) == []
    assert [*log.scan(1, 5, 4)] == []


def test_a_whole_page_is_read_from_the_file_once_and_no_other(made: MemoryLog) -> None:
    log = made.fresh()
    for first, last, reads in (
        (0, PAGE - 1, 1),
        (0, PAGE - 1, 0),
        (5, 9, 0),
        (PAGE, PAGE + 3, 1),
        (PAGE, PAGE + 3, 1),
        (PAGE - 2, 2 * PAGE - 1, 1),
        (0, 2 * PAGE - 1, 0),
        (0, LAST, 1),
        (2 * PAGE, LAST, 1),
    ):
        made.rows.asked.clear()
        assert values(log, 1, first, last) == [(seq, seq) for seq in range(first, last + 1)]
        assert sum("FROM deltas" in asked for asked in made.rows.asked) == reads, (first, last)


@pytest.mark.parametrize("gone", [0, 3, PAGE - 1, PAGE, PAGE + 4])
def test_a_row_that_is_missing_is_said_and_those_before_it_are_read(gone: int) -> None:
    log = MemoryLog()
    log.track_of(range(PAGE + 5))
    log.rows.connection.execute("DELETE FROM deltas WHERE id = ?", (row_key(1, gone),))
    reader = log.fresh()
    for _ in range(2):
        for rows in (reader.operations(1, 0, PAGE + 4), reader.scan(1, 0, PAGE + 4)):
            seen: list[int] = []
            with pytest.raises(Damaged, match=f"checkpoint {gone} of track 1 is missing") as caught:
                seen.extend(row.seq for row in rows)
            assert "agent-tt verify" in caught.value.hint
            assert seen == [*range(gone)]
    assert values(reader, 1, gone + 1, PAGE + 4) == [(seq, seq) for seq in range(gone + 1, PAGE + 5)]


# ---------------------------------------------------------------- what is not believed


@pytest.mark.parametrize("column", ["digest", "chain", "flags", "size", "ops", "refs", "dict"])
def test_a_row_that_is_not_as_it_was_written_is_never_used(column: str) -> None:
    log = MemoryLog()
    log.track_of([1, 2, 3])
    value: Any = b"x" * 16 if column in ("digest", "chain", "ops", "refs") else 5
    log.rows.connection.execute(f"UPDATE deltas SET {column} = ? WHERE id = ?", (value, row_key(1, 1)))
    reader = log.fresh()
    (row,) = reader.scan(1, 1, 1)
    assert not row.proven
    (columns,) = DELTAS.read(log.rows, "id = ?", (row_key(1, 1),))
    for ask in (
        lambda: reader.head(1, 1),
        lambda: reader.plain(row),
        lambda: reader.ops(row),
        lambda: [*reader.operations(1, 0, 2)],
        lambda: reader.decode(DELTAS.judged(columns)),
    ):
        with pytest.raises(CorruptDelta, match="checkpoint 1 of track 1 is damaged: its row is not as it was written"):
            ask()
    assert reader.head(1, 2).proven


def rewritten(log: MemoryLog, payload: Any) -> None:
    """Put another payload into the row of checkpoint 1, proven as if it had been written so."""
    plain = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    changes = {"size": len(plain), "ops": log.log.frames.compress(plain), "dict": 0}
    DELTAS.change(log.tx, "id = ?", (row_key(1, 1),), changes)


OP: Any = ["s", ["n"], None]


@pytest.mark.parametrize(
    "payload",
    [
        b"{",
        7,
        "text",
        {},
        {"o": [OP]},
        {"r": []},
        {"o": [OP], "r": [], "x": 0},
        {"o": [OP], "r": {}},
        {"o": 7, "r": []},
        {"o": [OP], "r": [7]},
        {"o": [OP], "r": [[[0], "b"]]},
        {"o": [OP], "r": [[[0], "b", "00", 0]]},
        {"o": [OP], "r": [[[0], "l", "00"]]},
        {"o": [OP], "r": [[0, "b", "00"]]},
        {"o": [OP], "r": [[[], "b", "00"]]},
        {"o": [OP], "r": [[["0"], "b", "00"]]},
        {"o": [OP], "r": [[[1], "b", "00"]]},
        {"o": [OP], "r": [[[-1], "b", "00"]]},
        {"o": [["s", [], 1]], "r": [[[0, "a"], "b", "00"]]},
        [7],
        [[]],
        [["s"]],
        [[7, []]],
        [["s", "n"]],
        [OP, [["s"], ["n"]]],
        [OP, ["s", None]],
        [["t", [], MOST_PLAIN + 1 - 300, ""], *([["t", [], 1, ""]] * 300)],
        [["t", [], MOST_PLAIN + 1 - 256, ""], *([["t", [], 1, ""]] * 256)],
    ],
    ids=lambda payload: str(payload)[:40],
)
def test_a_row_that_holds_no_operations_is_damage(payload: Any) -> None:
    log = MemoryLog()
    log.track_of([{"n": 0}, {"n": 1}])
    rewritten(log, payload)
    reader = log.fresh()
    (row,) = reader.scan(1, 1, 1)
    (columns,) = DELTAS.read(log.rows, "id = ?", (row_key(1, 1),))
    for ask in (
        lambda: reader.ops(row),
        lambda: [*reader.operations(1, 1, 1)],
        lambda: reader.decode(DELTAS.judged(columns)),
    ):
        with pytest.raises(Damaged) as caught:
            ask()
        assert "agent-tt verify" in caught.value.hint


@pytest.mark.parametrize(
    "payload",
    [
        [["t", [], MOST_PLAIN + 1, ""], *([["t", [], 1, ""]] * 255)],
        [["t", [], MOST_PLAIN - 300, ""], *([["t", [], 1, ""]] * 300)],
        [["s", [], MOST_PLAIN], *([["t", [], None, ""], ["x", [], MOST_PLAIN, 0, []]] * 200)],
    ],
    ids=["few", "not too much", "nothing copied"],
)
def test_operations_that_copy_no_more_than_a_text_may_be_long_are_read(payload: Any) -> None:
    log = MemoryLog()
    log.track_of([{"n": 0}, {"n": 1}])
    rewritten(log, payload)
    assert log.own_ops(1, 1) == payload


def test_the_parts_of_operations_are_put_back_where_they_are_wanted() -> None:
    log = MemoryLog()
    log.track_of([{"a": 0, "b": [0]}, {"a": LARGE, "b": [0, {"x": [LARGE + "!"]}]}])
    (row,) = log.log.scan(1, 1, 1)
    (columns,) = DELTAS.read(log.rows, "id = ?", (row_key(1, 1),))
    whole = [["s", ["a"], LARGE], ["a", ["b"], 1, [{"x": [LARGE + "!"]}]]]
    assert log.log.ops(row).ops == whole
    assert log.log.ops(row).whole
    assert log.log.decode(DELTAS.judged(columns)).ops == whole
    assert log.log.decode(DELTAS.judged(columns)).seq == 1
    assert log.log.parse(row, log.log.plain(row)).ops == whole
    without = [["s", ["a"], None], ["a", ["b"], 1, [{"x": [LARGE + "!"]}]]]
    for found in (
        log.log.ops(row, lambda op, _: op[0] == "a"),
        log.log.parse(row, log.log.plain(row), lambda op, _: op[0] == "a"),
        *log.log.operations(1, 1, 1, lambda op, _: op[0] == "a"),
    ):
        assert found.ops == without
        assert found.whole
    ((name,),) = log.rows.query("SELECT hash FROM blobs ORDER BY size LIMIT 1")
    log.rows.connection.execute("DELETE FROM blobs WHERE hash = ?", (name,))
    reader = log.fresh()
    found = reader.ops(row)
    assert not found.whole
    assert is_placeholder(found.ops[0][2])
    assert found.ops[1] == whole[1]
    assert reader.ops(row, lambda op, _: op[0] == "a").whole


def test_a_row_is_shared_where_it_was_stored_so() -> None:
    log = MemoryLog()
    writer = log.begin(0)
    for number, shared in ((1, True), (2, False)):
        writer.store(log.tx, writer.compare(number), shared=shared)
    assert log.rows.query("SELECT flags FROM deltas ORDER BY id") == [(0,), (1,), (0,)]
