"""Calls: what was asked, what came back, and that the agent notices nothing."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import gc
import inspect
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agent_tt
from agent_tt.errors import UsageError
from agent_tt.recording.calls.signature import CallSpec, Parameters, signature_of_call
from agent_tt.recording.calls.usage import NO_USAGE, Usage, usage_facts, usage_in
from agent_tt.recording.links import Link, Place
from agent_tt.recording.session import SESSION


@agent_tt.tool(effect="read")
def look_up(order_id, *more, limit=5, **rest):
    return {"order": order_id}


def only_call(store):
    (call,) = store.only.calls
    return call


def test_a_call_is_written_with_arguments_by_name_and_its_result(store):
    with agent_tt.record("x") as run, run.step("s"):
        look_up("1", 2, extra=True)
    call = only_call(store)
    assert (call.new.kind, call.name, call.new.effect, call.new.lane, call.new.lane_seq) == (
        "tool",
        "look_up",
        "read",
        "main",
        1,
    )
    assert call.new.args == {"order_id": "1", "more": [2], "limit": 5, "rest": {"extra": True}}
    assert call.end.status == "ok"
    assert call.end.result == {"order": "1"}


def test_the_same_question_has_the_same_signature_however_it_is_put(store):
    with agent_tt.record("x") as run, run.step("s"):
        look_up("1")
        look_up(order_id="1", limit=5)
        look_up("2")
        look_up("1", limit=5.0)
    first, second, other, float_limit = [call.new.signature for call in store.only.calls]
    assert first == second
    assert len({first, other, float_limit}) == 3
    assert len(first) == 32


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), max_size=5))
def test_signatures_are_blind_to_the_order_of_keys(value):
    turned = dict(reversed(list(value.items())))
    parameters = Parameters(look_up)
    a, b = (signature_of_call("tool", "f", parameters.bind((v,), {})) for v in (value, turned))
    assert a == b


def test_an_object_without_data_signs_by_its_class_not_its_address(store):
    @agent_tt.tool
    def ask(client, n):
        return n

    class Client:
        pass

    with agent_tt.record("x") as run, run.step("s"):
        ask(Client(), 1)
        ask(Client(), 1)
    assert len({call.new.signature for call in store.only.calls}) == 1


def test_arguments_and_results_are_kept_as_they_were_at_the_boundary(store):
    @agent_tt.tool
    def drain(items):
        items.clear()
        return items

    with agent_tt.record("x") as run, run.step("s"):
        result = drain([1, 2])
        result.append("later")
    assert only_call(store).new.args == {"items": [1, 2]}
    assert only_call(store).end.result == []


def test_an_exception_is_recorded_and_passes_on_unchanged(store):
    error = OSError(5, "gateway", "/dev/x")

    @agent_tt.tool
    def fail():
        raise error

    with agent_tt.record("x") as run, run.step("s"), pytest.raises(OSError, match="gateway") as caught:
        fail()
    assert caught.value is error
    end = only_call(store).end
    assert end.status == "error"
    assert end.error.class_name == "builtins:OSError"
    assert "raise error" in end.error.traceback
    assert "agent_tt/recording" not in end.error.traceback
    assert end.error.value["extra"]["errno"] == 5


def test_wrong_arguments_raise_what_they_always_raise(store):
    with agent_tt.record("x") as run, run.step("s"), pytest.raises(TypeError, match="order_id"):
        look_up()
    assert only_call(store).new.args == {"args": [], "kwargs": {}}
    assert only_call(store).end.status == "error"


class Shop:
    @agent_tt.tool(effect="write")
    def pay(self, amount):
        return amount

    @agent_tt.tool
    @classmethod
    def opened(cls, day):
        return cls.__name__

    @staticmethod
    @agent_tt.tool
    def tax(self):
        return self


def test_methods_drop_their_object(store):
    with agent_tt.record("x") as run, run.step("s"):
        assert Shop().pay(3) == 3
        assert Shop.opened("Mon") == "Shop"
        assert Shop.tax(2) == 2
    assert [call.new.args for call in store.only.calls] == [{"amount": 3}, {"day": "Mon"}, {}]


def test_what_has_no_signature_is_recorded_by_position(store):
    with agent_tt.record("x") as run, run.step("s"):
        assert run.llm(max, 1, 2) == 2
        assert run.llm(functools.partial(look_up.__wrapped__, "9")) == {"order": "9"}
    first, second = store.only.calls
    assert (first.name, first.new.args) == ("max", {"args": [1, 2], "kwargs": {}})
    assert second.name == "look_up"


def test_functions_keep_their_nature_and_name():
    @agent_tt.tool
    def plain(x: int) -> int:
        """Doc."""
        return x

    @agent_tt.tool
    async def coroutine():
        return 1

    @agent_tt.tool
    def generator():
        yield 1

    @agent_tt.tool
    async def async_generator():
        yield 1

    assert (plain.__name__, plain.__doc__, list(inspect.signature(plain).parameters)) == ("plain", "Doc.", ["x"])
    assert inspect.iscoroutinefunction(coroutine)
    assert inspect.isgeneratorfunction(generator)
    assert inspect.isasyncgenfunction(async_generator)


async def test_outside_a_recording_everything_simply_runs():
    @agent_tt.tool
    async def coroutine():
        return 1

    @agent_tt.tool
    def generator():
        got = yield 1
        return got

    @agent_tt.llm
    async def async_generator():
        got = yield 1
        yield got

    with agent_tt.lane("key"):
        assert look_up("1") == {"order": "1"}
    assert await coroutine() == 1
    stream = generator()
    assert next(stream) == 1
    with pytest.raises(StopIteration) as stop:
        stream.send("in")
    assert stop.value.value == "in"
    async_stream = async_generator()
    assert await anext(async_stream) == 1
    assert await async_stream.asend("in") == "in"


def test_calls_outside_any_step_make_steps_of_their_own(store):
    state = {"n": 0}
    with agent_tt.record("x", state=state):
        state["n"] = 1
        look_up("1")
        with pytest.raises(TypeError):
            look_up()
    assert [(step.name, step.end.status) for step in store.only.steps] == [("look_up", "ok"), ("look_up", "error")]
    assert [len(step.calls) for step in store.only.steps] == [1, 1]
    assert store.only.steps[0].state == {"n": 1}
    assert store.only.status == "succeeded"


def test_a_call_made_inside_another_says_so(store):
    @agent_tt.tool
    def outer():
        return look_up("1")

    with agent_tt.record("x") as run, run.step("s"):
        outer()
        look_up("2")
    first, inner, after = store.only.calls
    assert "inside" not in first.new.meta
    assert inner.new.meta["inside"] == {"step": 1, "call": 1}
    assert "inside" not in after.new.meta


def test_a_call_knows_the_line_that_made_it(store):
    with agent_tt.record("x") as run, run.step("s"):
        line = inspect.currentframe().f_lineno + 1
        look_up("1")
    meta = only_call(store).new.meta
    assert meta["line"] == line
    assert meta["file"].endswith("test_recording_calls.py")


async def test_a_task_that_is_itself_the_call_names_no_line(store):
    @agent_tt.tool
    async def alone():
        return None

    async with agent_tt.record("x") as run, run.step("s"):
        await asyncio.create_task(alone())
    assert "line" not in only_call(store).new.meta


def test_a_step_opened_inside_a_tool_is_nested_in_the_tools_step(store):
    with agent_tt.record("x") as run:

        @agent_tt.tool
        def delegate():
            with run.step("sub"):
                look_up("1")

        with run.step("s"):
            delegate()
    assert store.only.step("sub").new.parent == 1
    assert store.only.step("sub").calls[0].new.meta["inside"] == {"step": 1, "call": 1}


@pytest.mark.parametrize(
    "usage",
    [
        {"tokens_in": 3, "tokens_out": 4, "cost_usd": 0.5},
        {"prompt_tokens": 3, "completion_tokens": 4, "cost_usd": 0.5, "total_tokens": 7},
        SimpleNamespace(input_tokens=3, output_tokens=4, cost_usd=0.5),
    ],
)
@pytest.mark.parametrize("as_object", [False, True])
def test_a_models_usage_is_added_to_call_and_step(store, usage, as_object):
    @agent_tt.llm(model="rules-1")
    def policy(messages):
        return SimpleNamespace(usage=usage) if as_object else {"usage": usage}

    with agent_tt.record("x") as run, run.step("s") as step:
        policy([])
        policy([])
        step.add_usage(tokens_out=1)
    call = store.only.calls[0]
    assert (call.new.kind, call.new.effect, call.new.meta["model"]) == ("llm", None, "rules-1")
    assert call.end.meta == {"tokens_in": 3, "tokens_out": 4, "cost_usd": 0.5}
    end = store.only.steps[0].end
    assert (end.tokens_in, end.tokens_out, end.cost_usd) == (6, 9, 1.0)


def test_usage_that_is_no_count_is_ignored(store):
    with agent_tt.record("x") as run, run.step("s"):
        run.llm(lambda: {"usage": {"tokens_in": "many", "tokens_out": True, "cost_usd": -1}})
        run.llm(lambda: {"usage": "free"})
    assert [call.end.meta for call in store.only.calls] == [{}, {}]
    assert store.only.steps[0].end.tokens_in is None


def test_run_llm_names_the_model_and_gives_it_to_who_takes_it(store):
    def takes(prompt, model):
        return model

    with agent_tt.record("x", model="of-the-run") as run, run.step("s"):
        assert run.llm(takes, "hi", model="m") == "m"
        assert run.llm(lambda prompt: prompt, "hi", model="m") == "hi"
        assert run.llm(lambda: 1) == 1
    assert [call.new.meta["model"] for call in store.only.calls] == ["m", "m", "of-the-run"]
    assert store.only.calls[0].new.args == {"prompt": "hi", "model": "m"}


async def test_an_answer_that_comes_later_ends_its_call_later(store):
    async def ask():
        await asyncio.sleep(0)
        return {"usage": {"tokens_in": 1}}

    async with agent_tt.record("x") as run, run.step("s"):
        pending = run.llm(lambda: ask())
        assert store.only.calls[0].end is None
        await pending
        future = run.llm(lambda: asyncio.ensure_future(ask()))
        assert isinstance(future, asyncio.Future)
        await future
        executor_future = concurrent.futures.Future()
        assert run.llm(lambda: executor_future) is executor_future
        executor_future.set_exception(ValueError("late"))
    assert [call.end.status for call in store.only.calls] == ["ok", "ok", "error"]
    assert store.only.steps[0].end.tokens_in == 2


def test_a_generator_is_recorded_as_it_is_consumed(store):
    @agent_tt.tool
    def count(n):
        got = [None] * n
        for i in range(n):
            got[i] = yield {"i": i}
        return got

    with agent_tt.record("x") as run, run.step("s"):
        stream = count(3)
        assert store.only.calls == []
        assert next(stream) == {"i": 0}
        assert only_call(store).end is None
        assert stream.send("a") == {"i": 1}
        assert next(stream) == {"i": 2}
        with pytest.raises(StopIteration) as stop:
            next(stream)
        assert stop.value.value == ["a", None, None]
    assert only_call(store).end.result == {
        "yielded": [{"i": 0}, {"i": 1}, {"i": 2}],
        "sent": [[0, "a"]],
        "returned": ["a", None, None],
    }


def test_a_generator_left_early_was_closed(store):
    closed = []

    @agent_tt.tool
    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    with agent_tt.record("x") as run, run.step("s"):
        for _ in endless():
            break
        gc.collect()
    assert closed == [True]
    assert only_call(store).end.result == {"yielded": [1], "closed": True}
    assert only_call(store).end.status == "ok"


def test_a_generator_handles_what_is_thrown_in_and_fails_with_what_it_has_given(store):
    @agent_tt.tool
    def stubborn():
        try:
            yield 1
        except KeyError:
            yield 2
        raise ValueError("end")

    with agent_tt.record("x") as run, run.step("s"):
        stream = stubborn()
        next(stream)
        assert stream.throw(KeyError("in")) == 2
        with pytest.raises(ValueError, match="end"):
            next(stream)
    end = only_call(store).end
    assert (end.status, end.result, end.error.message) == ("error", {"yielded": [1, 2]}, "end")


async def test_async_generators_are_recorded_alike(store):
    @agent_tt.llm
    async def stream(n):
        for i in range(n):
            await asyncio.sleep(0)
            yield {"i": i, "usage": {"tokens_out": i}}

    @agent_tt.tool
    async def talk():
        try:
            got = yield 1
            yield got
        except KeyError:
            yield "handled"
        raise ValueError("end")

    async with agent_tt.record("x") as run, run.step("s"):
        assert [item["i"] async for item in stream(3)] == [0, 1, 2]
        early = stream(9)
        await anext(early)
        await early.aclose()
        talking = talk()
        await anext(talking)
        assert await talking.asend("in") == "in"
        assert await talking.athrow(KeyError("x")) == "handled"
        with pytest.raises(ValueError, match="end"):
            await anext(talking)
    whole, closed, failed = [call.end for call in store.only.calls]
    assert [item["i"] for item in whole.result["yielded"]] == [0, 1, 2]
    assert whole.meta == {"tokens_out": 2}
    assert closed.result["closed"] is True
    assert failed.status == "error"
    assert failed.result == {"yielded": [1, "in", "handled"], "sent": [[0, "in"]]}


def test_a_cancelled_call_says_cancelled(store):
    @agent_tt.tool
    async def wait(started):
        started.set()
        await asyncio.Event().wait()

    async def main():
        with agent_tt.record("x") as run, run.step("s"):
            started = asyncio.Event()
            task = asyncio.create_task(wait(started))
            await started.wait()
            task.cancel()
            await asyncio.wait([task])

    asyncio.run(main())
    assert only_call(store).end.error.class_name == "asyncio.exceptions:CancelledError"


def test_an_idempotency_key_is_kept_but_does_not_sign(store):
    @agent_tt.tool(effect="write", idempotency_key="key", name="charge")
    def charge_card(amount, key):
        return amount

    with agent_tt.record("x") as run, run.step("s"):
        charge_card(5, "k1")
        charge_card(5, key="k2")
    first, second = [call.new for call in store.only.calls]
    assert first.signature == second.signature
    assert (first.name, first.meta["idempotency_key"], second.args["key"]) == ("charge", "k1", "k2")


def test_a_wrong_declaration_is_refused_where_it_is_made():
    with pytest.raises(UsageError, match="effect='delete'"):
        agent_tt.tool(effect="delete")
    with pytest.raises(UsageError, match="no parameter 'token'"):
        agent_tt.tool(idempotency_key="token")(lambda amount: amount)


def test_an_idempotency_key_does_not_sign_a_call_either_whose_arguments_a_link_changed(store):
    @agent_tt.tool(effect="write", idempotency_key="key", name="charge")
    def charge(amount, key):
        return amount

    class Doubles(Link):
        place = Place.EDITS

        def edit_call(self, call, args, kwargs, signature):
            return (args[0] * 2, *args[1:]), kwargs

    with SESSION.joined(Doubles()), agent_tt.record("x") as run, run.step("s"):
        assert (charge(5, "k1"), charge(5, "k2")) == (10, 10)
    first, second = (call.new for call in store.only.calls)
    assert first.signature == second.signature


def test_undeclared_tools_write(store):
    @agent_tt.tool
    def act():
        return None

    with agent_tt.record("x") as run, run.step("s"):
        act()
    assert only_call(store).new.effect == "write"


def test_between_the_items_of_a_stream_the_consumer_is_in_no_step_of_it(store):
    @agent_tt.tool
    def numbers():
        look_up("inside")
        yield 1
        yield 2

    with agent_tt.record("x") as run:
        for _ in numbers():
            look_up("between")
            with run.step("consumer"):
                pass
    steps = [
        (step.name, step.new.parent, [call.new.args.get("order_id") for call in step.calls])
        for step in store.only.steps
    ]
    assert steps == [
        ("numbers", None, [None, "inside"]),
        ("look_up", None, ["between"]),
        ("consumer", None, []),
        ("look_up", None, ["between"]),
        ("consumer", None, []),
    ]


def test_what_a_tool_asks_from_its_threads_is_inside_it(store):
    @agent_tt.tool
    def fan_out():
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(look_up, "1").result(20)

    with agent_tt.record("x") as run, run.step("s"):
        fan_out()
    assert store.only.calls[1].new.meta["inside"] == {"step": 1, "call": 1}


@pytest.mark.parametrize("usage", [NO_USAGE, Usage(3, 4, 0.5), Usage(0, None, None), Usage(None, 7, 0.0)])
def test_what_a_call_cost_is_read_back_from_its_facts(usage):
    assert usage_in(usage_facts(usage)) == usage
    assert usage_in({"prompt_tokens": 5, "input_tokens": 6}) == NO_USAGE, "the words of providers are none of ours"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("GET https://host/at?from=https://other/", "GET host/at?from=https://other/"),
        ("look_up", "look_up"),
        ("look up", "look up"),
    ],
)
def test_a_request_is_called_after_where_it_goes(name, title):
    assert CallSpec("http", name, None, Parameters(look_up)).title == title
