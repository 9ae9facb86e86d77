"""The clock: `time`, `datetime.datetime` and `datetime.date`.

Where a clock is not recorded but a replay has moved it on, the functions show the moved time, so that a loop that waits
for a deadline ends.
"""

from __future__ import annotations

import datetime as dt
import time as real_time
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.patching.draws import draw
from agent_tt.patching.standins import StandInType, dress
from agent_tt.recording.lanes.hooks import unpatched
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CLOCK", "CLOCK_NAMES", "DATE_NAMES", "live_reader", "local_day", "local_now", "moved_on", "utc_now"]

_NANOSECONDS: Final = 1_000_000_000


class _Switch:
    """Whether the clock is drawn; else it only shows how far it was moved on."""

    is_drawn = True


CLOCK: Final = _Switch()


def moved_on() -> float:
    """Seconds between the real time and what clocks show this code; 0 outside any replay."""
    offsets = SESSION.chain.clock_offset
    return offsets[-1]() if offsets else 0.0


def _drawn(name: str, live: Callable[[], Any], **args: object) -> Any:
    return draw("clock", name, live, **args) if CLOCK.is_drawn else live()


def live_reader(name: str) -> Callable[[], float]:
    """What reads the clock `time.NAME` for real, moved on as far as a replay has."""
    original: Callable[[], float] = unpatched(getattr(real_time, name))
    whole = name.endswith("_ns")

    def live() -> float:
        moved = moved_on()
        return original() + (int(moved * _NANOSECONDS) if whole else moved) if moved else original()

    return live


def _reader(name: str) -> Callable[[], float]:
    live = live_reader(name)

    def read() -> float:
        return cast("float", _drawn(f"time.{name}", live))

    read.__name__ = read.__qualname__ = name
    read.__doc__ = getattr(real_time, name).__doc__
    return read


def _struct(name: str) -> Callable[..., real_time.struct_time]:
    original: Callable[..., real_time.struct_time] = unpatched(getattr(real_time, name))

    def live() -> list[object]:
        now = original(real_time.time() + moved_on())
        return [*now, now.tm_zone, now.tm_gmtoff]

    def read(seconds: float | None = None, /) -> real_time.struct_time:
        return original(seconds) if seconds is not None else real_time.struct_time(_drawn(f"time.{name}", live))

    read.__name__ = read.__qualname__ = name
    read.__doc__ = original.__doc__
    return read


def _now() -> real_time.struct_time:
    return real_time.localtime(real_time.time() + moved_on())


def strftime(format: str, t: Any = None, /) -> str:  # noqa: A002  its name in the original
    """As `time.strftime`; without a time it is the present one."""
    if t is not None:
        return real_time.strftime(format, t)
    return str(_drawn("time.strftime", lambda: real_time.strftime(format, _now()), format=format))


def ctime(seconds: float | None = None, /) -> str:
    """As `time.ctime`."""
    if seconds is not None:
        return real_time.ctime(seconds)
    return str(_drawn("time.ctime", lambda: real_time.asctime(_now())))


def asctime(t: Any = None, /) -> str:
    """As `time.asctime`."""
    if t is not None:
        return real_time.asctime(t)
    return str(_drawn("time.asctime", lambda: real_time.asctime(_now())))


_READERS: Final = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
CLOCK_NAMES: Final[Mapping[str, object]] = {
    **{name + unit: _reader(name + unit) for name in _READERS for unit in ("", "_ns")},
    "localtime": _struct("localtime"),
    "gmtime": _struct("gmtime"),
    "strftime": strftime,
    "ctime": ctime,
    "asctime": asctime,
}
"""What `time` has instead, by name."""


def local_now() -> dt.datetime:
    """The present moment where we are, without a zone, moved on as far as a replay has."""
    return dt.datetime.now() + dt.timedelta(seconds=moved_on())  # noqa: DTZ005  what the agent asks for


def utc_now() -> dt.datetime:
    """The present moment in UTC, moved on as far as a replay has."""
    return dt.datetime.now(dt.UTC) + dt.timedelta(seconds=moved_on())


def local_day() -> dt.date:
    """The present day where we are."""
    return local_now().date()


class _Schema:
    """What pydantic asks a class for: the schema of what it stands for."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: Callable[[object], object]) -> object:
        return handler(vars(cls).get("_original", source))


class datetime(dt.datetime, _Schema, metaclass=StandInType):  # noqa: N801  it stands for a class of this name
    """In place of `datetime.datetime`. What it makes are real ones."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_original" in vars(cls):
            return dt.datetime(*args, **kwargs)  # noqa: DTZ001  whatever was asked for
        return super().__new__(cls, *args, **kwargs)  # a class that the agent has derived

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        """As `datetime.datetime.now`."""
        if tz is None:
            return cls._made(_drawn("datetime.now", local_now))
        return cls._made(_drawn("datetime.now", utc_now, aware=True).astimezone(tz))

    @classmethod
    def utcnow(cls) -> Any:
        """As `datetime.datetime.utcnow`."""
        return cls._made(_drawn("datetime.utcnow", lambda: utc_now().replace(tzinfo=None)))

    @classmethod
    def today(cls) -> Any:
        """As `datetime.datetime.today`."""
        return cls._made(_drawn("datetime.today", local_now))

    @classmethod
    def _made(cls, moment: dt.datetime) -> Any:
        if "_original" in vars(cls):
            return moment
        return cls.combine(moment.date(), moment.timetz())


class date(dt.date, _Schema, metaclass=StandInType):  # noqa: N801  as above
    """In place of `datetime.date`."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if "_original" in vars(cls):
            return dt.date(*args, **kwargs)
        return super().__new__(cls, *args, **kwargs)

    @classmethod
    def today(cls) -> Any:
        """As `datetime.date.today`."""
        day = _drawn("date.today", local_day)
        return day if "_original" in vars(cls) else cls(day.year, day.month, day.day)


dress(datetime, dt.datetime)
dress(date, dt.date)

DATE_NAMES: Final[Mapping[str, object]] = {"datetime": datetime, "date": date}
"""What `datetime` has instead, by name."""
