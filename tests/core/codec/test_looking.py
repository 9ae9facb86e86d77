"""Whatever an object does when it is looked at, the agent goes on; a real Ctrl-C still comes through."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.codec.encode import encode
from agent_tt.codec.looking import is_looking, must_go_on, shortened
from agent_tt.model import NO_USAGE
from agent_tt.recording.calls.usage import usage_of
from agent_tt.recording.errors.exceptions import MOST_TEXT, error_info

RAISED = (SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), RecursionError(), ValueError())


def evil(error: BaseException) -> list[object]:
    """Objects that raise it wherever they are looked at."""

    def fail(*_: object, **__: object) -> Any:
        raise error

    def of(name: str, *bases: type, **members: object) -> object:
        made = type(name, bases, members)
        return made.__new__(made)  # type: ignore[call-overload]

    meta: Any = type(
        "Meta",
        (type,),
        {
            "__module__": property(fail),
        },
    )
    return [
        of("Repr", __repr__=fail),
        of("Class", __class__=property(fail), __repr__=fail),
        of("Attributes", __getattr__=fail),
        of("Everything", __getattribute__=fail, __repr__=fail),
        of("Items", Mapping, __getitem__=fail, __iter__=fail, __len__=fail, __repr__=fail, get=fail, keys=fail),
        of("Dict", dict, __getitem__=fail, __iter__=fail, __len__=fail, items=fail, keys=fail, get=fail),
        of("List", list, __iter__=fail, __len__=fail, __getitem__=fail),
        of("Text", str, __str__=fail, __len__=fail, __getitem__=fail, encode=fail),
        of("Number", int, __int__=fail, __index__=fail, __repr__=fail),
        of("Equal", __eq__=fail, __hash__=fail, __bool__=fail),
        of("Fields", __pydantic_fields__={}, __pydantic_fields_set__=property(fail)),
        of("Array", __module__="numpy", dtype=property(fail), tobytes=fail),
        of("Usage", usage=property(fail)),
        meta("Named", (), {})(),
        of("Inside", __dict__=property(fail)),
    ]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_object_may_raise_anything_when_it_is_looked_at(error: BaseException, tmp_path: Any) -> None:
    for value in evil(error):
        json.dumps(encode([value]))
        assert usage_of(value) == NO_USAGE

        @agent_tt.tool(effect="read")
        def tool(given: object) -> object:
            return given

        with agent_tt.record("x", state={"held": value}, store=tmp_path / "runs.db") as run:
            with run.step("s", {"held": value}):
                assert tool(value) is value
            run.step("t", value).open()


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_exception_may_raise_anything_when_it_is_looked_at(error: BaseException) -> None:
    def fail(*_: object) -> Any:
        raise error

    broken = type("Broken", (Exception,), {"__str__": fail, "__repr__": fail, "__class__": property(fail)})
    info = error_info(broken("words"))
    assert info.message == f"<str failed: {type(error).__name__}>"
    assert info.class_name.endswith(":Broken")


def test_an_agent_whose_objects_end_the_process_when_they_are_looked_at_goes_on(tmp_path: Any) -> None:
    code = f"""
import agent_tt, sys
class Bad:
    def __repr__(self): raise SystemExit(9)
    usage = property(lambda self: sys.exit(9))
class Worse(Exception):
    def __str__(self): raise KeyboardInterrupt
@agent_tt.tool
def act(x): return x
@agent_tt.tool
def fail(): raise Worse
with agent_tt.record("x", state={{"b": Bad()}}, store={str(tmp_path / "runs.db")!r}) as run, run.step("s"):
    bad = Bad()
    assert act(bad) is bad
    try: fail()
    except Worse: print("went on")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert (ended.stdout, ended.returncode) == ("went on\n", 0), ended.stderr


class Endless:
    def __repr__(self) -> str:
        count = 0
        while True:
            count += 1


class Recursive:
    def __repr__(self) -> str:
        return repr(self)


class Generating:
    def __repr__(self) -> str:
        return str(sum(1 for _ in itertools.count()))


class Stubborn:
    def __repr__(self) -> str:
        try:
            while True:
                pass
        except Exception:
            return "caught"


class Long:
    def __repr__(self) -> str:
        return "x" * 50_000_000


class NoText:
    def __repr__(self) -> str:
        return 3  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Endless(), "<repr failed: it took too long>"),
        (Generating(), "<repr failed: it took too long>"),
        (Stubborn(), "<repr failed: it took too long>"),
        (Recursive(), "<repr failed: RecursionError>"),
        (NoText(), "<repr failed: TypeError>"),
        (Long(), "x" * 400),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_repr_without_end_is_ended(value: object, said: str) -> None:
    before = sys.gettrace()
    if before is not None:
        sys.settrace(None)  # a tool that measures coverage: what is traced already is not bounded
    try:
        assert encode(value)["repr"] == said  # type: ignore[index,call-overload]
    finally:
        sys.settrace(before)


