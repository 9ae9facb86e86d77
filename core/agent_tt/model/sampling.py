"""Which runs are kept where only a part of those that succeed is to be: decided when a run is over."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt._pattern import lazy_re
from agent_tt.errors import UsageError
from agent_tt.model.quantities import period

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Sampling", "is_in_sample", "sample_id", "sampling_of"]

_TRACE_PARENT: Final = lazy_re(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
"""<https://www.w3.org/TR/trace-context/>: version, trace, parent, flags."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which runs are kept. What did not succeed, or somebody has marked, always is.

    Attributes:
        successes: the part of the successful runs that is kept, 0 to 1.
        slow_us: runs that took as long are kept, in microseconds; None for none.
    """

    successes: float = 1.0
    slow_us: int | None = None


def sampling_of(words: Mapping[str, object]) -> Sampling:
    """The sampling that a table of settings asks for.

    Args:
        words: `successes`, a number from 0 to 1, and `slow`, a length of time (`30s`).

    Raises:
        UsageError: a name is not known, or a value cannot be read.
    """
    successes, slow_us = 1.0, None
    for name, value in words.items():
        if name == "successes":
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise UsageError("successes must be a number from 0 to 1", hint="Write successes = 0.1.")
            successes = float(value)
        elif name == "slow":
            if not isinstance(value, str):
                raise UsageError("slow must be a string", hint='Write slow = "30s".')
            slow_us = period(value)
        else:
            raise UsageError(f"there is no {name!r}", hint="Known are successes, slow.")
    return Sampling(successes, slow_us)


def is_in_sample(trace: str, part: float) -> bool:
    """Whether a trace is among the part that is kept: the same answer in every process.

    Args:
        trace: its id.
        part: 0 to 1.
    """
    return int.from_bytes(blake2b(trace.encode(), digest_size=8, person=b"sampling").digest()) < part * (1 << 64)


def sample_id(run_id: str, environment: Mapping[str, str]) -> str:
    """The id that decides about a run: of the trace that `TRACEPARENT` names, else its own.

    Args:
        run_id: the run.
        environment: that of its process.
    """
    found = _TRACE_PARENT.fullmatch(environment.get("TRACEPARENT", ""))
    return run_id if found is None else found[1]
