"""Who wrote a value, who writes it next, and where a place may have changed: as reading every row would say."""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.history.logs import MemoryLog

from agent_tt.codec.paths import get
from agent_tt.codec.sameness import identical
from agent_tt.errors import AgentTTError, Damaged
from agent_tt.history.changes.ops import op_path, trace
from agent_tt.history.changes.trace import trace_forward
from agent_tt.history.hashing import path_id, path_text
from agent_tt.history.log.index import BLOCK, PathIndex
from agent_tt.history.log.track_marks import Mark, TrackMarks

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.append import TrackWriter

NOTHING = object()


@dataclass
class Row:
    """A row of the log as it was given to be stored: whose it is, and the state after it."""

    track: int
    seq: int
    ops: list[Op]
    state: Any


@dataclass
class World:
    """Tracks that were written at random, and all their rows, the parents' first."""

    made: MemoryLog = field(default_factory=MemoryLog)
    rows: dict[int, list[Row]] = field(default_factory=dict)

    def begin(self, state: Any) -> TrackWriter:
        writer = self.made.begin(state)
        self.rows[writer.track] = [Row(writer.track, 0, [["s", [], copy.deepcopy(state)]], copy.deepcopy(state))]
        return writer

    def step(self, writer: TrackWriter, state: Any) -> None:
        checkpoint = writer.compare(state)
        row = Row(writer.track, checkpoint.seq, copy.deepcopy(checkpoint.ops), copy.deepcopy(state))
        self.rows[writer.track].append(row)
        writer.store(self.made.tx, checkpoint)

    def fork(self, parent: int, seq: int, edited: Any) -> TrackWriter:
        writer = self.made.fork(parent, seq, copy.deepcopy(edited))
        ops = self.made.own_ops(writer.track, seq)
        before = [row for row in self.rows[parent] if row.seq <= seq]
        self.rows[writer.track] = [*before, Row(writer.track, seq, ops, copy.deepcopy(edited))]
        return writer

    def up_to(self, track: int, seq: int) -> list[Row]:
        return [row for row in self.rows[track] if row.seq <= seq]


def written_at(rows: list[Row], path: Path) -> tuple[int, int, Path] | None:
    for row in reversed(rows):
        before: Path | None = path
        for op in reversed(row.ops):
            before = None if before is None else trace(op, before)
        if before is None:
            return row.track, row.seq, path
        path = before
    return None


def next_write(rows: list[Row], path: Path) -> int | None:
    for row in rows:
        after: Path | None = path
        for op in row.ops:
            after = None if after is None else trace_forward(op, after)
        if after is None:
            return row.seq
        path = after
    return None


def paths_in(value: Any, path: Path = ()) -> list[Path]:
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in items:
        found += paths_in(item, (*path, step))
    return found


def at(state: Any, path: Path) -> Any:
    try:
        return get(state, path)
    except AgentTTError:
        return NOTHING


def mutate(choose: random.Random, state: Any, number: int) -> None:
    items = state["items"]
    match choose.randrange(9):
        case 0 | 1:
            items.append({"id": number, "n": 0})
        case 2 if items:
            del items[choose.randrange(len(items))]
        case 3:
            items.insert(choose.randrange(len(items) + 1), {"id": number, "n": 0})
        case 4 | 5 if items:
            choose.choice(items)["n"] = number
        case 6:
            state["log"] += [number]
        case 7:
            state["by"][f"k{choose.randrange(4)}"] = number
        case _:
            state["text"] += f" {number}"
    if choose.random() < 0.03:
        state["items"] = [{"id": number, "n": 1}]
    if choose.random() < 0.03:
        state["by"][f"moved{number}"] = state["by"].pop(choose.choice(list(state["by"])))


@pytest.fixture(scope="module", params=[1, 2, 3])
def world(request: pytest.FixtureRequest) -> World:
    """Forks of forks; of some tracks all rows are in the index, of some none, of some those before a place."""
    choose = random.Random(request.param)
    made = World()
    state: Any = {"items": [], "log": [0], "by": {"k0": 0}, "text": "", "never": {"touched": 1}}
    writer = made.begin(state)
    for number in range(1, 190):
        for _ in range(choose.randrange(3)):
            mutate(choose, state, number)
        made.step(writer, state)
        if number in (80, 125, 170):
            if number != 125:
                writer.flush(made.made.tx)
            back = writer.seq - choose.randrange(30)
            state = copy.deepcopy(made.up_to(writer.track, back)[-1].state)
            if number != 80:
                state["by"]["edit"] = number
                state["items"].insert(0, {"id": number, "n": 2})
            writer = made.fork(writer.track, back, state)
        elif choose.random() < 0.02:
            writer = made.made.resume(writer.track)
    if request.param != 2:
        writer.flush(made.made.tx)
    return made