def test_a_message_and_a_traceback_are_kept_up_to_a_bound() -> None:
    try:
        raise ValueError("y" * (3 * MOST_TEXT))
    except ValueError as error:
        info = error_info(error)
    assert len(info.message) == MOST_TEXT
    assert len(info.traceback) < 1.01 * MOST_TEXT
    assert "characters left out" in info.traceback
    assert shortened("short", 10) == "short"


def test_what_an_object_does_while_it_is_looked_at_is_not_recorded(tmp_path: Any) -> None:
    heard = []

    @agent_tt.tool(effect="write")
    def act() -> str:
        heard.append(is_looking())
        return "done"

    class Calls:
        def __repr__(self) -> str:
            return act()

    with agent_tt.record("x", store=tmp_path / "runs.db") as run, run.step("s"):
        agent_tt.tool(effect="read", name="give")(Calls)()
    with contextlib.closing(agent_tt.open_source(tmp_path / "runs.db")) as source:
        assert [call.name for call in source.calls(source.run("x").id, 1)] == ["give"]
    assert heard
    assert all(heard)
    assert not is_looking()


# ---------------------------------------------------------------- signals


class Waits:
    """Its `__repr__` runs until a signal comes: sent by itself, so that no time passes."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        os.kill(os.getpid(), self.number)
        for _ in range(1000):  # the handler runs between two of these
            pass
        return "went on"


def test_a_real_interrupt_ends_the_look_and_the_agent() -> None:
    with pytest.raises(KeyboardInterrupt):
        encode(Waits(signal.SIGINT))
    assert not is_looking()
    assert sys.gettrace() is None or "trace" not in getattr(sys.gettrace(), "__qualname__", "")


def test_the_agents_own_alarm_goes_through() -> None:
    def ring(_number: int, _frame: object) -> None:
        raise TimeoutError("time is up")

    before = signal.signal(signal.SIGUSR1, ring)
    try:
        with pytest.raises(TimeoutError, match="time is up"):
            encode(Waits(signal.SIGUSR1))
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_interrupt_that_an_object_raises_itself_is_its_own() -> None:
    class Raises:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    assert encode(Raises())["repr"] == "<repr failed: KeyboardInterrupt>"  # type: ignore[index,call-overload]
    found: list[bool] = []

    def elsewhere() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            found.append(must_go_on(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [False]


# ---------------------------------------------------------------- what a tool gives is what the agent gets


class Context:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Awaitable:
    def __await__(self) -> Any:
        yield from ()
        return 1


class Iterates:
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> int:
        raise StopIteration


class AsyncIterates:
    def __aiter__(self) -> AsyncIterates:
        return self


class Pretends:
    """It says that it is a generator."""

    __class__ = property(lambda self: type(x for x in ()))  # type: ignore[assignment]


class Color(enum.Enum):
    RED = 1


@dataclass
class Data:
    x: int = 1


KEPT: list[object] = [
    *(None, True, 3, 2.5, "text", b"bytes", [1], (1,), {"a": 1}, {1}, frozenset((1,)), range(3), bytearray(b"x")),
    *(Context(), Awaitable(), Iterates(), AsyncIterates(), Pretends(), Data(), Color.RED, ValueError("x"), len, Data),
    *(io.BytesIO(b"x"), io.StringIO("x"), iter([1]), map(str, [1]), zip([1]), memoryview(b"x"), threading.Lock()),
    *(contextlib.nullcontext(), contextlib.ExitStack(), lambda: None, object(), NotImplemented, Ellipsis),
]


@pytest.mark.parametrize("value", KEPT, ids=lambda value: type(value).__name__)
async def test_a_tool_gives_the_very_object_that_its_function_gave(value: object, tmp_path: Any) -> None:
    @agent_tt.tool(effect="read")
    def plain() -> object:
        return value

    @agent_tt.tool(effect="read")
    async def awaited() -> object:
        return value

    with agent_tt.record("x", store=tmp_path / "runs.db") as run, run.step("s"):
        assert plain() is value
        assert await awaited() is value


async def test_futures_are_the_same_and_generators_keep_their_type(tmp_path: Any) -> None:
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    future.set_result(1)

    def numbers() -> Any:
        yield 1

    async def later() -> Any:
        yield 1

    async def soon() -> int:
        return 1

    def give(what: Any) -> Any:
        return what

    tool = agent_tt.tool(effect="read")(give)
    with agent_tt.record("x", store=tmp_path / "runs.db") as run, run.step("s"):
        assert tool(future) is future
        assert await future == 1
        for made in (numbers(), agent_tt.tool(numbers)()):
            assert type(tool(made)) is type(numbers())
        stream = tool(later())
        assert type(stream) is type(later())
        assert [piece async for piece in stream] == [1]
        coroutine = tool(soon())
        assert asyncio.iscoroutine(coroutine)
        assert await coroutine == 1
