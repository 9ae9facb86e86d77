"""Explicit ways to the clock, random numbers, ids and the environment, whose values are recorded and given again.

For agents that would rather say so than have names patched: `from agent_tt import shims`, then `shims.now()`. Outside a
recording each is what its original is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, overload

from agent_tt.patching import clock, ids, randomness
from agent_tt.patching.draws import draw
from agent_tt.patching.environment import getenv

if TYPE_CHECKING:
    import datetime as dt
    import uuid
    from collections.abc import MutableSequence, Sequence

__all__ = [
    "choice",
    "environ",
    "monotonic",
    "now",
    "perf_counter",
    "randbytes",
    "randint",
    "random",
    "sample",
    "shuffle",
    "time",
    "time_ns",
    "today",
    "token_hex",
    "uniform",
    "urandom",
    "uuid1",
    "uuid4",
]

T = TypeVar("T")
_RANDOM: Final[dict[str, Any]] = dict(randomness.RANDOM_NAMES)
_TIME = clock.live_reader("time")
_TIME_NS = clock.live_reader("time_ns")
_MONOTONIC = clock.live_reader("monotonic")
_PERF_COUNTER = clock.live_reader("perf_counter")


def time() -> float:
    """Seconds since the epoch."""
    return draw("clock", "time.time", _TIME)


def time_ns() -> int:
    """Nanoseconds since the epoch."""
    return int(draw("clock", "time.time_ns", _TIME_NS))


def monotonic() -> float:
    """Seconds of a clock that never goes back."""
    return draw("clock", "time.monotonic", _MONOTONIC)


def perf_counter() -> float:
    """Seconds of the finest clock."""
    return draw("clock", "time.perf_counter", _PERF_COUNTER)


def now(tz: dt.tzinfo | None = None) -> dt.datetime:
    """The present moment, local and without a zone where none is given."""
    if tz is None:
        return draw("clock", "datetime.now", clock.local_now)
    return draw("clock", "datetime.now", clock.utc_now, aware=True).astimezone(tz)


def today() -> dt.date:
    """The present day."""
    return draw("clock", "date.today", clock.local_day)


def random() -> float:
    """A number of [0, 1)."""
    return float(_RANDOM["random"]())


def uniform(a: float, b: float) -> float:
    """A number between `a` and `b`."""
    return float(_RANDOM["uniform"](a, b))


def randint(a: int, b: int) -> int:
    """A whole number from `a` to `b`, both included."""
    return int(_RANDOM["randint"](a, b))


def randbytes(n: int) -> bytes:
    """`n` bytes."""
    return bytes(_RANDOM["randbytes"](n))


def choice(seq: Sequence[T]) -> T:
    """One of `seq`."""
    return randomness.choice(seq)


def sample(population: Sequence[T], k: int) -> list[T]:
    """`k` of `population`, none twice."""
    return randomness.sample(population, k)


def shuffle(x: MutableSequence[Any]) -> None:
    """Bring `x` into another order, in place."""
    randomness.shuffle(x)


def token_hex(nbytes: int | None = None) -> str:
    """A secret of hexadecimal digits. It is recorded as it is: let it guard nothing but the run itself."""
    token: Any = randomness.SECRETS_NAMES["token_hex"]
    return str(token(nbytes))


def urandom(size: int) -> bytes:
    """`size` bytes of the system's."""
    return randomness.urandom(size)


def uuid1() -> uuid.UUID:
    """An id made of the machine and the time."""
    make: Any = ids.UUID_NAMES["uuid1"]
    return cast("uuid.UUID", make())


def uuid4() -> uuid.UUID:
    """A random id."""
    make: Any = ids.UUID_NAMES["uuid4"]
    return cast("uuid.UUID", make())


@overload
def environ(name: str) -> str | None: ...
@overload
def environ(name: str, default: T) -> str | T: ...


def environ(name: str, default: object = None) -> object:
    """A variable of the environment. Of one that holds a secret only its presence is recorded."""
    return getenv(name, default)
