"""What resuming a run takes, worked out before anything runs: above all what is to be asked about."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.encode import encode
from agent_tt.errors import ReadOnlySource, UsageError
from agent_tt.model.facts import DecidedFacts, ResumedFacts, place_said
from agent_tt.model.facts.calls import is_held
from agent_tt.protocols import check_proven
from agent_tt.replaying.tape.repeats import entries_of, place_of
from agent_tt.resuming.past import marks_now, read_past, writes
from agent_tt.resuming.said import check_said, read_said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.tape.repeats import Marks, Place
    from agent_tt.resuming.past import Past

__all__ = ["Happened", "ResumePlan", "decided_before", "plan_resume"]

_SESSION: Final = "mcp server"


@dataclass(frozen=True, slots=True)
class Happened:
    """A call that was in flight did happen: it is not made again.

    Attributes:
        result: what it gave.
    """

    result: object = None

    @property
    def wire(self) -> Wire:
        """The result as a call's row keeps it."""
        return encode(self.result)


class Recorded(Happened):
    """The same, with the result as a call's row keeps it."""

    @property
    def wire(self) -> Wire:
        """The result as it was written."""
        return self.result  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class ResumePlan:
    """A run that could be resumed.

    Attributes:
        store: the file that holds it.
        run: the run.
        answered: how many calls are answered from the recording.
        in_flight: calls that were begun and not answered, in the order of their steps.
        unknown: those of them of which somebody has to say whether they happened: they write, and cannot be repeated
            safely.
        decided: what was said of such calls; `Happened`, or None where they did not happen.
        marks: what an interruption did to the run.
        redo_unrecorded: whether what the agent does without it being recorded may be done again.
        examples: what earlier calls of the same functions gave, for those that are unknown.
    """

    store: Path
    run: Run
    answered: int
    in_flight: tuple[Call, ...]
    unknown: tuple[Call, ...]
    decided: Mapping[Place, Happened | None] = field(default_factory=dict)
    marks: Marks | None = None
    redo_unrecorded: bool = False
    examples: Mapping[Place, Wire] = field(default_factory=dict)

    def example_of(self, call: Call) -> Wire:
        """What an earlier call of the same function gave, as a wire value; None where none did."""
        return self.examples.get(place_of(call))

    def said(self, call: Call, text: str) -> Happened:
        """What a person typed as the result of a call that happened: JSON, with envelopes for what that does not know.

        Raises:
            UsageError: it is not valid JSON, or not such as the function gives.
        """
        return Recorded(read_said(text, call, self.example_of(call)))

    def decide(self, in_flight: Callable[[Call], Happened | None]) -> ResumePlan:
        """The same with an answer to what is unknown.

        Args:
            in_flight: asked of each call in turn: `Happened(result)`, or None when it did not happen and is to be made.

        Raises:
            UsageError: a request is said to have happened, whose answer cannot be given by hand; or a result cannot be
                given, or is not such as the function gives.
        """
        said = dict(self.decided)
        for call in self.unknown:
            answer = in_flight(call)
            if answer is not None and not isinstance(answer, Happened):
                raise UsageError(
                    f"in_flight gave {answer!r} for {call.name}",
                    hint="give Happened(result), or None when it did not happen",
                )
            if answer is not None and call.kind != "tool":
                raise UsageError(
                    f"the answer to {call.name} cannot be given by hand",
                    hint="say that it did not happen to send it again; record it as a tool to be able to answer for it",
                )
            if answer is not None:
                check_said(answer.wire, call, self.example_of(call))
            said[place_of(call)] = answer
        return replace(self, unknown=(), decided=said)

    def to_wire(self) -> dict[str, Wire]:
        """As the run's metadata keeps it."""
        decided = tuple(
            DecidedFacts.said(place, happened=said is not None, result=None if said is None else said.wire)
            for place, said in sorted(self.decided.items())
        )
        marks = {} if self.marks is None else self.marks.to_wire()
        redo = ResumedFacts.redo_unrecorded.true() if self.redo_unrecorded else {}
        run = ResumedFacts.run.entry(self.run.id) | ResumedFacts.status.entry(self.run.status)
        return {**run, **marks, **redo, **ResumedFacts.decided.entry(decided)}


def plan_resume(source: RunSource, run: Run) -> ResumePlan:
    """Work out what resuming a run takes.

    Raises:
        ReadOnlySource: it lies in a file that is only read.
        UsageError: it runs, or has ended by itself; or it cannot be resumed.
        Damaged: something of it is not as it was recorded, or is missing.
    """
    if source.read_only or run.read_only:
        raise ReadOnlySource(f"{run.name} lies in a file that is only read", hint="resume works in stores of agent-tt")
    _check_status(run)
    check_proven(source, run)
    marks = marks_now(source, run)
    past = read_past(source, run, marks)
    waiting = past.in_flight
    session = next((call for call in waiting if call.kind == "tool" and call.name == _SESSION), None)
    if session is not None:
        raise UsageError(
            f"{run.name} broke off inside an MCP session, and what its server knew is gone with it",
            hint="fork it instead, or run it again",
        )
    connection = next((call for call in waiting if call.facts.connection), None)
    if connection is not None:
        where = connection.name.partition(" ")[2]
        raise UsageError(
            f"{run.name} broke off while it was connected to {where}, and such a connection cannot be gone on with",
            hint="fork it instead, or run it again",
        )
    known = decided_before(run)
    unknown = [call for call in waiting if place_of(call) not in known and _is_unknown(call, past)]
    gave = {(call.kind, call.name): call.result for call, _ in past.calls if call.status == "ok"}
    examples = {place_of(call): gave[call.kind, call.name] for call in unknown if (call.kind, call.name) in gave}
    return ResumePlan(
        store=source.path,
        run=run,
        answered=len(past.calls) - len(waiting),
        in_flight=tuple(waiting),
        unknown=tuple(unknown),
        marks=marks,
        examples=examples,
    )


def decided_before(run: Run) -> dict[Place, Happened | None]:
    """What was said of calls in flight when the run was resumed: this time, and the times before."""
    found: dict[Place, Happened | None] = {}
    for entry in entries_of(run):
        for said in entry.decided:
            place = place_said(said.raw)
            if place is not None:
                found[place] = Recorded(said.result) if said.happened else None
    return found


def _check_status(run: Run) -> None:
    hint = {
        "running": "wait for it, or stop it",
        "failed": "fork it from a step before the failure",
        "succeeded": "there is nothing left to do: fork it to go on from one of its steps",
    }.get(run.status)
    if hint is not None:
        state = "is running" if run.status == "running" else f"has {run.status}"
        raise UsageError(f"{run.name} {state}: only a run that broke off can be resumed", hint=hint)


def _is_unknown(call: Call, past: Past) -> bool:
    """Whether nobody but a person knows if the world has changed: it would not recognise the call as a repeated one."""
    is_recognised = call.facts.idempotency_key is not None
    return writes(call) and not is_recognised and place_of(call) not in past.covered and not is_held(call.meta)
