"""What is odd about a run, word for word, and from where on it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import Did
from tests.core.querying.trails import Past

from agent_tt.model import ErrorInfo
from agent_tt.querying.oddities import find_oddities

if TYPE_CHECKING:
    from agent_tt.model import Call

REFUSED = ErrorInfo("bank:Refused", "no money")


def told(past: Past, **how: Any) -> list[str]:
    return [
        f"{oddity.kind} {' '.join(map(str, oddity.steps))}: {oddity.what}"
        for oddity in find_oddities(past, past.run("run"), **how)
    ]


def calling(*made: str, **facts: Any) -> Past:
    """A run whose steps each make one call: `look 1` asks `look` with 1; `look 1 = x` brings x; `look 1 !` fails."""
    past = Past(**facts)
    dids = []
    for number, text in enumerate(made, 1):
        asked, _, back = text.removesuffix(" !").partition(" = ")
        tool, _, with_what = asked.partition(" ")
        dids.append(Did(f"s{number}", tool=tool, args={"q": with_what}, result=back))
        if text.endswith(" !"):
            past.calls_are.setdefault((number, 1), {}).update(error=REFUSED, status="error")
    past.add("run", dids, state={})
    return past


def figures(key: str, values: list[Any], **more: Any) -> Past:
    past = Past(steps_are={n: {key: value} | more for n, value in enumerate(values, 1)})
    past.add("run", [Did(f"s{n}") for n in range(len(values))], state={})
    return past


def took(*milliseconds: float) -> Past:
    return figures("ended_us", [int(each * 1000) for each in milliseconds], started_us=0)


RETRIED = "was asked {} times with the same"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (["look 1", "look 1"], []),
        (["look 1"] * 3, ["repeated 1 2 3: look was asked 3 times with the same, and the same came back each time"]),
        (["look 1 = a", "look 1 = b", "look 1 = a", "look 1 = b", "look 1 = a"], []),
        (
            [f"look 1 = {n % 2}" for n in range(6)],
            ["repeated 1 2 3 4 5 6: look was asked 6 times with the same, and other things came back"],
        ),
        (["look 1", "look 2", "look 1"], []),
        (["look 1", "find 1", "look 1"], []),
        (
            ["find 0", *["look 1"] * 3, "find 2"],
            ["repeated 2 3 4: look was asked 3 times with the same, and the same came back each time"],
        ),
        (
            ["look 1 !", "look 1", "end 0"],
            [
                "first error 1: look failed in step 1, and the agent went on: Refused: no money",
                "retried 1 2: look failed and was asked 2 times with the same, until it did not fail",
            ],
        ),
        (
            ["go 1", "look 1 !", "look 1 !", "look 1 !"],
            [
                "first error 1 2: look failed in step 2, after step 1 (s1), and the agent went on: Refused: no money",
                "retried 2 3 4: look failed and was asked 3 times with the same, and failed again",
            ],
        ),
        (
            ["look 1 !", "look 1", "look 1 !"],
            ["first error 1: look failed in step 1, and the agent went on: Refused: no money"],
        ),
        (["look 1", "find 1"] * 2, []),
        (
            ["look 1", "find 1"] * 3,
            ["cycle 1 2 3 4 5 6: look, find went round 3 times with the same arguments"],
        ),
        (
            ["go 0", *["look 1", "find 1", "end 1"] * 3, "look 1", "go 1"],
            ["cycle 2 3 4 5 6 7 8 9 10 11: look, find, end went round 3 times with the same arguments"],
        ),
        (
            ["a 1", "b 1", "c 1", "d 1"] * 3,
            ["cycle 1 2 3 4 5 6 7 8 9 10 11 12: a, b, c, d went round 3 times with the same arguments"],
        ),
        (["a 1", "b 1", "c 1", "d 1", "e 1"] * 3, []),
        (
            [*["look 1", "find 1"] * 3, *["find 2", "look 2"] * 3],
            [
                "cycle 1 2 3 4 5 6: look, find went round 3 times with the same arguments",
                "cycle 7 8 9 10 11 12: find, look went round 3 times with the same arguments",
            ],
        ),
        (
            [call for n in range(6) for call in ("look 1", f"find {n}")],
            [
                "repeated 1 3 5 7 9 11: look was asked 6 times with the same, between others, and the same came back",
            ],
        ),
        ([call for n in range(5) for call in ("look 1", f"find {n}")], []),
        ([call for n in range(6) for call in (f"look 1 = {n}", f"find {n}")], []),
        ([call for n in range(6) for call in ("look 1", f"book {n}")], []),
    ],
    ids=lambda made: " ".join(made)[:60] or "nothing",
)
def test_what_is_odd_about_calls(made: list[str], expected: list[str]) -> None:
    assert told(calling(*made)) == expected


def test_calls_of_other_lanes_are_told_apart() -> None:
    lanes: dict[tuple[int, int], dict[str, Any]] = {(n, 1): {"lane": f"lane {n % 2}"} for n in range(1, 7)}
    assert told(calling(*["look 1"] * 4, calls_are=lanes)) == []
    assert told(calling(*["look 1"] * 6, calls_are=lanes)) == [
        "repeated 1 3 5: look was asked 3 times with the same, and the same came back each time",
        "repeated 2 4 6: look was asked 3 times with the same, and the same came back each time",
    ]


@pytest.mark.parametrize(
    "facts",
    [{"kind": "llm"}, {"kind": "clock"}, {"status": "pending"}, {"damaged": "it is"}, {"args": {"$type": "damaged"}}],
)
def test_what_does_not_act_or_cannot_be_read_is_no_repeat(facts: dict[str, Any]) -> None:
    past = calling(*["look 1"] * 4, calls_are={(3, 1): facts})
    assert told(past) == (["repeated 1 2 4: look was asked 3 times with the same, and the same came back each time"])
    past = calling(*["look 1"] * 3, calls_are={(2, 1): facts})
    assert told(past) == []


def test_several_calls_of_one_step_name_it_once() -> None:
    past = Past()
    call = calling("look 1").calls("run", 1)[0]
    past.add("run", [Did("s", tool="look")], state={})
    past.calls = lambda run_id, step: [replace(call, number=n) for n in (1, 2, 3)]  # type: ignore[method-assign]
    assert told(past) == ["repeated 1: look was asked 3 times with the same, and the same came back each time"]


def test_calls_that_were_read_already_are_not_read_again_and_models_steps_never_are() -> None:
    past = calling(*["look 1"] * 3, steps_are={1: {"kind": "llm"}})
    known = {2: past.calls("run", 2)}
    read: list[int] = []
    whole = past.calls

    def calls(run_id: str, step: int) -> list[Call]:
        read.append(step)
        return whole(run_id, step)

    past.calls = calls  # type: ignore[method-assign]
    assert told(past, known=known) == []
    assert read == [3]
    assert told(past, cancelled=lambda: True) == []
    assert read == [3]


def test_the_first_error_is_told_with_the_step_before_it_in_its_lane() -> None:
    past = Past(steps_are={2: {"lane": "b"}, 3: {"lane": "b", "error": REFUSED}})
    past.add("run", [Did("a"), Did("b"), Did("c"), Did("d")], state={}, status="crashed")
    assert told(past) == ["first error 2 3: step 3 (c) failed, after step 2 (b): Refused: no money"]
    past.steps_are = {1: {"error": REFUSED, "name": "odd {after} name"}}
    assert told(past) == ["first error 1: step 1 (odd {after} name) failed: Refused: no money"]
    past.steps_are = {4: {"lane": "b"}}
    assert told(past) == ["first error 4: the run ended after step 4 (d), without a word"]
    past.steps_are = {4: {"lane": "b", "status": "running"}}
    assert told(past) == ["first error 4: the run ended in step 4 (d), without a word"]
    past.add("run", [Did("a"), Did("b")], state={})
    assert told(past) == []


# ---------------------------------------------------------------- figures


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ([*[100] * 7, 500], ["slow 8: step 8 took 0.5 s, usual are 100 ms"]),
        ([*[100] * 7, 400], []),
        ([*[100] * 6, 500], []),
        ([*[10] * 7, 110], []),
        ([*[10] * 7, 111], ["slow 8: step 8 took 111 ms, usual are 10 ms"]),
        ([*[1000, 2000] * 4, 12_000], []),
        ([*[1000, 2000] * 5, 7_431], []),
        ([*[1000, 2000] * 5, 7_500], []),
        ([*[100] * 9, 1_500, 2_500.4], ["slow 10: step 10 took 1.5 s, usual are 100 ms",
                                        "slow 11: step 11 took 2.5 s, usual are 100 ms"]),
    ],
)  # fmt: skip
def test_steps_that_took_far_longer_than_is_usual(figures: list[float], expected: list[str]) -> None:
    found = told(took(*figures))
    if figures[1] == 2000:
        spread = 1.4826 * 500
        usual = sorted(figures)[len(figures) // 2]
        expected = [] if figures[-1] <= max(usual + 8 * spread, 4 * usual) else found
    assert found == expected


def test_of_many_only_the_farthest_are_told_in_the_order_of_their_steps() -> None:
    far = [900, 1_500, 800, 2_000, 1_200, 700, 1_100]
    found = told(took(*[100] * 20, *far))
    assert [line.split(":")[0] for line in found] == ["slow 21", "slow 22", "slow 24", "slow 25", "slow 27"]


def test_steps_around_others_and_those_of_people_are_not_compared() -> None:
    past = took(*[100] * 9, 5_000)
    past.steps_are[3]["parent"] = 10
    assert told(past) == []
    past = took(*[100] * 9, 5_000)
    past.steps_are[10]["kind"] = "human"
    assert told(past) == []
    past = took(*[100] * 9, 5_000)
    past.steps_are[1]["ended_us"] = past.steps_are[2]["ended_us"] = None
    assert told(past) == ["slow 10: step 10 took 5.0 s, usual are 100 ms"]
    past.steps_are[3]["ended_us"] = None
    assert told(past) == []


@pytest.mark.parametrize(
    ("tokens_in", "tokens_out", "expected"),
    [
        ([100] * 8, [*[20] * 7, 600], ["costly 8: step 8 took 700 tokens, usual are 120"]),
        ([100] * 8, [*[20] * 7, 520], []),
        ([100] * 8, [*[20] * 7, 521], ["costly 8: step 8 took 621 tokens, usual are 120"]),
        ([None] * 8, [*[20] * 7, 600], ["costly 8: step 8 took 600 tokens, usual are 20"]),
        ([*[20] * 7, 600], [None] * 8, ["costly 8: step 8 took 600 tokens, usual are 20"]),
        ([None, *[20] * 6, 600], [None] * 8, []),
    ],
)
def test_steps_that_cost_far_more_than_is_usual(
    tokens_in: list[int | None], tokens_out: list[int | None], expected: list[str]
) -> None:
    past = figures("tokens_in", tokens_in)
    for number, tokens in enumerate(tokens_out, 1):
        past.steps_are[number]["tokens_out"] = tokens
    assert told(past) == expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([*range(800, 8_800, 1_000)], ["growing 1 8: what is sent grew from 800 to 7,800 tokens"]),
        ([*range(800, 7_800, 1_000)], []),
        ([800, None, 0, *range(1_800, 8_800, 1_000)], ["growing 1 10: what is sent grew from 800 to 7,800 tokens"]),
        ([800, 1_600, 2_000, 2_500, 3_000, 3_400, 3_700, 4_000], [
            "growing 1 8: what is sent grew from 800 to 4,000 tokens"
        ]),
        ([800, 1_600, 2_000, 2_500, 3_000, 3_400, 3_700, 3_999], []),
        ([700, 1_600, 2_000, 2_500, 3_000, 3_400, 3_700, 3_999], []),
        ([1_000, 1_600, 2_000, 2_500, 3_000, 3_400, 3_700, 4_999], []),
        ([800, 1_600, 1_500, 2_500, 2_400, 3_400, 3_700, 4_000], [
            "growing 1 8: what is sent grew from 800 to 4,000 tokens"
        ]),
        ([800, 1_600, 1_500, 2_500, 2_400, 3_400, 3_300, 4_000], []),
        ([800, 1_600, 1_500, 2_500, 2_400, 3_400, 3_300, 3_600, 4_000], []),
    ],
)  # fmt: skip
def test_what_is_sent_growing_with_every_step(sent: list[int | None], expected: list[str]) -> None:
    assert told(figures("tokens_in", sent)) == expected
