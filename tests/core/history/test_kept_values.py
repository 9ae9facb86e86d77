"""States made of the parts of the last one: whatever is shared, the log says exactly what changed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.history.logs import MemoryLog
from tests.core.mutations import Mutator
from tests.core.reference_digest import reference_digest

from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import Encoded
from agent_tt.history.changes import tallies
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.kept_values import KeptValues
from agent_tt.history.changes.ops import apply
from agent_tt.history.log.keyframes import newest
from agent_tt.history.log.states import load

if TYPE_CHECKING:
    import pytest

some = settings(max_examples=40, deadline=None)


def copied(wire: Any) -> Any:
    return orjson.loads(orjson.dumps(wire))


def sharing(old: Any, new: Any, draw: random.Random) -> Any:
    """`new` with some of its parts that are as they were in `old` the very objects of that."""
    if tlv(old) == tlv(new) and draw.random() < 0.8:
        return old
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: sharing(old[key], item, draw) if key in old else item for key, item in new.items()}
    if isinstance(old, list) and isinstance(new, list):
        known = {tlv(item): item for item in old}
        return [known.get(tlv(item), item) if draw.random() < 0.9 else item for item in new]
    return new


@some
@given(st.integers(0, 10**9), st.booleans())
def test_every_checkpoint_is_exact_whatever_it_shares_with_the_last(seed: int, exotic: bool) -> None:
    draw = random.Random(seed)
    mutator = Mutator(draw, exotic=exotic, large=True)
    state, kept, built, last = mutator.state(), KeptValues(), None, None
    for seq in range(12):
        wire = copied(encode(state))
        shared = wire if last is None else sharing(last, wire, draw)
        ops, digest = kept.step(Encoded(shared), seq)
        assert tlv(shared) == tlv(wire), "what is given is left as it is"
        if last is not None:
            assert ops == diff(copied(last), wire)
        built = apply(built, copied(ops))
        assert tlv(built) == tlv(wire)
        assert digest == reference_digest(wire)
        last = shared
        for _ in range(draw.randrange(4)):
            mutator.mutate(state)


@some
@given(st.integers(0, 10**9))
def test_states_are_read_from_keyframes_and_gone_on_with(seed: int) -> None:
    draw = random.Random(seed)
    mutator = Mutator(draw, large=True)
    log, state, wires = MemoryLog(rows=3, keeps=True), mutator.state(), []
    writer = None
    for _ in range(14):
        wire = copied(encode(state))
        wires.append(sharing(wires[-1], wire, draw) if wires else wire)
        if writer is None:
            writer = log.begin(Encoded(wires[0]))
        else:
            if draw.random() < 0.2:
                writer = log.resume(writer.track)
            log.step(writer, Encoded(wires[-1]))
        mutator.mutate(state)
        if draw.random() < 0.5 and isinstance(state.get("messages"), list):
            state["messages"].append(mutator._message())
    fresh = log.fresh()
    assert newest(fresh, fresh.segments(writer.track, 13)) is not None
    for seq, wire in enumerate(wires):
        found = load(log.fresh(), writer.track, seq)
        assert found.whole
        assert tlv(found.value) == tlv(wire)
        assert log.fresh().head(writer.track, seq).digest == reference_digest(wire)


def test_a_longer_list_is_hashed_by_what_is_new_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    items: list[Any] = [{"n": [number]} for number in range(500)]
    kept = KeptValues()
    for length in (498, 499, 500):
        kept.step(Encoded({"items": items[:length], "other": {"deep": [items[0]]}}), length)
    hashed: list[Any] = []
    whole = tallies.token
    monkeypatch.setattr(tallies, "token", lambda wire: hashed.append(wire) or whole(wire))  # type: ignore[func-returns-value]
    ops, _ = kept.step(Encoded({"items": [*items, {"n": [500]}], "other": {"deep": [items[0]]}}), 501)
    assert ops == [["a", ["items"], 500, [{"n": [500]}]]]
    assert hashed == [{"n": [500]}]


def test_a_list_that_only_grew_is_in_no_keyframe() -> None:
    items: list[Any] = [{"n": number, "text": "a message " * 9} for number in range(200)]
    log = MemoryLog(rows=2, keeps=True)
    writer = log.begin(Encoded({"items": items[:100], "n": 0}))
    for number in range(1, 6):
        log.step(writer, Encoded({"items": items[: 100 + number], "n": number}))
    fresh = log.fresh()
    found = newest(fresh, fresh.segments(writer.track, 5))
    assert found is not None
    assert found.size < 200
    assert load(log.fresh(), writer.track, 5).value == {"items": items[:105], "n": 5}
