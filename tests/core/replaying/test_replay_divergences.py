"""Where an agent is no longer the recorded one: each kind with its name and place, strictly and observing."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import hashlib
import socket
import threading
import uuid

import anyio
import pytest
from tests.core.replaying.recorded import Recorded, record, run_agent

import agent_tt
from agent_tt.replaying.divergence import Divergence, divergence_in
from agent_tt.replaying.findings.question_likeness import changed_parts, looks_made_anew
from agent_tt.replaying.report import AgentEnd, report_from_json, report_of

LONG = " ".join(f"w{number}" for number in range(1500))
QUESTIONS = ["the first question of all", LONG, "a third question, quite short", "and the fourth one, at last"]


@agent_tt.llm
def ask(messages):
    return {"role": "assistant", "content": f"answer to {messages[0]['content'][:20]}"}


def agent(questions):
    return [ask([{"role": "user", "content": question}]) for question in questions]


@pytest.fixture
def recorded(tmp_path) -> Recorded:
    return record(tmp_path, lambda: agent(QUESTIONS))


def kinds(replay):
    return [(finding.kind, finding.step) for finding in replay.findings]


def test_a_change_at_character_5000_names_its_path_and_words(recorded):
    changed = f"{LONG[:5000]}CHANGED{LONG[5001:]}"
    result, replay = recorded.replay(lambda: agent([QUESTIONS[0], changed, *QUESTIONS[2:]]))
    (finding,) = replay.findings
    assert isinstance(result, Divergence)
    assert result.finding is finding is replay.failure
    assert (finding.kind, finding.step, finding.call, finding.lane) == ("changed request", 2, 1, "main")
    assert finding.source.startswith("tests/core/replaying/test_replay_divergences.py:") or "divergences.py:" in (
        finding.source
    )
    (change,) = finding.changes
    assert change.path == "messages[0].content"
    words = [(segment.kind, segment.text) for segment in change.words if segment.kind != "same"]
    assert [kind for kind, _ in words] == ["removed", "added"]
    assert "CHANGED" in words[1][1]
    assert len(words[0][1]) < 20, "only the changed words"
    assert replay.served == 1


def test_swapped_fewer_and_more_are_three_kinds(recorded):
    a, b, c, d = QUESTIONS
    cases = {
        "swapped": ([a, c, b, d], [("changed order", 2)]),
        "one fewer in the midst": ([a, c, d], [("missing call", 2)]),
        "one fewer at the end": ([a, b, c], [("missing call", 4)]),
        "one more at the end": ([a, b, c, d, "and one more"], [("extra call", 5)]),
        "one more in the midst": ([a, b, "something that nobody asked: 12345 67890", c, d], [("extra call", 3)]),
        "asked again": ([a, b, a, c, d], [("extra call", 3)]),
        "as recorded": (QUESTIONS, []),
    }
    for case, (questions, expected) in cases.items():
        result, replay = recorded.replay(lambda questions=questions: agent(questions))
        assert kinds(replay) == expected, case
        assert (replay.failure is None) == (not expected), case
        halts = expected and expected[0][0] in {"changed order", "extra call"}
        assert isinstance(result, Divergence) == bool(halts), case
        assert any("clock patched" in finding.hint for finding in replay.findings) == (case == "asked again"), case


def test_what_was_left_out_is_said_before_what_is_new(recorded):
    a, _, c, _ = QUESTIONS
    _, replay = recorded.replay(lambda: agent([a, c, "nothing like it 1 2 3 4 5 6 7 8 9"]))
    assert kinds(replay) == [("missing call", 2), ("extra call", 3)]
    assert replay.failure.kind == "missing call"


def test_an_unlike_question_shows_the_nearest_recorded_ones(recorded):
    a, b, _, d = QUESTIONS
    _, replay = recorded.replay(lambda: agent([a, b, "words that have nothing in common with any other, not one", d]))
    (finding,) = replay.findings
    assert finding.kind == "extra call"
    assert [near.call.step for near in finding.nearest] == [4, 3] or [near.call.step for near in finding.nearest] == [
        3,
        4,
    ]
    assert all(near.changes for near in finding.nearest)


def test_a_question_that_is_asked_again_names_the_one_that_was_answered(recorded):
    a, b, *_ = QUESTIONS
    _, replay = recorded.replay(lambda: agent([a, b, a]))
    (finding,) = replay.findings
    assert "the same question was answered at step 1" in finding.message
    assert (finding.nearest[0].call.step, finding.nearest[0].likeness, finding.nearest[0].changes) == (1, 1.0, ())
    assert replay.report().failure is finding


def test_observing_collects_every_changed_request_and_serves_its_place(recorded):
    a, b, c, d = QUESTIONS
    changed = [f"{a}!", b.replace("w700 ", "w7OO "), f"{c}?", d]
    result, replay = recorded.replay(lambda: agent(changed), observe=True)
    assert result == recorded.result
    assert kinds(replay) == [("changed request", 1), ("changed request", 2), ("changed request", 3)]
    assert replay.failure is None
    report = report_of(replay, AgentEnd("ended"))
    assert not report.is_faithful
    shape = report.to_json()
    assert [item["changes"][0]["path"] for item in shape["divergences"]] == ["messages[0].content"] * 3
    again = report_from_json(shape)
    assert again.to_json() == shape
    assert [finding.place for finding in again.divergences] == [finding.place for finding in report.divergences]


def test_observing_notes_order_and_missing_calls_and_goes_on(recorded):
    a, b, c, d = QUESTIONS
    result, replay = recorded.replay(lambda: agent([a, c, b, d]), observe=True)
    assert result == [recorded.result[index] for index in (0, 2, 1, 3)]
    assert kinds(replay) == [("changed order", 2)]
    _, replay = recorded.replay(lambda: agent([a, c]), observe=True)
    assert sorted(kinds(replay)) == [("missing call", 2), ("missing call", 4)]


def test_observing_halts_where_there_is_no_answer(recorded):
    result, replay = recorded.replay(lambda: agent([*QUESTIONS, "one more"]), observe=True)
    assert isinstance(result, Divergence)
    assert kinds(replay) == [("extra call", 5)]


def test_a_question_that_was_inserted_is_renamed_when_the_recorded_one_follows(recorded):
    a, b, c, d = QUESTIONS
    result, replay = recorded.replay(lambda: agent([a, b, f"{c} or so", c, d]), observe=True)
    assert kinds(replay) == [("extra call", 3)]
    assert result[3:] == recorded.result[2:]


def test_an_inserted_question_among_equal_ones_takes_no_answer_away(tmp_path):
    numbers = iter(range(10))

    @agent_tt.llm
    def count(messages):
        return next(numbers)

    def ask_all(questions):
        return [count([{"role": "user", "content": question}]) for question in questions]

    recorded = record(tmp_path, lambda: ask_all(["how many now?", "how many now?", "how many then?"]))
    inserted = ["how many now?", "how many are now?", "how many now?", "how many then?"]
    result, replay = recorded.replay(lambda: ask_all(inserted), observe=True)
    assert result == [0, 1, 1, 2]
    (finding,) = replay.findings
    assert (finding.kind, finding.asked) == ("extra call", {"messages": [{"role": "user", "content": inserted[1]}]})


def test_an_unknown_function_is_an_unrecorded_effect(recorded):
    @agent_tt.tool(effect="read")
    def peek(path):
        raise AssertionError("it ran")

    for observe in (False, True):
        result, replay = recorded.replay(lambda: [*agent(QUESTIONS[:1]), peek("/etc")], observe=observe)
        assert isinstance(result, Divergence)
        assert replay.findings[0].kind == "unrecorded effect"
        assert "peek" in replay.findings[0].message
        assert replay.findings[0].source


def test_a_socket_is_an_unrecorded_effect_with_its_line(recorded):
    def reaches_out():
        found = agent(QUESTIONS[:1])
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", 9))
        return found

    result, replay = recorded.replay(reaches_out)
    assert isinstance(result, Divergence)
    assert replay.failure.kind == "unrecorded effect"
    assert "127.0.0.1:9" in replay.failure.message
    assert "test_replay_divergences.py" in replay.failure.source


def test_ids_that_are_made_anew_are_recognised(tmp_path):
    def with_id():
        return ask([{"role": "user", "content": f"my request {uuid.uuid4()} please"}])

    recorded = record(tmp_path, with_id)
    _, replay = recorded.replay(with_id)
    assert replay.failure.kind == "changed request"
    assert "ids or times" in replay.failure.hint


@pytest.mark.parametrize("put_together", ["\n".join, ", ".join, list])
def test_parts_in_another_order_are_not_taken_for_ids(tmp_path, put_together):
    lines = [f"{uuid.uuid4()} of 2024-05-01 12:0{number}" for number in range(4)]
    recorded = record(tmp_path, lambda: ask([{"role": "user", "content": put_together(lines)}]))
    lines[1], lines[2] = lines[2], lines[1]
    _, replay = recorded.replay(lambda: ask([{"role": "user", "content": put_together(lines)}]))
    assert replay.failure.hint.startswith("the same parts in another order")


def test_a_function_called_otherwise_in_another_lane_is_found_in_its_lane(tmp_path):
    @agent_tt.llm
    async def reply(text):
        return text.upper()

    async def team(words):
        async def member(word):
            return await reply(f"the opinion of {word}") + await reply(f"more from {word}, in some detail")

        return await asyncio.gather(*(member(word) for word in words))

    recorded = record(tmp_path, lambda: team(["ann", "bob", "cy"]))
    assert recorded.replay(lambda: team(["ann", "bob", "cy"]))[1].findings == ()
    _, replay = recorded.replay(lambda: team(["ann", "ben", "cy"]))
    (finding,) = replay.findings
    assert finding.kind == "changed request"
    assert finding.lane.endswith("member.1")
    assert finding.changes[0].path == "text"


def test_lanes_that_moved_are_bound_by_what_they_ask(tmp_path):
    @agent_tt.llm
    async def reply(text):
        await asyncio.sleep(0)
        return text.upper()

    async def team(make):
        return await asyncio.gather(*(make(reply(f"question {number}")) for number in range(5)))

    async def deeper(question):
        return await question

    recorded = record(tmp_path, lambda: team(lambda question: question))
    result, replay = recorded.replay(lambda: team(deeper))
    assert result == recorded.result
    assert replay.findings == ()
    assert {note.kind for note in replay.notes.all()} == {"lane moved"}


# ---------------------------------------------------------------- escape


def _raises():
    ask([{"role": "user", "content": "nobody asked this, 123 456 789 0"}])


async def _raises_later():
    await asyncio.sleep(0)
    _raises()


def swallow_by_base():
    for _ in range(3):
        with contextlib.suppress(BaseException):
            _raises()
    return "swallowed"


def swallow_by_return():
    try:
        _raises()
    finally:
        return "swallowed"  # noqa: B012  that is what some agents do


async def swallow_by_gather():
    await asyncio.gather(_raises_later(), return_exceptions=True)
    return "swallowed"


async def swallow_in_a_task():
    task = asyncio.create_task(_raises_later())
    await asyncio.sleep(0.01)
    del task
    gc.collect()
    return "swallowed"


def swallow_in_a_thread():
    thread = threading.Thread(target=_raises)
    thread.start()
    thread.join()
    return "swallowed"


async def swallow_in_a_callback():
    asyncio.get_running_loop().call_soon(_raises)
    await asyncio.sleep(0.01)
    return "swallowed"


async def swallow_in_an_async_generator():
    async def pieces():
        try:
            yield 1
        finally:
            _raises()

    async for _ in pieces():
        break
    gc.collect()
    await asyncio.sleep(0.01)
    return "swallowed"


def swallow_in_del():
    class Closing:
        def __del__(self):
            _raises()

    Closing()
    return "swallowed"


@pytest.mark.parametrize(
    "swallow",
    [
        swallow_by_base,
        swallow_by_return,
        swallow_by_gather,
        swallow_in_a_task,
        swallow_in_a_thread,
        swallow_in_a_callback,
        swallow_in_an_async_generator,
        swallow_in_del,
    ],
)
def test_a_swallowed_divergence_stays(recorded, swallow):
    for observe in (False, True):
        result, replay = recorded.replay(swallow, observe=observe)
        assert result == "swallowed"
        assert replay.failure is not None
        assert replay.failure.kind == "extra call"
    with pytest.raises(Divergence), agent_tt.replaying.served("latest", store=recorded.store):
        run_agent(swallow)


def escape_from_except_exception():
    try:
        _raises()
    except Exception:
        return "swallowed"


async def escape_from_gather():
    return await asyncio.gather(_raises_later(), asyncio.sleep(1))


async def escape_from_a_task_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(_raises_later())
        group.create_task(asyncio.sleep(1))


async def escape_from_anyio():
    async with anyio.create_task_group() as group:
        group.start_soon(_raises_later)


async def escape_from_a_thread():
    return await asyncio.to_thread(_raises)


def escape_from_a_pool():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return pool.submit(_raises).result()


@pytest.mark.parametrize(
    "escape",
    [
        escape_from_except_exception,
        escape_from_gather,
        escape_from_a_task_group,
        escape_from_anyio,
        escape_from_a_thread,
        escape_from_a_pool,
    ],
)
def test_a_divergence_gets_past_what_agents_catch(recorded, escape):
    result, replay = recorded.replay(escape)
    found = divergence_in(result)
    assert found is not None
    assert found.finding is replay.failure


def test_after_a_failure_every_call_fails_in_any_lane(recorded):
    async def stubborn():
        found = []
        for question in ("nobody asked this 1 2 3 4 5 6 7 8", *QUESTIONS):
            with contextlib.suppress(BaseException):
                found.append(await asyncio.to_thread(agent, [question]))
        return found

    result, replay = recorded.replay(stubborn)
    assert result == []
    assert replay.served == 0


def test_of_a_large_body_that_differs_it_is_not_said_that_only_an_id_does():
    """Its digest looks like an id, and says nothing of what differs."""
    digests = [hashlib.blake2b(text, digest_size=16).hexdigest() for text in (b"one", b"other")]
    for key, is_id in (("blake2b", False), ("id", True)):
        one, other = ({"body": {"size": 9, key: digest}} for digest in digests)
        assert looks_made_anew(changed_parts("http", one, other)) is is_id
