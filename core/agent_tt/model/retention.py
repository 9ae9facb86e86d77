"""How long runs are kept: classes of runs, and what is asked of a store as a whole."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.model.facts import UserFacts
from agent_tt.model.quantities import period, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.model.runs import Run

__all__ = [
    "CLASSES",
    "DEFAULT_AGES",
    "NEVER",
    "Retention",
    "RunClass",
    "age_of",
    "check_keep",
    "class_of",
    "kept_always",
    "retention_of",
]

RunClass: TypeAlias = Literal["test", "success", "failed", "flagged"]
"""By the tags `flagged` and `test`; else by whether the run succeeded."""

CLASSES: Final = get_args(RunClass)
NEVER: Final = "never"
GOLDEN: Final = "golden"
_DAY_US: Final = 86_400 * 1_000_000
DEFAULT_AGES: Final[Mapping[RunClass, int | None]] = {
    "test": _DAY_US,
    "success": 7 * _DAY_US,
    "failed": 30 * _DAY_US,
    "flagged": 90 * _DAY_US,
}


@dataclass(frozen=True, slots=True)
class Retention:
    """What may go from a store. A run goes where one of these says so; None says nothing.

    Attributes:
        ages: the age from which runs of a class go, in microseconds since their end, None for never; without this
            table no run goes by its age, nor by one that its own facts say.
        keep_last: so many of the newest runs stay, and older ones go.
        max_bytes: the oldest runs go until the file is about as small as this.
        is_automatic: whether a recording that ends has the store pruned, once a day.
    """

    ages: Mapping[RunClass, int | None] | None = field(default_factory=lambda: DEFAULT_AGES)
    keep_last: int | None = None
    max_bytes: int | None = None
    is_automatic: bool = False


def retention_of(words: Mapping[str, object]) -> Retention:
    """The retention that a table of settings asks for; what it does not say is as ever.

    Args:
        words: ages by class (`30d` or `never`), `keep_last` (a number), `max_size` (`2GB`) and `automatic` (whether).

    Raises:
        UsageError: a name is not known, or a value cannot be read.
    """
    ages = dict(DEFAULT_AGES)
    keep_last = max_bytes = None
    is_automatic = False
    for name, value in words.items():
        if name == "keep_last":
            if type(value) is not int or value < 1:
                raise UsageError("keep_last must be a number from 1", hint="Write keep_last = 1000.")
            keep_last = value
        elif name == "automatic":
            if not isinstance(value, bool):
                raise UsageError("automatic must be true or false", hint="Write automatic = true.")
            is_automatic = value
        elif name not in (*CLASSES, "max_size"):
            known = ", ".join((*CLASSES, "keep_last", "max_size", "automatic"))
            raise UsageError(f"there is no {name!r}", hint=f"Known are {known}.")
        elif not isinstance(value, str):
            raise UsageError(f"{name} must be a string", hint=f'Write {name} = "…".')
        elif name == "max_size":
            max_bytes = size(value)
        else:
            ages[cast("RunClass", name)] = None if value == NEVER else period(value)
    return Retention(ages, keep_last, max_bytes, is_automatic)


def check_keep(words: str) -> str:
    """Check when a run may be pruned, as `retention` among its facts says it; give that.

    Raises:
        UsageError: it is no age, no class and not `never`.
    """
    if words != NEVER and _said_age(words) is None:
        raise UsageError(
            f"keep={words!r} is not a time that a run is kept", hint=f"Write 30d, {', '.join(CLASSES)} or never."
        )
    return words


def kept_always(run: Run) -> str | None:
    """Why a run is never pruned, in words; None where it may be."""
    if run.damaged is not None:
        return "damaged"
    if run.status == "running":
        return "running"
    if run.pinned:
        return "pinned"
    if GOLDEN in run.tags:
        return "golden"
    said = UserFacts.retention.of(run.metadata)
    if said == NEVER:
        return "to be kept, as its facts say"
    return None if said is None or _said_age(said) is not None else "to be kept in a way that cannot be read"


def class_of(run: Run) -> RunClass:
    """The class of a run, as its facts say or by its tags and its end."""
    said = UserFacts.retention.of(run.metadata)
    if said in CLASSES:
        return cast("RunClass", said)
    for tag in ("flagged", "test"):
        if tag in run.tags:
            return cast("RunClass", tag)
    return "success" if run.status == "succeeded" else "failed"


def age_of(run: Run, ages: Mapping[RunClass, int | None] | None) -> int | None:
    """The age from which a run may go, in microseconds: its own, or that of its class; None for never."""
    if ages is None:
        return None
    said = UserFacts.retention.of(run.metadata)
    own = None if said is None else _said_age(said)
    return own if own else ages[class_of(run)]


def _said_age(said: str) -> int | None:
    """The age that a run's facts say; 0 where they name a class, None where they cannot be read."""
    if said in CLASSES:
        return 0
    try:
        return period(said)
    except UsageError:
        return None
