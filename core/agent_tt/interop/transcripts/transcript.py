"""What a format tells of a file: runs, their steps and calls, and the conversation after each step."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, cast

from agent_tt._dataclass import dataclass
from agent_tt.model import NO_USAGE, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.found_steps import FoundSteps
    from agent_tt.model import CallKind, CallStatus, ErrorInfo, RunStatus, StepStatus

__all__ = ["Promise", "Talk", "ToldCall", "ToldStep", "Transcript"]


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as it was at one moment: the first `length` of `messages`, which others go on with.

    Attributes:
        messages: all that was ever said in it; shared, and never changed but by saying more.
        length: how much of it had been said.
        beside: what else the state holds at that moment, by name.
    """

    messages: list[Wire]
    length: int
    beside: Mapping[str, Wire] = field(default_factory=dict)

    @property
    def state(self) -> dict[str, Wire]:
        """The state that it makes; its messages are shared."""
        return {"messages": self.messages[: self.length], **self.beside}


@dataclass(slots=True)
class ToldCall:
    """One call of a step.

    Attributes:
        asked: of a model call: the conversation that it was shown.
        args: of any other: what it was given.
        meta: further facts, see `agent_tt.model.facts.CallFacts`.
    """

    kind: CallKind
    name: str
    status: CallStatus = "ok"
    asked: Talk | None = None
    args: Wire = None
    result: Wire = None
    error: ErrorInfo | None = None
    started_us: int | None = None
    ended_us: int | None = None
    meta: dict[str, Wire] = field(default_factory=dict)

    @property
    def given(self) -> Wire:
        """What it was given, shared: of a model call the conversation."""
        return self.args if self.asked is None else cast("Wire", self.asked.state)


@dataclass(slots=True)
class ToldStep:
    """One step.

    Attributes:
        lane: the conversation that it belongs to: `main`, or that of a sub-agent.
        parent: the step whose call started that conversation.
        talk: the conversation after it; None as long as it goes on.
        raw: the entries of the file that it stands for, as far as nothing else shows them.
    """

    name: str
    lane: str = "main"
    agent: str | None = None
    parent: ToldStep | None = None
    status: StepStatus = "ok"
    error: ErrorInfo | None = None
    talk: Talk | None = None
    calls: list[ToldCall] = field(default_factory=list)
    started_us: int | None = None
    ended_us: int | None = None
    usage: Usage = NO_USAGE
    decision: str | None = None
    raw: list[Wire] = field(default_factory=list)


@dataclass(slots=True)
class Transcript:
    """One run.

    Attributes:
        id: unique in its file.
        system: the program that kept it, in its own words.
        opening: what was said before the first step.
        fork: the id of the transcript that it left, and after how many steps.
        began_us: when it began, where the file says that apart from its steps; microseconds since 1970.
        usage: of the whole, where the file says it beside, or in place of, that of single answers.
        flaws: what of the file could not be read, in words, with the number of the step before it.
        rows: where `steps` tells each when it is asked for: what a list shows of them.
    """

    id: str
    system: str
    opening: Talk
    steps: Sequence[ToldStep]
    status: RunStatus = "unknown"
    error: ErrorInfo | None = None
    model: str | None = None
    began_us: int | None = None
    usage: Usage | None = None
    fork: tuple[str, int] | None = None
    metadata: dict[str, Wire] = field(default_factory=dict)
    flaws: list[tuple[int, str]] = field(default_factory=list)
    rows: FoundSteps | None = None


@dataclass(frozen=True, slots=True)
class Promise:
    """One run of a file of many, that is told when it is asked for, and may be again.

    Attributes:
        id: of the run.
        began_us: when it began, by which it is listed; microseconds since 1970.
        size: of how many entries it is made, by which it is seen that more were added.
        tell: gives the transcript of that id.
    """

    id: str
    began_us: int
    size: int
    tell: Callable[[], Transcript]