def questions(world: World, count: int) -> list[tuple[int, int, Path]]:
    choose = random.Random(7)
    found = []
    for _ in range(count):
        track = choose.choice(list(world.rows))
        row = choose.choice(world.rows[track])
        rows = world.up_to(track, row.seq)
        found.append((track, row.seq, choose.choice(paths_in(rows[-1].state))))
    return found


def test_the_last_write_of_a_value_is_the_one_that_all_rows_read_backwards_give(world: World) -> None:
    index = world.made.index
    for track, seq, path in questions(world, 60):
        expected = written_at(world.up_to(track, seq), path)
        assert index.written_at(track, seq, path) == expected, (track, seq, path)
        assert index.last_write(track, seq, path) == (None if expected is None else expected[:2])


def test_the_next_write_of_a_value_is_the_one_that_all_rows_read_onwards_give(world: World) -> None:
    index = world.made.index
    for track, seq, path in questions(world, 60):
        last = world.rows[track][-1].seq
        for end in (last, min(seq + 3, last)):
            rows = [row for row in world.up_to(track, end) if row.seq > seq]
            assert index.next_write(track, seq, end, path) == next_write(rows, path), (track, seq, end, path)


def test_where_a_place_changed_is_never_left_out_and_nothing_is_named_that_left_it_alone(world: World) -> None:
    index = world.made.index
    for track, seq, path in questions(world, 20):
        last = world.rows[track][-1].seq
        for first, end in ((seq, last), (0, seq), (seq, seq)):
            found = index.touching(track, first, end, path)
            own = [row for row in world.up_to(track, end) if row.seq >= first]
            assert found >= changed_in(world.up_to(track, end), first, path)
            assert found <= {row.seq for row in own if any(concerns(op, path) for op in row.ops)}


def changed_in(rows: list[Row], first: int, path: Path) -> set[int]:
    changed = set()
    before = NOTHING
    for row in rows:
        now = at(row.state, path)
        same = before is now if NOTHING in (before, now) else identical(before, now)
        if row.seq >= first and not same:
            changed.add(row.seq)
        before = now
    return changed


def concerns(op: Op, path: Path) -> bool:
    own = [op_path(op), *([tuple(op[2])] if op[0] == "m" else [])]
    return any(each[: len(path)] == path or path[: len(each)] == each for each in own)


def test_what_is_indexed_is_not_read_again() -> None:
    made = MemoryLog()
    track = made.track_of({"old": 1, "n": n, "list": [*range(n)]} for n in range(3 * BLOCK))
    reads = []
    for path, expected in ((("old",), 0), (("list", 5), 6), (("n",), 3 * BLOCK - 1)):
        made.rows.asked.clear()
        assert PathIndex(made.fresh()).last_write(track, 3 * BLOCK - 1, path) == (track, expected)
        reads.append(sum("FROM deltas" in asked for asked in made.rows.asked))
    assert reads[0] == reads[2] == 1
    assert reads[1] <= BLOCK  # of the one block in which the list grew to it
    made.rows.asked.clear()
    assert PathIndex(made.fresh()).next_write(track, 0, 3 * BLOCK - 1, ("old",)) is None
    assert not any("FROM deltas" in asked for asked in made.rows.asked)
    assert PathIndex(made.fresh()).touching(track, 1, 3 * BLOCK - 1, ("old",)) == set()
    assert not any("FROM deltas" in asked for asked in made.rows.asked)


def test_a_list_that_was_set_before_it_grew_is_found_without_reading_how_it_grew() -> None:
    made = MemoryLog()
    grown = [{"l": [*range(10 + max(0, n - BLOCK))]} if n >= 3 else {} for n in range(3 * BLOCK)]
    track = made.track_of(grown)
    made.rows.asked.clear()
    assert PathIndex(made.fresh()).last_write(track, 3 * BLOCK - 1, ("l", 4)) == (track, 3)
    assert sum("FROM deltas" in asked for asked in made.rows.asked) <= 2


@pytest.mark.parametrize(
    ("path", "number", "text"),
    [
        ((), 4090036724241674979, "[]"),
        (("a",), 1417421833181456274, '["a"]'),
        (("a", 0, "b"), 4538094548452333847, '["a",0,"b"]'),
        (("é",), 6340652512773343263, '["é"]'),
    ],
)
def test_a_path_is_known_by_a_number_that_never_changes(path: Path, number: int, text: str) -> None:
    assert (path_id(path), path_text(path)) == (number, text)


