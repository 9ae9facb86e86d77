"""What a replay found, as data and as JSON."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentFailed
from agent_tt.model import NO_USAGE, Call, Usage
from agent_tt.recording.errors.outcome import exit_code_said
from agent_tt.replaying.divergence import Divergence, Finding
from agent_tt.replaying.findings.finding_json import finding_from, finding_shape, note_shapes
from agent_tt.replaying.findings.notes import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.model import ErrorInfo, Run
    from agent_tt.replaying.findings.notes import Notes
    from agent_tt.replaying.tape.tape import Tape

__all__ = [
    "VERDICT_WORDS",
    "AgentEnd",
    "LiveCall",
    "LivePart",
    "ReplayReport",
    "Verdict",
    "agent_end",
    "compared",
    "report_from_json",
    "report_of",
    "usage_of",
]

AgentStatus: TypeAlias = Literal["ended", "raised", "halted", "unknown"]

Verdict: TypeAlias = Literal["as_recorded", "reserved", "diverged"]
"""What a replay says: all that was recorded went the same way, so it did as far as is known, or something differed."""


VERDICT_WORDS: Final[dict[Verdict, str]] = {
    "as_recorded": "as recorded",
    "reserved": "as recorded, with reservations",
    "diverged": "diverged",
}


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How the replayed agent ended.

    Attributes:
        status: `ended`, `raised`, `halted` by the replay, or `unknown` where only a block of code was replayed.
        error: `TypeName: message` of what it raised.
        traceback: of that, as text.
        as_recorded: whether the recorded run ended the same way; None where that is not known.
    """

    status: AgentStatus = "unknown"
    error: str = ""
    traceback: str = ""
    as_recorded: bool | None = None

    @property
    def failed_otherwise(self) -> bool:
        """Whether it raised what it did not raise then, as far as that is known."""
        return self.status == "raised" and self.as_recorded is not True

    @property
    def is_otherwise(self) -> bool:
        """Whether it ended otherwise than it did then."""
        return self.failed_otherwise or self.as_recorded is False


@dataclass(frozen=True, slots=True)
class LiveCall:
    """A call of a replay that was made for real.

    Attributes:
        kind, name: what was called.
        step: the step in which it was; None where that is not known.
    """

    kind: str
    name: str
    step: int | None


@dataclass(frozen=True, slots=True)
class LivePart:
    """What of a replay was made for real, where calls may be, and what was not.

    Attributes:
        made: the calls that were, in the order in which they were asked.
        held_back: names of those that were to be, and that the policy holds back.
        answered: how many calls were answered from what was recorded.
        saved: what model calls among these cost when they were recorded, as far as anybody said.
    """

    made: tuple[LiveCall, ...] = ()
    held_back: tuple[str, ...] = ()
    answered: int = 0
    saved: Usage = NO_USAGE

    def to_json(self) -> dict[str, Wire]:
        """`{made: [{kind, name, step}], held_back, answered, saved: {tokens_in, tokens_out, cost_usd}}`."""
        saved = self.saved
        return {
            "made": [{"kind": call.kind, "name": call.name, "step": call.step} for call in self.made],
            "held_back": list(self.held_back),
            "answered": self.answered,
            "saved": {"tokens_in": saved.tokens_in, "tokens_out": saved.tokens_out, "cost_usd": saved.cost_usd},
        }

    @classmethod
    def from_json(cls, shape: dict[str, Any]) -> LivePart:
        """What `to_json` wrote, in another process."""
        made = tuple(LiveCall(**call) for call in shape["made"])
        return cls(made, tuple(shape["held_back"]), shape["answered"], Usage(**shape["saved"]))


