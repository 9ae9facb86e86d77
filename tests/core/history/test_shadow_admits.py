"""What may not be kept of a state is in no operation and no digest, however the state came to hold it."""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, Any

import pytest

from agent_tt.codec.encode import encode
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.history.changes.ops import apply
from agent_tt.history.digest import digest

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

PAD = {f"pad{n}": "x" * 60 for n in range(80)}
"""Makes what holds it large enough to be compared part by part."""


def admit(value: Wire, field: str) -> Wire:
    """Keeps no text with `secret`, nothing in a field `password`, and no `value` beside a name `password`."""
    if isinstance(value, dict):
        hidden = "value" if value.get("name") == "password" else None
        return {key.replace("secret", "*"): "*" if key == hidden else admit(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [admit(item, field) for item in value]
    if field == "password":
        return "*"
    return value.replace("secret", "*") if isinstance(value, str) else value


def changed(choose: random.Random, state: Any) -> None:
    text = choose.choice(["plain", "a secret", "secret", "more", 7, None, ["a secret", "x"], {"a": "secret"}])
    place = choose.choice([state, state["deep"], state["deep"]["entry"]])
    match choose.randrange(9):
        case 0:
            place[f"{choose.choice(['key', 'a secret key', 'other'])}{choose.randrange(3)}"] = text
        case 1:
            place["password"] = text if not isinstance(text, dict) else 1
        case 2:
            state["deep"]["entry"]["name"] = choose.choice(["password", "user"])
            state["deep"]["entry"]["value"] = f"value {choose.random()}"
        case 3:
            state["list"].append(text)
        case 4 if state["list"]:
            state["list"][choose.randrange(len(state["list"]))] = text
        case 5 if state["list"]:
            state["list"].pop(choose.randrange(len(state["list"])))
        case 6:
            state["said"] += choose.choice([" more", " a sec", "ret", " secret"])
        case 7:
            place.pop(
                choose.choice([key for key in place if key.startswith(("key", "other", "pass"))] or ["none"]), None
            )
        case _:
            state["deep"]["text"] = text


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("large", [False, True])
def test_the_operations_lead_to_what_may_be_kept_of_each_state(seed: int, *, large: bool) -> None:
    choose = random.Random(seed)
    pad = PAD if large else {}
    state: Any = {
        "list": [f"item {n}" for n in range(300 if large else 2)],
        "said": "hello",
        "deep": {"entry": dict(pad), **pad},
        **pad,
    }
    shadow, kept = Shadow(admit), None
    for seq in range(25):
        ops, found = shadow.step(state, seq)
        assert "secret" not in str(ops)
        kept = apply(kept, copy.deepcopy(ops))
        assert kept == admit(state, ""), seq
        assert found == digest(kept)
        again, same = shadow.step(copy.deepcopy(state), seq)
        assert (again, same) == ([], found)
        for _ in range(choose.randrange(3)):
            changed(choose, state)


def test_a_shadow_that_begins_with_a_stored_state_hides_the_same() -> None:
    state: Any = {"password": "x", "said": "a secret", **PAD}
    shadow = Shadow.from_wire(admit(state, ""), None, admit)
    assert shadow.step(state, 1)[0] == []
    state["said"] += " secret"
    assert shadow.step(state, 2)[0] == [["s", ["said"], "a * *"]]
    state["password"] = ["y"]
    assert shadow.step(state, 3)[0] == [["s", ["password"], ["*"]]]
    state["other"] = "secret"
    assert shadow.step(state, 4)[0] == [["s", ["other"], "*"]]


def test_a_long_text_that_grew_is_told_by_what_was_added() -> None:
    state: Any = {"said": "hello " * 50, **PAD}
    shadow = Shadow(admit)
    shadow.step(state, 0)
    state["said"] += "and a secret"
    assert shadow.step(state, 1)[0] == [["t", ["said"], 300, "and a *"]]


@pytest.mark.parametrize("count", [63, 64, 65])
def test_the_digest_of_a_mapping_follows_its_changes_at_any_size(count: int) -> None:
    state: Any = {f"k{n}": f"entry {n} " * 20 for n in range(count)}
    shadow = Shadow()
    shadow.step(state, 0)
    for key, value in (("k3", "changed"), ("new", "x"), ("k4", ["in a list"]), ("k4", 5)):
        state[key] = value
        assert shadow.step(state, 1)[1] == digest(encode(state))
    for key in ("new", "k7"):
        del state[key]
        assert shadow.step(state, 1)[1] == digest(encode(state))


@pytest.mark.parametrize("sizes", [(2_000, 1, 2), (2_000, 1_999, 0), (1, 2_000, 2_001)])
def test_a_tuple_may_become_small_or_large(sizes: tuple[int, ...]) -> None:
    shadow, kept = Shadow(), None
    for seq, size in enumerate(sizes):
        state = {"t": tuple(range(size)), "s": [(n, (n, size)) for n in range(size)]}
        ops, found = shadow.step(state, seq)
        kept = apply(kept, copy.deepcopy(ops))
        assert (kept, found) == (encode(state), digest(encode(state)))


def test_without_anything_to_hide_a_state_is_kept_as_it_is() -> None:
    assert Shadow().step({"a": "secret", "password": 1}, 0)[0] == [["s", [], {"a": "secret", "password": 1}]]


def test_a_shadow_that_was_reset_says_the_whole_state() -> None:
    shadow = Shadow()
    shadow.step({"a": [1]}, 0)
    assert shadow.append_only_births == {("a",): 0}
    shadow.reset()
    assert (shadow.append_only_births, shadow.weight()) == ({}, 0)
    with pytest.raises(ValueError, match="there is no checkpoint yet"):
        shadow.keyframe(lambda _: "")
    assert shadow.step({"a": [1]}, 1)[0] == [["s", [], {"a": [1]}]]
    assert shadow.weight() > 0
