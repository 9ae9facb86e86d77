"""What is kept of a replay of a run."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Replay", "ReplayMode", "ReplayVerdict"]

ReplayMode: TypeAlias = Literal["halt", "observe"]
ReplayVerdict: TypeAlias = Literal["as_recorded", "reserved", "diverged", "failed"]
"""The verdict of a report; or `failed`: the agent could not be started, died, took too long, or failed before it asked
anything, otherwise than it did then."""


@dataclass(frozen=True, slots=True)
class Replay:
    """One replay of a run, as it was kept with the run.

    Attributes:
        run: id of the run.
        verdict: what came of it.
        mode: whether it halted at the first difference, or was to observe all of them.
        duration_us: how long its process ran, from before it was started.
        recorded: how many calls the run has that an agent asks for again; None where there was no report.
        served: how many questions were answered; None where there was no report.
        reservations: the kinds of reservations, each with how often it was noted.
        divergences: how many divergences there were.
        divergence: the kind of the first; None where there was none.
        step: the step of that, where it has one.
        call: the number of its recorded call in that step, where there is one.
        message: what it says; of a replay that failed, why.
        agent: the entry point that ran in place of the recorded one; None for the recorded one.
        fingerprint: hex blake2b-16 of the source file of the agent that ran; None where that is not known.
        at_us: when it was kept: just after its end.
        id: its number in the store; 0 before it is kept.
    """

    run: str
    verdict: ReplayVerdict
    mode: ReplayMode = "halt"
    duration_us: int = 0
    recorded: int | None = None
    served: int | None = None
    reservations: Mapping[str, int] = field(default_factory=dict)
    divergences: int = 0
    divergence: str | None = None
    step: int | None = None
    call: int | None = None
    message: str = ""
    agent: str | None = None
    fingerprint: str | None = None
    at_us: int = 0
    id: int = 0
