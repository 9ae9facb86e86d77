"""Keyframes: when one follows, what it holds, and that one that holds anything else is never believed."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.history.logs import MemoryLog

from agent_tt.errors import Damaged
from agent_tt.history.changes.large_parts import LARGE_TEXT
from agent_tt.history.hashing import HASH_SIZE
from agent_tt.history.log import keyframes
from agent_tt.history.log.cursor import TrackCursor
from agent_tt.history.log.keyframes import KeyframePolicy
from agent_tt.history.log.states import load
from agent_tt.history.payloads.damage import is_placeholder
from agent_tt.history.rows import row_key
from agent_tt.store.tables.definitions import KEYFRAMES

if TYPE_CHECKING:
    from agent_tt.history.log.keyframes import StoredKeyframe
    from agent_tt.history.log.log import StateLog

LARGE = "large " * LARGE_TEXT
MANY = 1_000
"""Elements of a list that is large enough to be kept apart from what is around it."""


def states(count: int) -> list[Any]:
    """Of each kind of part that a keyframe keeps elsewhere, and some that it keeps itself."""
    large_list = [{"n": n, "text": f"element {n} " * 20} for n in range(200)]
    large_dict = {f"k{n}": f"entry {n} " * 20 for n in range(200)}
    return [
        {
            "n": n,
            "grown": {"deep": [[m, {"x": m}] for m in range(MANY + n)]},
            "blob": f"{LARGE}{n // 3}",
            "list": [*large_list[n // 4 :]],
            "dict": large_dict | {"k7": n // 5},
        }
        for n in range(count)
    ]


def keyframed(log: StateLog, track: int, seq: int) -> StoredKeyframe:
    found = keyframes.newest(log, log.segments(track, seq))
    assert found is not None
    return found


# ---------------------------------------------------------------- when one follows


@given(
    st.integers(1, 9),
    st.integers(0, 30),
    st.integers(0, 60),
    st.lists(st.integers(0, 12), max_size=40),
)
def test_a_keyframe_is_due_after_so_many_rows_or_when_they_weigh_more_than_a_state(
    most_rows: int, least_weight: int, state: int, sizes: list[int]
) -> None:
    policy = KeyframePolicy(most_rows=most_rows, least_weight=least_weight)
    since: list[int] = []
    last = 0
    for size in sizes:
        since.append(size)
        due = len(since) >= most_rows or sum(since) >= max(least_weight, last)
        assert policy.add(size) is due
        if due:
            policy.written(state)
            since, last = [], state


def test_no_load_replays_more_than_128_rows() -> None:
    made = MemoryLog()
    track = made.track_of(range(300))
    kept = [key & 0xFFFFFFFF for (key,) in made.rows.query("SELECT id FROM keyframes ORDER BY id")]
    assert kept == [127, 255]
    assert KeyframePolicy().least_weight == 64 * 1024
    assert load(made.log, track, 300 - 1).value == 299


# ---------------------------------------------------------------- what one holds


@pytest.fixture(scope="module")
def made() -> MemoryLog:
    """Track 1 has 14 checkpoints with keyframes at 4, 9; track 2 goes on from its 12th, with one at 13."""
    log = MemoryLog(rows=5)
    all_ = states(16)
    track = log.track_of(copy.deepcopy(state) for state in all_[:14])
    writer = log.fork(track, 11)
    for state in all_[12:]:
        log.step(writer, copy.deepcopy(state))
    return log


@pytest.mark.parametrize("seq", range(14))
def test_every_checkpoint_is_the_same_with_keyframes_and_without(made: MemoryLog, seq: int) -> None:
    for track in (1, 2):
        found = load(made.fresh(), track, seq)
        assert found.value == states(16)[seq]
        assert found.whole


def test_the_newest_keyframe_is_taken_and_then_the_one_before_it(made: MemoryLog) -> None:
    segments = made.log.segments(2, 15)
    found: list[tuple[int, int, int]] = []
    last = keyframes.newest(made.log, segments)
    while last is not None:
        found.append((last.segment, last.track, last.seq))
        assert last.proven
        assert last.what == f"keyframe {last.seq} of track {last.track}"
        last = keyframes.newest(made.log, segments, last)
    assert found == [(1, 2, 13), (0, 1, 9), (0, 1, 4)]
    assert keyframes.newest(made.log, made.log.segments(1, 3)) is None
    assert keyframed(made.log, 1, 9).seq == 9
    assert keyframed(made.log, 1, 8).seq == 4
    assert [*keyframes.within(made.log, segments[0])] == [4, 9]
    assert [*keyframes.within(made.log, segments[1])] == [13]
    assert {each.segment for each in keyframes.within(made.log, segments[1]).values()} == {0}


def test_a_keyframe_holds_the_state_of_its_checkpoint_and_names_what_only_grew(made: MemoryLog) -> None:
    for track, seq in ((1, 4), (1, 9), (2, 13)):
        log = made.fresh()
        segments = log.segments(track, seq)
        stored = keyframed(log, track, seq)
        value, whole = keyframes.fill(log, segments, stored)
        assert whole
        assert value == states(16)[seq]
        assert keyframes.append_only(log, stored) == {("grown", "deep"): 0}
        keyframes.check(log, stored, (states(16)[seq],), {("grown", "deep"): 0})
        keyframes.check(log, stored, None, {})


def test_a_list_that_only_grew_is_in_no_keyframe_and_large_parts_are_blobs(made: MemoryLog) -> None:
    for key, size, frame in made.rows.query("SELECT id, size, state FROM keyframes"):
        plain = json.loads(made.log.frames.decompress(frame, size, "it"))
        assert plain.keys() == {"v", "r", "d"}
        head = made.log.head(key >> 32, key & 0xFFFFFFFF)
        assert plain["d"] == head.digest.hex()
        assert sorted((at, kind) for at, kind, _ in plain["r"]) == [
            (["blob"], "b"),
            (["dict"], "g"),
            (["grown", "deep"], "a"),
            (["list"], "l"),
        ]
        ((refs,),) = made.rows.query("SELECT refs FROM keyframes WHERE id = ?", (key,))
        named = [name for _, kind, names in plain["r"] if kind != "a" for name in _listed(names)]
        assert sorted(refs[at : at + HASH_SIZE].hex() for at in range(0, len(refs), HASH_SIZE)) == sorted(named)


def _listed(names: Any) -> list[str]:
    return names if isinstance(names, list) else [names]


def test_a_keyframe_that_is_written_again_takes_the_place_of_the_first() -> None:
    log = MemoryLog()
    track = log.track_of([{"n": 0}, {"n": 1}])
    digest = log.log.head(track, 1).digest
    for skeleton in ({"n": 7}, {"n": 1}):
        keyframes.write(log.tx, log.log, row_key(track, 1), skeleton, [], [], digest)
    assert log.rows.query("SELECT refs FROM keyframes") == [(None,)]
    assert keyframes.fill(log.log, log.log.segments(track, 1), keyframed(log.log, track, 1)) == ({"n": 1}, True)


# ---------------------------------------------------------------- what is not believed


def replaced(log: MemoryLog, key: int, payload: Any) -> None:
    """Put another payload into a keyframe, proven as if it had been written so."""
    plain = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    KEYFRAMES.change(log.tx, "id = ?", (key,), {"size": len(plain), "state": log.log.frames.compress(plain)})


def held(log: MemoryLog, key: int) -> Any:
    ((size, frame),) = log.rows.query("SELECT size, state FROM keyframes WHERE id = ?", (key,))
    return json.loads(log.log.frames.decompress(frame, size, "it"))


def kept_grown() -> MemoryLog:
    """A track with keyframes at 4 and 9: `grown` is append-only since 0, `late` since 6; `blob` is one."""
    log = MemoryLog(rows=5)
    log.track_of(
        {"n": n, "grown": [*range(MANY + n)], "blob": LARGE, **({"in": {"late": [*range(MANY + n)]}} if n > 5 else {})}
        for n in range(12)
    )
    return log


ODD: dict[str, Any] = {
    "a list": [],
    "no references": {"without": ["r"]},
    "no digest": {"without": ["d"]},
    "one key more": {"x": 0},
    "references that are no list": {"r": {}},
    "a reference that is not a list": {"r": [7]},
    "a reference of two": {"r": [[["n"], "b"]]},
    "a reference of four": {"r": [[["n"], "b", "00", 0]]},
    "a place that is not a list": {"r": [["n", "b", "00"]]},
    "a place that is not there": {"r": [[["m"], "l", []]]},
    "an unknown kind": {"r": [[["n"], "z", []]]},
    "a blob that is not there": {"r": [[["n"], "b", "00" * HASH_SIZE]]},
    "a blob that is not a hash": {"r": [[["n"], "b", 7]]},
    "blobs that are no list": {"r": [[["n"], "l", "00"]]},
    "entries that are no list": {"r": [[["n"], "g", "00"]]},
    "blobs to join that are not there": {"r": [[["n"], "l", ["00" * HASH_SIZE]]]},
    "entries that are not there": {"r": [[["n"], "g", ["00" * HASH_SIZE]]]},
    "a list of what is none": {"r": [[["n"], "l", ["BLOB"]]]},
    "a dict of what is none": {"r": [[["n"], "g", ["BLOB"]]]},
    "an append-only list of no row": {"r": [[["grown"], "a", "0"]]},
    "one that was never set": {"r": [[["n"], "a", 0]]},
    "one that is nowhere": {"v": {"n": 0, "x": None}, "r": [[["x"], "a", 0]]},
    "one whose place is in a list": {"v": {"n": [None]}, "r": [[["n", 0], "a", 0]]},
    "one that was set elsewhere": {"r": [[["grown"], "a", 3]]},
    "one that was set before there was anything": {"r": [[["in", "late"], "a", 0]]},
    "another digest": {"d": "00" * HASH_SIZE},
    "no JSON": b"{",
}


SAID = (
    "^(keyframe 9 of track 1 (is damaged: |belongs to another checkpoint$|names a list as append-only that is not$)"
    "|a blob of a keyframe cannot be read$|a keyframe names an append-only list that was never set$"
    "|a part belongs at 'm', where there is nothing$)"
)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_keyframe_that_holds_no_state_is_damage_and_costs_time_only(odd: Any) -> None:
    log, odd = kept_grown(), copy.deepcopy(odd)
    key = row_key(1, 9)
    (name,) = [ref[2] for ref in held(log, key)["r"] if ref[1] == "b"]
    if isinstance(odd, dict):
        without = odd.pop("without", [])
        odd = {part: value for part, value in held(log, key).items() if part not in without} | odd
        odd = json.loads(json.dumps(odd).replace("BLOB", name))
    replaced(log, key, odd)
    reader = log.fresh()
    segments = reader.segments(1, 9)
    stored = keyframed(reader, 1, 9)
    truth = {"n": 9, "grown": [*range(MANY + 9)], "blob": LARGE, "in": {"late": [*range(MANY + 9)]}}
    births = {("grown",): 0, ("in", "late"): 6}
    for ask in (
        lambda: keyframes.fill(reader, segments, stored),
        lambda: keyframes.check(reader, stored, (copy.deepcopy(truth),), births),
    ):
        with pytest.raises(Damaged, match=SAID) as caught:
            ask()
        assert "agent-tt verify" in caught.value.hint
    found = load(reader, 1, 9)
    assert (found.value, found.whole) == (truth, True)


def test_one_whose_bytes_were_changed_is_damage() -> None:
    log = kept_grown()
    log.rows.connection.execute("UPDATE keyframes SET size = size + 1 WHERE id = ?", (row_key(1, 9),))
    stored = keyframed(log.log, 1, 9)
    assert not stored.proven
    for ask in (
        lambda: keyframes.fill(log.log, log.log.segments(1, 9), stored),
        lambda: keyframes.append_only(log.log, stored),
        lambda: keyframes.check(log.log, stored, None, {}),
    ):
        with pytest.raises(Damaged, match="keyframe 9 of track 1 is damaged: its row is not as it was written"):
            ask()
    assert load(log.log, 1, 11).value["n"] == 11


def test_one_that_holds_another_state_is_found_by_a_check() -> None:
    log = kept_grown()
    key = row_key(1, 9)
    truth = {"n": 9, "grown": [*range(MANY + 9)], "blob": LARGE, "in": {"late": [*range(MANY + 9)]}}
    births = {("grown",): 0, ("in", "late"): 6}
    keyframes.check(log.log, keyframed(log.log, 1, 9), (copy.deepcopy(truth),), births)
    with pytest.raises(Damaged, match="names a list as append-only that is not"):
        keyframes.check(log.log, keyframed(log.log, 1, 9), (copy.deepcopy(truth),), births | {("grown",): 1})
    with pytest.raises(Damaged, match="does not hold the state of its checkpoint"):
        keyframes.check(log.log, keyframed(log.log, 1, 9), (truth | {"n": 8},), births)
    payload = held(log, key)
    payload["v"]["n"] = 9.0
    replaced(log, key, payload)
    keyframes.check(log.log, keyframed(log.log, 1, 9), None, {})  # nothing is known to compare it with
    with pytest.raises(Damaged, match="does not hold the state of its checkpoint") as caught:
        keyframes.check(log.log, keyframed(log.log, 1, 9), (copy.deepcopy(truth),), births)
    assert "agent-tt verify" in caught.value.hint


def test_a_list_whose_elements_are_lost_is_known_not_to_be_whole() -> None:
    log = MemoryLog(rows=5)
    log.track_of({"grown": [f"{LARGE}{m}" for m in range(n)]} for n in range(7))
    name = next(row[0] for row in log.rows.query("SELECT refs FROM deltas WHERE id = ?", (row_key(1, 2),)))
    log.rows.connection.execute("DELETE FROM blobs WHERE hash = ?", (name,))
    reader = log.fresh()
    value, whole = keyframes.fill(reader, reader.segments(1, 4), keyframed(reader, 1, 4))
    assert not whole
    assert [is_placeholder(item) for item in value["grown"]] == [False, True, False, False]
    found = load(reader, 1, 6)
    assert not found.whole
    assert [is_placeholder(item) for item in found.value["grown"]] == [n == 1 for n in range(6)]


@pytest.mark.parametrize("change", ["shrunk", "no list"])
def test_a_list_that_did_not_only_grow_is_not_put_together(change: str) -> None:
    log = MemoryLog()
    lists: list[Any] = [[0], [0, 1], [1], [1, 2]] if change == "shrunk" else [[0], [0, 1], None, [1]]
    log.track_of({"l": each} for each in lists)
    digest = log.log.head(1, 3).digest
    keyframes.write(log.tx, log.log, row_key(1, 3), {"l": None}, [[["l"], "a", 0]], [], digest)
    expected = {"l": lists[3]}
    found = load(log.log, 1, 3)
    if change == "shrunk":
        with pytest.raises(Damaged, match="the list that a keyframe names did not only grow at checkpoint 3") as caught:
            keyframes.fill(log.log, log.log.segments(1, 3), keyframed(log.log, 1, 3))
        assert "agent-tt verify" in caught.value.hint
        assert found.value == expected
    with pytest.raises(Damaged, match="names a list as append-only that is not"):
        keyframes.check(log.log, keyframed(log.log, 1, 3), (expected,), {})


# ---------------------------------------------------------------- writing on, and standing in a track


@pytest.mark.parametrize("seed", range(4))
def test_who_writes_on_knows_what_only_grew_and_when_the_next_keyframe_is_due(seed: int) -> None:
    choose = random.Random(seed)
    log, single = MemoryLog(rows=6), MemoryLog(rows=6)
    state: Any = {"a": [], "b": {"c": []}, "n": 0}
    writers = [log.begin(copy.deepcopy(state)), single.begin(copy.deepcopy(state))]
    for number in range(40):
        state["n"] = number
        match choose.randrange(6):
            case 0:
                state["a"].append(number)
            case 1:
                state["b"]["c"].append({"x": number})
            case 2:
                state["a"] = [number]
            case 3 if state["a"]:
                state["a"].pop(0)
            case 4 if state["b"]["c"] and choose.random() < 0.3:
                state["b"]["c"][0]["x"] = -number
            case _:
                pass
        if choose.random() < 0.4:
            writers[0] = log.resume(writers[0].track)
        for made, writer in zip((log, single), writers, strict=True):
            made.step(writer, copy.deepcopy(state))
    queries = ("SELECT id, size, state, refs FROM keyframes", "SELECT id, digest, chain, ops FROM deltas")
    for query in queries:
        assert log.rows.query(query) == single.rows.query(query)


@pytest.mark.parametrize("seed", range(2))
def test_a_cursor_gives_the_state_of_any_checkpoint_in_any_order(made: MemoryLog, seed: int) -> None:
    choose = random.Random(seed)
    track = choose.choice([1, 2])
    last = 13 if track == 1 else 15
    cursor = TrackCursor(made.fresh(), track, choose.randrange(last + 1))
    for _ in range(12):
        seq = choose.randrange(last + 1)
        assert cursor.seek(seq) == states(16)[seq]
        assert cursor.value == states(16)[seq]
