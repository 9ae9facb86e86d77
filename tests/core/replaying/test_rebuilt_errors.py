"""Exceptions that were written down come back as they were, and none of the agent's code runs for it."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import types
import urllib.error
from collections import OrderedDict

import anyio
import httpcore
import httpx
import pydantic
import pytest
import requests
from pydantic_core import PydanticCustomError

from agent_tt.errors import NotRebuildable
from agent_tt.intercepting.policy_enforcement import NotRecorded
from agent_tt.recording.errors.exceptions import error_info
from agent_tt.replaying.answers.rebuilt_errors import rebuild_error

RAN: list[str] = []


class Plain(Exception):
    pass


class Detailed(Exception):
    def __init__(self, code, *, detail):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class Slotted(Exception):
    __slots__ = ("__private", "count", "unset")

    def __init__(self, text, count):
        super().__init__(text)
        self.count = count
        self.__private = "p"

    @property
    def private(self):
        return self.__private


class Unreachable(ConnectionError):
    def __init__(self, host):
        super().__init__(111, "refused", host)
        self.host = host


class TwoErrors(ExceptionGroup):
    def __new__(cls, errors, label):
        made = super().__new__(cls, f"{label}: {len(errors)}", errors)
        made.label = label
        return made


class Chatty(type):
    def __getattribute__(cls, name):
        RAN.append(f"metaclass {name}")
        return super().__getattribute__(name)

    def __instancecheck__(cls, value):
        RAN.append("instancecheck")
        return super().__instancecheck__(value)


class Hostile(Exception, metaclass=Chatty):
    def __new__(cls, *args):
        RAN.append("new")
        return super().__new__(cls, *args)

    def __init__(self, *args):
        RAN.append("init")
        super().__init__(*args)

    def __setattr__(self, name, value):
        RAN.append("setattr")
        super().__setattr__(name, value)

    def __getattribute__(self, name):
        RAN.append(f"get {name}")
        return super().__getattribute__(name)

    def __setstate__(self, state):
        RAN.append("setstate")

    def __reduce__(self):
        RAN.append("reduce")
        return super().__reduce__()

    def __repr__(self):
        RAN.append("repr")
        return super().__repr__()

    __str__ = __repr__

    @property
    def args(self):
        RAN.append("property")

    @args.setter
    def args(self, value):
        RAN.append("property set")

    @property
    def trap(self):
        RAN.append("property")

    @trap.setter
    def trap(self, value):
        RAN.append("property set")


class HostileFile(OSError):
    def __new__(cls, *args, **kwargs):
        RAN.append("new")
        return super().__new__(cls, *args)

    @property
    def filename(self):
        RAN.append("property")
        return "wrong"

    @filename.setter
    def filename(self, value):
        RAN.append("property set")


class Model(pydantic.BaseModel):
    a: int
    b: list[int] = []

    @pydantic.field_validator("b")
    @classmethod
    def small(cls, value):
        if len(value) > 1:
            raise ValueError("too many")
        if value == [7]:
            raise PydanticCustomError("unlucky", "{number} is unlucky", {"number": 7})
        return value


def caught(raise_it):
    try:
        raise_it()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def raising(error):
    def fail():
        raise error

    return fail


def chained():
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("middle") from inner
    except ValueError:
        raise Detailed(7, detail={"a": (1, b"x")})  # noqa: B904  its context is the middle one


def suppressed():
    try:
        raise KeyError("inner")
    except KeyError:
        raise ValueError("outer") from None


def noted():
    error = Plain("n")
    error.add_note("first")
    error.add_note("second")
    raise error


def wrapped_as_requests_does():
    """The lower error is argument, attribute and context of the upper one, twice over."""
    try:
        try:
            raise OSError(111, "refused")
        except OSError as low:
            raise urllib.error.URLError(low) from low
    except urllib.error.URLError as middle:
        error = Plain(middle, "text")
        error.reasons = [middle, middle.reason]
        raise error  # noqa: B904  its context is the point


async def grouped():
    async def fail(error):
        raise error

    async with asyncio.TaskGroup() as group:
        group.create_task(fail(Detailed(1, detail="x")))
        group.create_task(fail(OSError(2, "missing", "/a")))


SHAPES = {
    "plain": raising(Plain("a", 1)),
    "no arguments": raising(Plain()),
    "required arguments": raising(Detailed(3, detail="d")),
    "chained": chained,
    "suppressed context": suppressed,
    "slots": raising(Slotted("s", None)),
    "file not found": lambda: open("/nonexistent"),  # noqa: PTH123, SIM115
    "two file names": raising(OSError(18, "link", "/a", None, "/b")),
    "OSError of text": raising(OSError("only text")),
    "OSError subclass": raising(Unreachable("host-1")),
    "blocking": raising(BlockingIOError(11, "again", 5)),
    "timeout": raising(TimeoutError("t")),
    "name lookup": raising(socket.gaierror(-2, "nope")),
    "key": lambda: {}["k"],
    "unicode decode": lambda: b"a\xff".decode(),
    "unicode encode": lambda: "\ud800".encode(),
    "unicode translate": raising(UnicodeTranslateError("abc", 1, 2, "why")),
    "import": lambda: __import__("no_such_module_at_all"),
    "attribute": lambda: (1).missing,
    "name": lambda: missing_name,  # noqa: F821
    "syntax": lambda: compile("a = (", "somewhere.py", "exec"),
    "json": lambda: json.loads("{x"),
    "subprocess": raising(subprocess.CalledProcessError(3, ["x"], b"out", b"err")),
    "stop iteration": raising(StopIteration((1, 2))),
    "exit": raising(SystemExit(3)),
    "exit with text": raising(SystemExit("bye")),
    "keyboard": raising(KeyboardInterrupt()),
    "group": lambda: asyncio.run(grouped()),
    "group of groups": raising(BaseExceptionGroup("o", [ExceptionGroup("i", [Plain(1)]), SystemExit(2)])),
    "group with another constructor": raising(TwoErrors([Plain("x"), ValueError("y")], "both")),
    "notes": noted,
    "error in three places": wrapped_as_requests_does,
    "httpx": raising(httpx.ReadTimeout("slow")),
    "requests": raising(requests.exceptions.ConnectTimeout("slow")),
    "pydantic": lambda: Model(a="x", b={"c": 1}),
    "pydantic value error": lambda: Model(a=1, b=[1, 2]),
    "pydantic custom": lambda: Model(a=1, b=[7]),
    "pydantic json": lambda: Model.model_validate_json('{"a": "x", "b": {}}'),
    "incomplete read": raising(asyncio.IncompleteReadError(b"ab", 5)),
    "cause by hand": raising(asyncio.InvalidStateError("s")),
}


def picture(error, seen=None):
    """All that can be told of an exception, as comparable values."""
    if error is None:
        return None
    seen = seen if seen is not None else {}
    if id(error) in seen:
        return f"same as {seen[id(error)]}"
    seen[id(error)] = len(seen)
    extras = (
        "errno strerror filename filename2 name path msg code value start end object reason encoding lineno offset "
        "text end_lineno end_offset characters_written returncode cmd stdout stderr pos doc partial expected "
        "message count private label host"
    )

    def shown(value):
        if isinstance(value, BaseException):
            return picture(value, seen)
        if isinstance(value, (list, tuple)):
            return type(value), [shown(item) for item in value]
        return repr(value)

    return {
        "class": type(error),
        "args": shown(error.args),
        "str": str(error),
        "repr": repr(error),
        "dict": {name: shown(value) for name, value in sorted(vars(error).items())},
        "extras": {name: shown(getattr(error, name, "-")) for name in extras.split()},
        "members": shown(getattr(error, "exceptions", None)),
        "errors": repr(error.errors()) if isinstance(error, pydantic.ValidationError) else None,
        "cause": picture(error.__cause__, seen),
        "context": picture(error.__context__, seen),
        "suppress": error.__suppress_context__,
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_an_exception_comes_back_exactly(shape):
    error = caught(SHAPES[shape])
    written = json.loads(json.dumps(error_info(error).value))
    rebuilt = rebuild_error(written)
    assert rebuilt is not error
    assert picture(rebuilt) == picture(error)
    assert rebuilt.__traceback__ is None
    with pytest.raises(type(error)):
        raise rebuilt


@pytest.mark.parametrize("kind", [Hostile, HostileFile])
def test_no_code_of_the_class_runs(kind):
    error = kind(2, "two", "/path")
    OrderedDict.__setitem__  # noqa: B018  (nothing of it may run either)
    BaseException.__dict__["__dict__"].__get__(error)["trap"] = "data"
    BaseException.__dict__["__dict__"].__get__(error)["filename"] = "data"
    written = error_info(error).value
    RAN.clear()
    rebuilt = rebuild_error(written)
    assert RAN == []
    assert type(rebuilt) is kind
    assert BaseException.__dict__["args"].__get__(rebuilt) == BaseException.__dict__["args"].__get__(error)
    if kind is HostileFile:
        assert OSError.__dict__["filename"].__get__(rebuilt) == "/path"


def test_what_is_shared_and_what_goes_in_circles_is_so_again():
    error = caught(wrapped_as_requests_does)
    rebuilt = rebuild_error(error_info(error).value)
    assert rebuilt.args[0] is rebuilt.reasons[0] is rebuilt.__context__
    assert rebuilt.__context__.__cause__ is rebuilt.__context__.reason is rebuilt.reasons[1]
    circle = ValueError("a")
    circle.__cause__ = KeyError("b")
    circle.__cause__.__cause__ = circle
    again = rebuild_error(error_info(circle).value)
    assert again.__cause__.__cause__ is again


def test_a_long_chain_is_written_once_and_cut():
    error = None
    for number in range(60):
        later = ValueError(number)
        later.__cause__ = later.__context__ = error
        error = later
    written = error_info(error).value
    assert len(json.dumps(written)) < 10_000
    rebuilt = rebuild_error(written)
    assert rebuilt.__cause__ is rebuilt.__context__
    length = 0
    while rebuilt is not None:
        rebuilt, length = rebuilt.__cause__, length + 1
    assert length == 20


class Used(BaseException):
    pass


def test_an_attribute_that_was_not_recorded_raises_when_it_is_used():
    response = requests.Response()
    response.status_code = 404
    error = requests.HTTPError("404", response=response)
    error.many = [1, {"deep": response}]
    holder = []

    def refuse(class_name, inside):
        holder.append((class_name, inside))
        return Used(class_name)

    rebuilt = rebuild_error(error_info(error).value, unusable=refuse)
    assert str(rebuilt) == "404"
    assert repr(rebuilt) == repr(error)
    assert rebuilt.response is not None
    assert rebuilt.many[0] == 1
    uses = [
        lambda: rebuilt.response.status_code,
        lambda: setattr(rebuilt.response, "x", 1),
        lambda: bool(rebuilt.response),
        lambda: str(rebuilt.response),
        lambda: rebuilt.response == 1,
        lambda: rebuilt.response + 1,
        lambda: 1 + rebuilt.response,
        lambda: {rebuilt.response},
        lambda: list(rebuilt.response),
        lambda: rebuilt.response(),
        lambda: isinstance(rebuilt.response, requests.Response),
        lambda: rebuilt.many[1]["deep"].text,
        lambda: hasattr(rebuilt.response, "json"),
        lambda: f"{rebuilt.response:>3}",
        lambda: rebuilt.response["x"],
    ]
    for use in uses:
        with pytest.raises(Used):
            use()
    assert set(holder) == {("requests.models:Response", "requests.exceptions:HTTPError")}
    assert repr(rebuilt.response) == "<Response [404]>"


def test_without_a_word_of_the_caller_it_is_not_rebuildable():
    rebuilt = rebuild_error(error_info(Plain(object())).value)
    with pytest.raises(NotRebuildable, match="builtins:object"):
        rebuilt.args[0].x  # noqa: B018


def make_local():
    class Local(Exception):
        pass

    return Local


def refused(value, text="it said this"):
    with pytest.raises(NotRebuildable) as raised:
        rebuild_error(value, text=text)
    assert text in str(raised.value)
    return raised.value


def test_a_class_that_is_not_loaded_is_refused_and_not_imported():
    value = error_info(Plain("x")).value
    value["class"] = "wave:Error"
    sys.modules.pop("wave", None)
    error = refused(value)
    assert error.class_name == "wave:Error"
    assert "not loaded" in str(error)
    assert "wave" not in sys.modules


REBUILT = """
import json, sys
import httpcore, httpx
from agent_tt.codec.loaded_classes import loaded_class
from agent_tt.replaying.answers.rebuilt_errors import rebuild_error
assert loaded_class(sys.argv[2]) is None
error = rebuild_error(json.loads(sys.argv[1]))
print(repr(error), repr(str(error)), type(error).__mro__[1].__name__)
"""


@pytest.mark.parametrize(
    ("error", "not_loaded", "shown"),
    [
        (
            httpcore.ReadError(anyio.BrokenResourceError()),
            "anyio:BrokenResourceError",
            "ReadError(BrokenResourceError()) '' NetworkError",
        ),
        (
            NotRecorded("not asked"),
            f"{NotRecorded.__module__}:NotRecorded",
            "NotRecorded('not asked') 'not asked' BaseException",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_an_error_from_what_a_replay_does_not_come_to_comes_back(error, not_loaded, shown):
    recorded = json.dumps(error_info(error).value)
    command = [sys.executable, "-c", REBUILT, recorded, not_loaded]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == f"{shown}\n", done.stderr


def test_a_class_that_is_gone_or_no_exception_or_local_is_refused():
    value = error_info(Plain("x")).value
    for name in (f"{__name__}:Gone", f"{__name__}:make_local", f"{__name__}:Plain.args", "unknown", ":", ""):
        value["class"] = name
        assert "not loaded" in str(refused(value))
    value["class"] = f"{__name__}:OrderedDict"
    assert "not an exception" in str(refused(value))
    assert "not loaded" in str(refused(error_info(make_local()("x")).value))


def test_a_lazy_module_is_not_asked():
    lazy = types.ModuleType("lazy_for_errors")
    lazy.__getattr__ = lambda name: RAN.append(name)
    sys.modules["lazy_for_errors"] = lazy
    try:
        RAN.clear()
        value = error_info(Plain("x")).value
        value["class"] = "lazy_for_errors:Error"
        refused(value)
        assert RAN == []
    finally:
        del sys.modules["lazy_for_errors"]


def test_a_cancellation_may_be_a_cause():
    async def slow():
        async with asyncio.timeout(0):
            await asyncio.sleep(1)

    error = caught(lambda: asyncio.run(slow()))
    rebuilt = rebuild_error(error_info(error).value)
    assert type(rebuilt) is TimeoutError
    assert type(rebuilt.__cause__) is asyncio.CancelledError


def test_a_constructor_in_c_without_an_adapter_is_refused():
    value = error_info(caught(lambda: Model(a="x"))).value
    other = pydantic.PydanticUserError("x", code=None)
    assert type(rebuild_error(error_info(other).value)) is pydantic.PydanticUserError
    value["class"] = "pydantic_core._pydantic_core:PydanticCustomError"
    assert "constructor of its own" in str(refused(value))


@pytest.mark.parametrize(
    "damage",
    [
        None,
        "text",
        {"$type": "exception", "$v": None},
        {"$type": "exception", "class": "builtins:ValueError", "$v": {"args": 3, "attrs": {}}},
        {"$type": "exception", "class": "builtins:ValueError", "$v": {"args": [], "attrs": 3}},
        {"$type": "exception", "class": "builtins:ExceptionGroup", "$v": {"args": [1, 2], "attrs": {}}},
        {"$type": "exception", "class": "builtins:ValueError", "same_as": 4, "$v": {"args": [], "attrs": {}}},
        {"$type": "exception", "class": "builtins:OSError", "extra": {"characters_written": "x"}, "$v": {"args": []}},
        {"$type": "exception", "class": "builtins:ValueError", "slots": {"a": 1}, "$v": {"args": []}},
        {"$type": "exception", "class": "pydantic_core._pydantic_core:ValidationError", "$v": {"args": []}},
    ],
)
def test_a_damaged_envelope_is_refused(damage):
    refused(damage)


def test_the_codecs_own_envelopes_are_taken_too():
    from agent_tt.codec.encode import encode

    rebuilt = rebuild_error(encode(FileNotFoundError(2, "missing", "/a")))
    assert (str(rebuilt), rebuilt.filename) == (str(FileNotFoundError(2, "missing", "/a")), "/a")
