"""What can be counted over the runs of a file.

None stands for what the file does not say. What is not known is never a zero.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.model.usage import NO_USAGE, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.model.kinds import RunStatus
    from agent_tt.model.replays import ReplayVerdict

__all__ = [
    "NO_SPREAD",
    "CallGroup",
    "CallGroups",
    "Checkpoints",
    "Chosen",
    "ErrorGroup",
    "Loop",
    "NotableStep",
    "Replays",
    "RunGroup",
    "RunGroups",
    "Spread",
    "Statistics",
    "rate",
    "spread_of",
]

RunGroups: TypeAlias = Literal["agent", "day", "version", "tag"]
CallGroups: TypeAlias = Literal["model", "tool"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which runs are counted; archived ones are.

    Attributes:
        agent: those of this entry point; None for any.
        since_us: those that began then or later, in microseconds since the epoch; None for any.
        most: how many slow and costly steps, loops and errors are listed at most.
    """

    agent: str | None = None
    since_us: int | None = None
    most: int = 10


@dataclass(frozen=True, slots=True)
class Spread:
    """How durations spread; the quantiles are by nearest rank, and None where there is no duration.

    Attributes:
        count: of how many the duration is known.
        total_us: their sum, in microseconds, as all that follow.
        median_us: half of them took no longer.
        p95_us: 95 of 100 took no longer.
        longest_us: the longest.
    """

    count: int = 0
    total_us: int = 0
    median_us: int | None = None
    p95_us: int | None = None
    longest_us: int | None = None


NO_SPREAD: Final = Spread()


def spread_of(durations: Sequence[int]) -> Spread:
    """How durations spread, which are given in rising order."""
    if not durations:
        return NO_SPREAD
    count = len(durations)
    return Spread(
        count, sum(durations), durations[(count - 1) // 2], durations[-(-95 * count // 100) - 1], durations[-1]
    )


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs that have something in common.

    A fork counts with its own steps alone: those up to its beginning were taken, and paid, by its parent.

    Attributes:
        name: what they have in common; None for those of which it is not known, and for runs without a tag.
        statuses: how many there are of each status, as it is shown.
        steps: how many steps they took.
        usage: their tokens, the dollars whose price is known, and how many model calls have no known price.
        took: how long those took that are over.
        sampled_out: how many more there were, which succeeded and were not kept; None where that is not known.
    """

    name: str | None
    statuses: Mapping[RunStatus, int] = field(default_factory=dict)
    steps: int = 0
    usage: Usage = NO_USAGE
    took: Spread = NO_SPREAD
    sampled_out: int | None = 0

    @property
    def runs(self) -> int:
        """How many runs there are, without those that were sampled out."""
        return sum(self.statuses.values())

    @property
    def success_rate(self) -> float | None:
        """The part that succeeded of those that are over, whose end is known, and of those that were sampled out.

        None where there are none, or it is not known how many were sampled out.
        """
        if self.sampled_out is None:
            return None
        over = self.runs - self.statuses.get("running", 0) - self.statuses.get("unknown", 0)
        return rate(self.statuses.get("succeeded", 0) + self.sampled_out, over + self.sampled_out)


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Calls that have something in common.

    Attributes:
        name: the tool or the model; None for those of which it is not known.
        calls: how many there are.
        errors: how many of them raised.
        runs: in how many runs.
        usage: their tokens, the dollars whose price is known, and how many answered model calls have no known price.
        total_us: how long all took that were answered, in microseconds; None where no duration is known.
        longest_us: how long the longest took.
    """

    name: str | None
    calls: int
    errors: int
    runs: int
    usage: Usage = NO_USAGE
    total_us: int | None = None
    longest_us: int | None = None

    def plus(self, other: CallGroup) -> CallGroup:
        """Count those of another group too, which are of other runs."""
        took = [us for us in (self.total_us, other.total_us) if us is not None]
        longest = [us for us in (self.longest_us, other.longest_us) if us is not None]
        return CallGroup(
            self.name,
            self.calls + other.calls,
            self.errors + other.errors,
            self.runs + other.runs,
            self.usage + other.usage,
            sum(took) if took else None,
            max(longest, default=None),
        )


@dataclass(frozen=True, slots=True)
class NotableStep:
    """A step that is among the slowest, or the costliest.

    Attributes:
        run: id of its run.
        run_name: what that is called.
        step: its number.
        name: what the agent calls it.
        kind: its strongest call.
        amount: microseconds, or dollars.
        share: the part of its run that this is, 0 to 1; None where that is not known, as of dollars where some model
            calls of the run have no known price.
    """

    run: str
    run_name: str
    step: int
    name: str
    kind: str | None
    amount: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Loop:
    """Steps of one name that made the same calls, with the same answers, three times or more in a run.

    Attributes:
        name: the name.
        runs: in how many runs.
        times: how many such steps, the first of each loop included.
    """

    name: str
    runs: int
    times: int


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Errors of one class, of one call or of runs as a whole.

    Attributes:
        name: the call; None for errors that ended a run.
        class_name: `module:Qualified.Name`.
        message: the first message of them by the alphabet.
        count: how many.
        runs: in how many runs.
    """

    name: str | None
    class_name: str
    message: str
    count: int
    runs: int


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Checkpoints that were taken, and those that were to be and could not.

    Attributes:
        taken: steps whose end stored a state.
        failed: steps whose state raised an error when it was read.
    """

    taken: int = 0
    failed: int = 0

    @property
    def success_rate(self) -> float | None:
        """The part that was taken; None where none was to be."""
        return rate(self.taken, self.taken + self.failed)


@dataclass(frozen=True, slots=True)
class Replays:
    """Replays that were kept, of the chosen runs.

    Attributes:
        verdicts: how many there are of each verdict.
        took: how long those took that have a report.
    """

    verdicts: Mapping[ReplayVerdict, int] = field(default_factory=dict)
    took: Spread = NO_SPREAD

    @property
    def replays(self) -> int:
        """How many there are."""
        return sum(self.verdicts.values())

    @property
    def success_rate(self) -> float | None:
        """The part that went as recorded, also with reservations; None where there are no replays."""
        return rate(self.verdicts.get("as_recorded", 0) + self.verdicts.get("reserved", 0), self.replays)

    @property
    def divergence_rate(self) -> float | None:
        """The part that diverged; None where there are no replays."""
        return rate(self.verdicts.get("diverged", 0), self.replays)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What there is of the chosen runs.

    Attributes:
        whole: all of them; its name is None.
        forks: how many of them are forks.
        checkpoints: None of a source that does not record.
        replays: None of a source that keeps no replays.
        bytes: the size of the whole file with its log, whichever runs are chosen; None where there is no file.
        free_bytes: how much of that is free for later recordings; None where that is not known.
        slowest: the steps that took longest.
        costliest: the steps that cost most, of those whose price is known.
        loops: the most frequent.
        errors: the most frequent.
    """

    whole: RunGroup
    forks: int
    checkpoints: Checkpoints | None
    replays: Replays | None
    bytes: int | None
    free_bytes: int | None
    slowest: Sequence[NotableStep]
    costliest: Sequence[NotableStep]
    loops: Sequence[Loop]
    errors: Sequence[ErrorGroup]


def rate(part: int, whole: int) -> float | None:
    """The part of a whole, 0 to 1; None of nothing."""
    return part / whole if whole else None
