"""Lists the goldens that a server has, and runs one of them on the server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar
from urllib.parse import quote

from agent_tt._dataclass import dataclass
from agent_tt.errors import StoreUnreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.remote.connection import Connection

__all__ = ["GoldenRun", "GoldenStep", "RemoteGolden", "RuleVerdict", "list_goldens", "run_golden"]

T = TypeVar("T")

Verdict: TypeAlias = Literal["passed", "failed", "unknown"]

_VERDICTS: Final[tuple[Verdict, ...]] = ("passed", "failed", "unknown")
_LONGEST_SECONDS: Final = 86_400.0
"""A server answers as soon as it has worked for so long as it was started to: nobody here knows how long that is."""


@dataclass(frozen=True, slots=True)
class RemoteGolden:
    """A golden of the folder that a server was started with.

    Attributes:
        name: its name.
        rules: how many of its rules are judged.
        problem: why it cannot be read; "" where it can.
    """

    name: str
    rules: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What a rule says of the run that came.

    Attributes:
        kind: of the rule.
        sentence: the rule in words.
        verdict: `unknown` where it could not be judged.
        said: why, in words.
        step: the step that it is about; None where it is about none.
    """

    kind: str
    sentence: str
    verdict: Verdict
    said: str
    step: int | None


@dataclass(frozen=True, slots=True)
class GoldenStep:
    """A step of the run that came.

    Attributes:
        number: its number.
        name: its name.
        status: how it ended.
        calls: the names of its calls, in order.
    """

    number: int
    name: str
    status: str
    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """What came of running a golden.

    Attributes:
        name: of the golden.
        outcome: `unknown` where it could not be run or judged, which is neither.
        first: why it did not pass, in one line.
        rules: what each rule that was judged says.
        steps: those of the run that came, 500 at most; none where none came.
    """

    name: str
    outcome: Verdict
    first: str
    rules: tuple[RuleVerdict, ...]
    steps: tuple[GoldenStep, ...]


def list_goldens(connection: Connection) -> list[RemoteGolden]:
    """The goldens of a server.

    Raises:
        StoreUnreadable: it does not answer, or with something else.
    """
    return _made(connection, connection.send("GET", "/api/goldens"), lambda found: [*map(_golden, found["goldens"])])


def run_golden(connection: Connection, name: str, seconds: float | None) -> GoldenRun:
    """Run a golden on its server.

    Raises:
        NotFound: there is none of this name.
        UsageError: the server starts no agents, or no more.
        StoreUnreadable: it does not answer, or with something else.
    """
    body = {} if seconds is None else {"seconds": seconds}
    path = f"/api/goldens/{quote(name, safe='')}/run"
    return _made(connection, connection.send("POST", path, body, _LONGEST_SECONDS), _run)


def _made(connection: Connection, body: bytes, made: Callable[[Any], T]) -> T:
    try:
        return made(json.loads(body))
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        raise StoreUnreadable(f"{connection.url} does not answer as agent-tt does") from error


def _golden(found: Any) -> RemoteGolden:
    return RemoteGolden(str(found["name"]), int(found["rules"]), str(found["problem"] or ""))


def _run(found: Any) -> GoldenRun:
    return GoldenRun(
        str(found["name"]),
        _verdict(found["outcome"]),
        str(found["first"]),
        tuple(
            RuleVerdict(
                str(each["kind"]),
                str(each["sentence"]),
                _verdict(each["verdict"]),
                str(each["said"]),
                None if each["step"] is None else int(each["step"]),
            )
            for each in found["rules"]
        ),
        tuple(
            GoldenStep(
                int(each["step"]),
                str(each["name"]),
                str(each["status"]),
                tuple(str(call["name"]) for call in each["calls"]),
            )
            for each in found["steps"]
        ),
    )


def _verdict(found: Any) -> Verdict:
    if found not in _VERDICTS:
        raise ValueError(found)
    verdict: Verdict = found
    return verdict