def usage_of(call: Call) -> Usage:
    """What a recorded model call cost, as far as its facts say."""
    facts = call.facts
    return Usage(facts.tokens_in, facts.tokens_out, facts.cost_usd)


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay found.

    Attributes:
        run_id: the run.
        run_name: its name.
        observed: whether it went on after changed requests.
        recorded: how many calls the run has that an agent asks for again.
        served: how many questions were answered.
        nested: how many recorded calls were not asked for, because the answer of the call that made them was given.
        failure: the divergence that it failed with; None while it has not, and in a faithful replay.
        divergences: all divergences, in the order in which they were found.
        notes: what is worth knowing and no divergence.
        agent: how the agent ended.
        output: the last of what the agent printed, where it ran in a process of its own.
        drawn: how many of the answers were of the clock, random numbers, ids or the environment.
        state_compared: whether the state after the last step was compared with the recorded one.
        output_compared: whether what was printed was compared with what was printed then, which may not be recorded.
        live: what was made for real; None where nothing may be.
        files: of a replay whose run is kept, the files of the project that were imported, relative to it.
    """

    run_id: str
    run_name: str
    observed: bool
    recorded: int
    served: int
    nested: int
    failure: Finding | None
    divergences: tuple[Finding, ...]
    notes: tuple[Note, ...]
    agent: AgentEnd = field(default_factory=AgentEnd)
    output: str = ""
    drawn: int = 0
    state_compared: bool = False
    output_compared: bool = False
    live: LivePart | None = None
    files: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """`as_recorded`, `reserved` where that is so as far as is known, or `diverged`.

        As recorded: every answer was given to its own question, none was left, and the agent ended as it did then, in
        the same state and with the same output where those were recorded.
        """
        if self.failure is not None or self.divergences or self.agent.is_otherwise:
            return "diverged"
        return "reserved" if self.reservations else "as_recorded"

    @property
    def reservations(self) -> tuple[Note, ...]:
        """The notes that say why less is known than "as recorded" says; see `notes.RESERVATIONS`."""
        return tuple(note for note in self.notes if note.is_reservation)

    @property
    def is_faithful(self) -> bool:
        """Whether the run went as it was recorded, without any reservation."""
        return self.verdict == "as_recorded"

    @property
    def failed_before_asking(self) -> bool:
        """Whether the agent failed otherwise than it did then before it asked anything.

        Then the recorded calls that it did not make are no divergences of their own.
        """
        return self.agent.failed_otherwise and self.served == self.drawn and not self.divergences

    def check(self) -> None:
        """Raise what the replay failed with, if it did.

        Raises:
            Divergence: a call did not go as recorded, also where the agent swallowed it.
            AgentFailed: the agent failed otherwise than it did then.
        """
        if self.failure is not None:
            raise Divergence(self.failure)
        if self.agent.failed_otherwise:
            raise AgentFailed(f"the agent raised {self.agent.error}", traceback=self.agent.traceback)

    def to_json(self) -> dict[str, Wire]:
        """The report for programs.

        `{run, name, mode, verdict, reservations, faithful, recorded, served, drawn, nested, failure, divergences,
        notes, agent, state_compared, output_compared, output}`; `mode` is `halt` or `observe`; a note and a
        reservation are `{kind, text, count}`; `failure` is the index of the one in `divergences` that halted it, or
        null. A divergence is `{kind, message, hint, step, call, lane, lane_seq, call_kind, name, file, line, asked,
        recorded, changes, nearest}`, a change `{path, old, new, words: [[kind, text], …]}`, a near call `{step, call,
        lane, kind, name, status, args, likeness, changes}`.
        """
        shapes: list[Wire] = [finding_shape(finding) for finding in self.divergences]
        return {
            "run": self.run_id,
            "name": self.run_name,
            "mode": "observe" if self.observed else "halt",
            "verdict": self.verdict,
            "reservations": note_shapes(self.reservations),
            "faithful": self.is_faithful,
            "recorded": self.recorded,
            "served": self.served,
            "drawn": self.drawn,
            "nested": self.nested,
            "failure": None if self.failure is None else self.divergences.index(self.failure),
            "divergences": shapes,
            "notes": note_shapes(self.notes),
            "agent": {
                "status": self.agent.status,
                "error": self.agent.error,
                "traceback": self.agent.traceback,
                "as_recorded": self.agent.as_recorded,
            },
            "state_compared": self.state_compared,
            "output_compared": self.output_compared,
            "output": self.output,
        }


def compared(report: ReplayReport) -> str:
    """Say in one line what was compared beside the calls, and what was not."""
    looked = ["its last state"] * report.state_compared + ["its output"] * report.output_compared
    rest = ["its last state"] * (not report.state_compared) + ["its output"] * (not report.output_compared)
    said = f"{' and '.join(looked)} compared" if looked else ""
    unsaid = f"{' and '.join(rest)} not compared" if rest else ""
    return "; ".join(part for part in (said, unsaid) if part)


def report_from_json(shape: dict[str, Any]) -> ReplayReport:
    """The report that `to_json` wrote, in another process; `live` and `files` stand beside, where there are any."""
    divergences = tuple(finding_from(item) for item in shape["divergences"])
    index = shape["failure"]
    return ReplayReport(
        run_id=shape["run"],
        run_name=shape["name"],
        observed=shape["mode"] == "observe",
        recorded=shape["recorded"],
        served=shape["served"],
        nested=shape["nested"],
        failure=None if index is None else divergences[index],
        divergences=divergences,
        notes=tuple(Note(**note) for note in shape["notes"]),
        agent=AgentEnd(**shape["agent"]),
        output=shape["output"],
        drawn=shape["drawn"],
        state_compared=shape["state_compared"],
        output_compared=shape["output_compared"],
        live=None if shape.get("live") is None else LivePart.from_json(shape["live"]),
        files=tuple(shape.get("files", ())),
    )


class Replayed(Protocol):
    """What a report is made of: a replay that is over (`agent_tt.replaying.engine.Replay`)."""

    tape: Tape
    is_observing: bool
    notes: Notes
    served: int
    drawn: int
    at_end: list[Finding]
    state_compared: bool
    output_compared: bool
    failure: Finding | None
    is_halted: bool

    @property
    def findings(self) -> tuple[Finding, ...]: ...


def report_of(replay: Replayed, agent: AgentEnd | None = None) -> ReplayReport:
    """The report of a replay that is over."""
    run, end = replay.tape.run, AgentEnd() if agent is None else agent
    # Where the agent was halted, or failed, its state and output end there too, and say nothing more.
    is_cut_off = replay.is_halted or end.failed_otherwise
    found, failure = replay.findings, replay.failure
    if end.failed_otherwise and replay.served == replay.drawn and all(each.kind == "missing call" for each in found):
        found, failure = (), None  # it made no call because it failed: that says it
    if not is_cut_off:
        found += tuple(replay.at_end)
        if failure is None and not replay.is_observing:
            failure = next(iter(replay.at_end), None)
    return ReplayReport(
        run_id=run.id,
        run_name=run.name,
        observed=replay.is_observing,
        recorded=len(replay.tape.calls),
        served=replay.served,
        nested=replay.tape.nested,
        failure=failure,
        divergences=found,
        notes=(*replay.notes.all(), *_known_of(replay, end)),
        agent=end,
        drawn=replay.drawn,
        state_compared=replay.state_compared and not is_cut_off,
        output_compared=replay.output_compared and not is_cut_off,
    )


def _known_of(replay: Replayed, end: AgentEnd) -> Iterator[Note]:
    """What a recording does not hold, so that nothing was compared with it."""
    if not replay.tape.calls:
        yield Note("nothing recorded", "the run holds no call, so none was compared")
    for line in replay.tape.said_of_tools():
        yield Note("tool not recorded", line)
    if end.as_recorded is None and end.status in ("ended", "raised"):
        status = replay.tape.run.status
        why = (
            "how the recorded run ended"
            if status == "unknown"
            else f"the recorded run is {status}: how it would have ended"
        )
        yield Note("end not recorded", f"{why} is not known")

    recorded = replay.tape.run.error
    if recorded is not None and end.as_recorded and _is_code_alone(recorded) and not end.error.startswith(_EXIT):
        yield Note("end not recorded", f"of how the program ended only its exit code is recorded: {recorded.message}")


_EXIT: Final = "SystemExit"


def agent_end(run: Run, error: ErrorInfo | None, *, halted: bool) -> AgentEnd:
    """How an agent ended that left with `error`, beside how it ended when it was recorded."""
    if halted:
        return AgentEnd("halted")
    recorded = run.error
    is_cut_off = run.status in {"crashed", "running", "interrupted", "unknown"}
    if error is None:
        return AgentEnd("ended", as_recorded=None if is_cut_off else run.status == "succeeded")
    same = recorded is not None and (_raised(recorded) == _raised(error) or _is_seen_alike(recorded, error))
    return AgentEnd("raised", error.short, error.traceback, None if is_cut_off and not same else same)


def _is_seen_alike(recorded: ErrorInfo, now: ErrorInfo) -> bool:
    """Whether only the exit code of the recorded program is known, and is that of an exception that nobody caught."""
    return _is_code_alone(recorded) and _raised(recorded)[1] == 1 and now.class_name not in _OTHER_CODES


def _is_code_alone(recorded: ErrorInfo) -> bool:
    """Whether an end was seen from outside: nobody inside wrote down what it was."""
    return recorded.class_name == "builtins:SystemExit" and recorded.value is None and not recorded.traceback


_OTHER_CODES: Final = ("builtins:SystemExit", "builtins:KeyboardInterrupt")


def _raised(error: ErrorInfo) -> tuple[str, str | int]:
    """What was raised; of an exit its code, for from outside nothing else of it is seen."""
    left_with = exit_code_said(error)
    if left_with is not None:  # by `os._exit`
        return "builtins:SystemExit", left_with
    if error.class_name != "builtins:SystemExit":
        return error.class_name, error.message
    try:
        return error.class_name, int(error.message) & 0xFF
    except ValueError:  # a text: it is printed, and the code is 1
        return error.class_name, 1
