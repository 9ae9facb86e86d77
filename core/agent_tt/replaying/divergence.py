"""A place where a replay and its recording differ: as data, and as the exception that halts the agent there.

The kinds:

| kind | what happened |
|---|---|
| `changed request` | the question is another one than at this place of the recording, but looks like it |
| `extra call` | nothing was recorded that answers the question |
| `changed order` | a question came later than it was recorded |
| `missing call` | a recorded question was not asked |
| `read past the recorded part` | the agent wants more than it took when it was recorded |
| `unrecorded effect` | something was called, or reached for, that the run has no recording of at all |
| `changed result type` | what was recorded cannot be made again with the classes that are loaded now |
| `changed state` | the state after the last step is another one than was recorded |
| `changed output` | what the agent printed on standard output is something else than was recorded |
| `edit does not apply` | what a fork changes is not there any more, or does not take the change |
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.words import Segment
    from agent_tt.model import Call, CallKind

__all__ = ["AT_THE_END", "HALTING", "ChangedPart", "Divergence", "DivergenceKind", "Finding", "Near", "divergence_in"]

DivergenceKind: TypeAlias = Literal[
    "changed request",
    "extra call",
    "changed order",
    "missing call",
    "read past the recorded part",
    "unrecorded effect",
    "changed result type",
    "changed state",
    "changed output",
    "edit does not apply",
]

AT_THE_END: Final[frozenset[DivergenceKind]] = frozenset({"changed state", "changed output"})
"""Kinds that say what came out otherwise, and of no call that it was another one."""

HALTING: Final[frozenset[DivergenceKind]] = frozenset(
    {"extra call", "read past the recorded part", "unrecorded effect", "changed result type", "edit does not apply"}
)
"""Kinds that halt an observing replay too: there is no answer that could be given."""


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """One part of a question that is another one now.

    Attributes:
        path: where in the question it is, as people write it: `messages[0].content`.
        old: the recorded value; None where there was none.
        new: the value now; None where there is none.
        words: both as text, split into what is the same, removed and added.
    """

    path: str
    old: Wire
    new: Wire
    words: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class Near:
    """A recorded call that has not been asked for, offered as what may have been meant.

    Attributes:
        call: the call.
        likeness: 0 to 1, how much of the question it shares.
        changes: what differs.
    """

    call: Call
    likeness: float
    changes: tuple[ChangedPart, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One divergence.

    Attributes:
        kind: see the table of the module.
        message: what happened, one line.
        step: the step that it belongs to: of the recorded call where there is one, else the step that was open.
        call: number of the recorded call in its step; None for what was never recorded.
        lane: the lane of the recorded call, else the one that asked.
        lane_seq: number of the question in that lane; 0 where nothing asked.
        call_kind: `llm`, `tool`, `http`, …; None for effects that are no calls.
        name: what is called.
        asked: the question as it is now; None where nothing was asked.
        recorded: the question as it was recorded; None where none was.
        changes: what differs between the two.
        site: where it is asked: `file`, `line`; of a recorded call that was not asked for, where it was.
        nearest: recorded calls that are still there and look most like the question, best first.
        hint: what to do, may be empty.
    """

    kind: DivergenceKind
    message: str
    step: int | None = None
    call: int | None = None
    lane: str = ""
    lane_seq: int = 0
    call_kind: CallKind | None = None
    name: str = ""
    asked: Wire = None
    recorded: Wire = None
    changes: tuple[ChangedPart, ...] = ()
    site: Mapping[str, Wire] = field(default_factory=dict)
    nearest: Sequence[Near] = ()
    hint: str = ""

    @property
    def place(self) -> str:
        """`step 3, call 2 (search_docs), lane main`, as far as it is known."""
        known = [
            "" if self.step is None else f"step {self.step}",
            "" if self.call is None else f"call {self.call}",
            f"lane {self.lane}" if self.lane else "",
        ]
        return ", ".join(part for part in known if part)

    @property
    def source(self) -> str:
        """`agent.py:12`, or "" where it is not known."""
        file, line = self.site.get("file"), self.site.get("line")
        if not isinstance(file, str):
            return ""
        return f"{file}:{line}" if isinstance(line, int) else file


class Divergence(BaseException):
    """Raised into an agent whose replay cannot go on.

    It derives from BaseException so that no `except Exception` of an agent, or of a library that retries, takes it for
    an ordinary failure. Inside a `BaseExceptionGroup` (task groups wrap it) `divergence_in` finds it.

    Attributes:
        finding: what it is.
    """

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "diverged"

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding
        self.message = finding.message
        self.hint = finding.hint

    def __reduce__(self) -> tuple[type[Divergence], tuple[Finding]]:
        return type(self), (self.finding,)


def divergence_in(error: BaseException | None) -> Divergence | None:
    """The divergence that an exception is, or that lies in a group of exceptions; None where there is none."""
    return next(_members(error), None)


def _members(error: BaseException | None) -> Iterator[Divergence]:
    if isinstance(error, Divergence):
        yield error
    elif isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _members(member)