def test_a_path_through_an_envelope_is_indexed_as_people_write_it() -> None:
    made = MemoryLog()
    pairs: list[Any] = [[1, "one"], ["two", [2]]]
    kept = {"$type": "dict", "$v": pairs}
    first = {"m": copy.deepcopy(kept)}
    pairs[0][1] = "first"
    second = {"m": copy.deepcopy(kept)}
    pairs[1][1].append(3)
    third = {"m": copy.deepcopy(kept)}
    writer = made.begin(0)
    for state in (first, second, third):  # an edit is given in wire form
        writer = made.fork(writer.track, writer.seq, state)
    for flushed in (False, True):
        if flushed:
            writer.flush(made.tx)
        index = made.index
        found = index.written_at(writer.track, writer.seq, ("m", "$v", 0, 1))
        assert found is not None
        assert found[2] == ("m", "$v", 0, 1)
        assert made.own_ops(*found[:2]) == [["s", ["m", "$v", 0, 1], "first"]]
        grown = index.written_at(writer.track, writer.seq, ("m", "$v", 1, 1, 1))
        assert grown is not None
        assert made.own_ops(*grown[:2]) == [["a", ["m", "$v", 1, 1], 1, [3]]]


def test_a_list_that_was_long_already_when_a_block_began_was_not_grown_there() -> None:
    made = MemoryLog()
    lists = [[*range(10)], *([[*range(10 + max(0, n - BLOCK))] for n in range(1, 2 * BLOCK)])]
    track = made.track_of({"l": each} for each in lists)
    index = made.index
    assert index.last_write(track, 2 * BLOCK - 1, ("l", 9)) == (track, 0)
    assert index.last_write(track, 2 * BLOCK - 1, ("l", 10)) == (track, BLOCK + 1)
    assert index.last_write(track, 2 * BLOCK - 1, ("l", 9 + BLOCK - 1)) == (track, 2 * BLOCK - 1)


@pytest.mark.parametrize("column", ["block", "touched"])
def test_an_index_that_holds_no_numbers_is_damage_and_not_an_answer(column: str) -> None:
    made = MemoryLog()
    track = made.track_of({"n": n // 40} for n in range(2 * BLOCK))
    made.rows.connection.execute(f"UPDATE changes SET {column} = 0.5 WHERE block = 0")
    with pytest.raises(Damaged, match="the index of changes of track 1 is damaged") as caught:
        made.index.last_write(track, 70, ("n",))
    assert "agent-tt verify" in caught.value.hint


def test_the_topmost_bit_of_a_block_is_kept_and_found() -> None:
    made = MemoryLog()
    track = made.track_of({"n": 0 if n < BLOCK - 1 else 1} for n in range(BLOCK))
    assert (-(1 << 63),) in made.rows.query("SELECT touched FROM changes")
    assert made.index.last_write(track, BLOCK - 1, ("n",)) == (track, BLOCK - 1)
    assert made.index.next_write(track, 0, BLOCK - 1, ("n",)) == BLOCK - 1


def test_marks_of_one_block_that_two_writers_brought_are_joined() -> None:
    made = MemoryLog()
    writer = made.begin({"n": 0, "l": []})
    made.step(writer, {"n": 1, "l": [1]})
    writer.flush(made.tx)
    other = made.resume(writer.track)
    made.step(other, {"n": 1, "l": [1, 2]})
    made.step(other, {"n": 2, "l": [1, 2, 3]})
    other.flush(made.tx)
    rows = made.rows.query(
        "SELECT paths.path, touched, struct, grown, len0 FROM changes JOIN paths ON paths.id = changes.path ORDER BY 1"
    )
    assert [(name, *bits) for name, *bits in rows] == [
        ('["l"]', 0b1110, 0, 0b1110, 0),
        ('["n"]', 0b1010, 0b1010, 0, None),
        ("[]", 0b1111, 0b0001, 0, None),
    ]
    assert made.rows.query("SELECT indexed_to FROM tracks") == [(3,)]
    writer.flush(made.tx)
    assert made.rows.query("SELECT indexed_to FROM tracks") == [(3,)]


def test_a_mark_says_the_length_before_the_first_append_of_its_block() -> None:
    made = MemoryLog()
    writer = made.begin({"l": [0] * 5})
    made.step(writer, {"l": [0] * 7})
    made.step(writer, {"l": [0] * 8})
    assert [mark.length for mark in marks(made, writer.track)] == [7, 5]
    writer.flush(made.tx)
    assert [*marks(made, writer.track)] == [Mark(2, 5), Mark(1, 5)]


def marks(made: MemoryLog, track: int) -> list[Mark]:
    return [*TrackMarks(made.log, track).of(("l",), "grown", 0, 2)]
