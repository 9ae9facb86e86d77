"""A served call gives what was recorded, in the shape in which its function gave it, and the function does not run."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import datetime as dt
import enum
import gc
import itertools
import threading
from decimal import Decimal

import pytest
from tests.core.replaying.recorded import Recorded, read, record, run_agent

import agent_tt
from agent_tt.replaying.divergence import Divergence

RAN = itertools.count()


def runs() -> int:
    """How many real functions have run so far."""
    return next(RAN)


def is_faithful(recorded: Recorded, agent) -> None:
    before = runs()
    result, replay = recorded.replay(agent)
    assert replay.findings == ()
    assert runs() == before + 1, "a function really ran"
    if isinstance(recorded.result, BaseException):
        assert type(result) is type(recorded.result)
        assert str(result) == str(recorded.result)
    else:
        assert result == recorded.result
        assert type(result) is type(recorded.result)
    assert replay.served == len(replay.tape.calls)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Parcel:
    weight: Decimal
    sent: dt.datetime
    colour: Colour


@agent_tt.tool(effect="read")
def weigh(number):
    runs()
    return Parcel(Decimal("1.20") * number, dt.datetime(2026, 3, 2, tzinfo=dt.UTC), Colour.RED)


def test_typed_results_are_made_again_with_the_loaded_classes(tmp_path):
    def agent():
        return [weigh(1), weigh(number=2)]

    is_faithful(record(tmp_path, agent), agent)


class Refused(Exception):
    def __init__(self, code: int, *, retry: bool) -> None:
        super().__init__(f"refused with {code}")
        self.code = code
        self.retry = retry


@agent_tt.tool
def charge(amount):
    runs()
    try:
        raise KeyError("limit")
    except KeyError as error:
        raise Refused(402, retry=amount > 5) from error


def test_an_exception_is_raised_again_with_its_attributes_and_cause(tmp_path):
    def agent():
        seen = []
        for amount in (3, 9):
            try:
                charge(amount)
            except Refused as error:
                seen.append((error.code, error.retry, str(error), repr(error.__cause__)))
        return seen

    is_faithful(record(tmp_path, agent), agent)


def test_an_exception_that_leaves_the_agent_leaves_it_again(tmp_path):
    def agent():
        charge(1)

    is_faithful(record(tmp_path, agent), agent)


@agent_tt.llm
def stream(words):
    runs()
    for word in words:
        heard = yield {"delta": word}
        if heard == "stop":
            break
    return "end"


@agent_tt.llm
async def stream_slowly(words):
    runs()
    for word in words:
        await asyncio.sleep(0)
        yield {"delta": word}


def test_streams_come_piece_by_piece_with_what_they_return(tmp_path):
    def agent():
        found = []

        def relay():
            found.append((yield from stream(["a", "b", "c"])))

        return [*relay(), *found]

    is_faithful(record(tmp_path, agent), agent)


def test_async_streams_come_piece_by_piece(tmp_path):
    async def agent():
        return [piece async for piece in stream_slowly(["a", "b", "c"])]

    is_faithful(record(tmp_path, agent), agent)


def test_a_stream_that_is_left_early_is_left_early_again(tmp_path):
    def agent():
        first = next(iter(stream(["a", "b", "c"])))
        gc.collect()
        return [first, weigh(1)]

    is_faithful(record(tmp_path, agent), agent)


def test_leaving_a_stream_even_earlier_holds_nobody_up(tmp_path):
    def agent(pieces):
        taken = list(itertools.islice(stream(["a", "b", "c"]), pieces))
        return [*taken, weigh(1)]

    recorded = record(tmp_path, lambda: agent(3))
    result, replay = recorded.replay(lambda: agent(1))
    assert replay.findings == ()
    assert result == [recorded.result[0], recorded.result[-1]]


def test_reading_on_where_the_recording_stopped_reading_halts(tmp_path):
    def agent(pieces):
        return list(itertools.islice(stream(["a", "b", "c"]), pieces))

    recorded = record(tmp_path, lambda: agent(2))
    for observe in (False, True):
        result, replay = recorded.replay(lambda: agent(3), observe=observe)
        assert isinstance(result, Divergence)
        assert [finding.kind for finding in replay.findings] == ["read past the recorded part"]
        assert replay.findings[0].name == "stream"


def test_what_is_sent_into_a_stream_must_be_what_was_sent(tmp_path):
    def agent(word):
        talk = stream(["a", "b", "c"])
        found = [next(talk)]
        try:
            found.append(talk.send(word))
        except StopIteration as stop:
            found.append(stop.value)
        return found

    for word in ("go on", "stop"):
        is_faithful(record(tmp_path, lambda word=word: agent(word)), lambda word=word: agent(word))
    result, replay = read(tmp_path / "runs.db").replay(lambda: agent("another"))
    assert isinstance(result, Divergence)
    assert replay.findings[0].kind == "changed request"
    assert replay.findings[0].changes[0].path == 'sent["0"]'


def test_a_stream_that_fails_in_the_midst_fails_there_again(tmp_path):
    @agent_tt.llm
    def broken():
        runs()
        yield "half"
        raise ConnectionResetError(104, "reset by peer")

    def agent():
        found = []
        try:
            found.extend(broken())
        except ConnectionResetError as error:
            found.append(error.errno)
        return found

    is_faithful(record(tmp_path, agent), agent)


def test_what_is_thrown_into_a_stream_is_handled_as_it_was(tmp_path):
    @agent_tt.tool
    def patient(answers):
        runs()
        for answer in answers:
            try:
                yield answer
            except ValueError:
                yield "caught"

    def agent():
        talk = patient([1, 2])
        found = [next(talk), talk.throw(ValueError("oh"))]
        try:
            talk.throw(KeyError("mine"))
        except KeyError as error:
            found.append(repr(error))
        return found

    is_faithful(record(tmp_path, agent), agent)


def test_a_plain_function_that_gives_a_coroutine_a_generator_or_a_future_does_so_again(tmp_path):
    async def later(number):
        runs()
        await asyncio.sleep(0)
        return number

    def several(number):
        runs()
        yield from range(number)

    async def several_later(number):
        runs()
        for item in range(number):
            yield item

    async def agent():
        loop = asyncio.get_running_loop()
        give = agent_tt.tool(lambda number: later(number))
        give_several = agent_tt.tool(lambda number: several(number))
        give_later = agent_tt.tool(lambda number: several_later(number))
        give_task = agent_tt.tool(lambda number: loop.create_task(later(number)))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            give_future = agent_tt.tool(lambda number: pool.submit(lambda: [runs(), number][1]))
            return [
                await give(1),
                list(give_several(2)),
                [item async for item in give_later(3)],
                await give_task(4),
                await asyncio.wrap_future(give_future(5)),
            ]

    is_faithful(record(tmp_path, agent), agent)


def test_calls_inside_a_served_call_are_not_asked(tmp_path):
    @agent_tt.tool
    async def inner(number):
        runs()
        return number

    @agent_tt.tool
    async def outer():
        runs()
        return sum(await asyncio.gather(*(asyncio.create_task(inner(number)) for number in range(3))))

    async def agent():
        first = await outer()
        # The same coroutine as inside: its lanes are numbered as if the inner ones had never been.
        return [first, *await asyncio.gather(*(asyncio.create_task(inner(number)) for number in (7, 8)))]

    recorded = record(tmp_path, agent)
    is_faithful(recorded, agent)
    _, replay = recorded.replay(agent)
    assert replay.tape.nested == 3
    assert replay.notes.all() == ()


def test_calls_of_a_thread_that_outlives_the_tool_that_started_it_are_not_asked(tmp_path):
    started, go_on, done = threading.Event(), threading.Event(), threading.Event()

    @agent_tt.tool
    def ping():
        runs()
        return "pong"

    @agent_tt.tool
    def start():
        runs()

        def work():
            go_on.wait(10)
            ping()
            done.set()

        threading.Thread(target=work).start()
        return "started"

    def agent():
        first = start()
        go_on.set()
        if not started.is_set():
            assert done.wait(10)
            started.set()
        return first

    is_faithful(record(tmp_path, agent), agent)


def test_a_call_that_was_cancelled_hangs_until_it_is_cancelled_again(tmp_path):
    @agent_tt.llm
    async def slow():
        runs()
        await asyncio.sleep(3600)

    async def agent():
        found = []
        task = asyncio.create_task(slow())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            found.append("cancelled")
        try:
            await asyncio.wait_for(slow(), 0.001)
        except TimeoutError:
            found.append("timed out")
        return found

    is_faithful(record(tmp_path, agent), agent)


def test_an_agent_that_waits_for_what_was_cancelled_halts(tmp_path):
    @agent_tt.llm
    async def slow():
        await asyncio.sleep(3600)

    async def agent(patience):
        try:
            await asyncio.wait_for(slow(), patience)
        except TimeoutError:
            return "timed out"

    recorded = record(tmp_path, lambda: agent(0.001))
    result, replay = recorded.replay(lambda: agent(None))
    assert isinstance(result, Divergence)
    assert replay.findings[0].kind == "read past the recorded part"
    assert recorded.replay(lambda: agent(7200))[0] == "timed out"


def test_no_time_passes_in_a_replay(tmp_path):
    @agent_tt.tool
    async def fetch(number):
        runs()
        if number < 2:
            raise ConnectionError("try again")
        return number

    async def agent():
        found = []
        while not found:
            try:
                found.append(await fetch(len(tries)))
            except ConnectionError:
                tries.append("failed")
                await asyncio.sleep(1000 if waits_long else 0.002)
        return found

    waits_long, tries = False, []
    recorded = record(tmp_path, agent)
    waits_long, tries = True, []
    is_faithful(recorded, agent)


def test_a_result_that_was_recorded_only_as_text_halts(tmp_path):
    @agent_tt.tool
    def connect():
        return threading.Lock()

    recorded = record(tmp_path, connect)
    result, replay = recorded.replay(connect, observe=True)
    assert isinstance(result, Divergence)
    assert replay.findings[0].kind == "changed result type"
    assert "lock" in replay.findings[0].message


def test_methods_and_bound_arguments_are_the_same_question(tmp_path):
    class Shop:
        def __init__(self, prices):
            self.prices = prices

        @agent_tt.tool(effect="read")
        def price(self, item, currency="EUR"):
            runs()
            return self.prices[item]

    recorded = record(tmp_path, lambda: [Shop({"a": 1}).price("a"), Shop({"a": 1}).price("a", "USD")])
    is_faithful(recorded, lambda: [Shop({}).price(item="a", currency="EUR"), Shop({}).price(currency="USD", item="a")])


def test_a_block_of_code_can_be_served_without_the_rest(tmp_path):
    def agent():
        return [weigh(1), weigh(2), weigh(3)]

    recorded = record(tmp_path, agent)
    with agent_tt.replaying.served("latest", store=recorded.store, whole=False):
        assert weigh(1) == recorded.result[0]
    with agent_tt.replaying.served("agent", store=recorded.store, from_step=1) as replay:
        assert [weigh(2), weigh(3)] == recorded.result[1:]
    assert replay.served == 2
    with (
        pytest.raises(Divergence, match="was called when this was recorded"),
        agent_tt.replaying.served("latest", store=recorded.store),
    ):
        weigh(1)


def test_nothing_of_a_replay_is_recorded(tmp_path):
    recorded = record(tmp_path, lambda: weigh(1))
    before = recorded.store.read_bytes()
    again = agent_tt.record("again", store=tmp_path / "other.db")
    with recorded.replaying(), again as run, run.step("s", {"a": 1}):
        weigh(1)
        run.note("a note")
        run.tag("a tag")
    assert recorded.store.read_bytes() == before
    assert not (tmp_path / "other.db").exists()


def test_a_run_that_broke_off_halts_where_it_did(tmp_path):
    recorded = record(tmp_path, lambda: [weigh(1), weigh(2)])
    (first, _), (second, _) = recorded.calls
    broken = dataclasses.replace(second, status="pending", result=None, delivered=None, ended_us=None)
    crashed = Recorded(
        recorded.store, dataclasses.replace(recorded.run, status="crashed"), [(first, []), (broken, [])], None
    )
    result, replay = crashed.replay(lambda: [weigh(1), weigh(2)])
    assert isinstance(result, Divergence)
    assert replay.findings[0].kind == "read past the recorded part"
    assert "broke off" in replay.findings[0].message
    _, replay = crashed.replay(lambda: weigh(1))
    assert replay.findings == (), "what was in flight when it crashed need not be asked"


def test_outside_any_replay_functions_run(tmp_path):
    recorded = record(tmp_path, lambda: weigh(1))
    recorded.replay(lambda: weigh(1))
    before = runs()
    assert run_agent(lambda: weigh(5), store=tmp_path / "more.db").weight == Decimal("6.00")
    assert runs() == before + 2


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit])
def test_what_a_plain_function_raises_is_its_answer_though_it_is_a_cancellation(tmp_path, kind):
    @agent_tt.tool(effect="read")
    def wait_for_nothing():
        runs()
        raise kind("gone")

    def agent():
        try:
            wait_for_nothing()
        except kind as error:
            return type(error), error.args

    is_faithful(record(tmp_path, agent), agent)
