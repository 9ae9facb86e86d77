"""Answering the calls of an agent that is re-entered, and what is said where it does not ask again what it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.recording.entry import fingerprint
from agent_tt.replaying.tape import DRAWN
from agent_tt.resuming.engine import Claim, Resumption

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from agent_tt.model import Run
    from agent_tt.recording.answers import Question
    from agent_tt.replaying.divergence import Finding
    from agent_tt.replaying.repeats import Place
    from agent_tt.replaying.tape import TapeLane
    from agent_tt.resuming.past import Past
    from agent_tt.resuming.plan import Happened

__all__ = ["Reentry", "why_not"]

_SHOWN_WORDS = 60


class Reentry(Resumption):
    """A resumption of a fork that has not done anything of its own."""

    def __init__(
        self,
        past: Past,
        happened: Mapping[Place, Happened],
        went_live: Callable[[int | None], None],
        *,
        closed: Collection[int] = frozenset(),
    ) -> None:
        """Begin; as a resumption.

        Args:
            past: what is answered from the recording.
            happened: of calls that were in flight, those that are known to have happened.
            went_live: told before the first call that is made for real.
            closed: numbers of steps that were over where the fork begins: no call is made for real in them.
        """
        super().__init__(past, happened, went_live)
        self._closed = closed

    def _find(self, question: Question) -> Claim:
        claim = super()._find(question)
        if self.failure is not None or question.kind in DRAWN:
            return claim
        if claim.halts and claim.lane is not None and _is_used_up(claim.lane):
            claim = Claim(is_live=True)
        if claim.is_live and question.step in self._closed:
            return Claim(lane=self._matching.along(question.lane, question.signature))
        return claim

    def passes(self) -> bool:
        """Whether this code may reach for the world past all that is recorded; of a fork at its input all may."""
        return not self.tape.calls or super().passes()

    def finish(self) -> None:
        """Look at what was not asked: beyond the fork's step an agent need not ask what it asked."""
        if self.is_live or self.is_amended:
            for entry in self.tape.calls:
                entry.is_reported = True
        super().finish()

    @property
    def left_out(self) -> list[str]:
        """What was recorded and not asked again, although later calls were."""
        return [
            f"{entry.call.name} of step {entry.call.step} was not called again"
            for entry in self.tape.calls
            if entry.skipped_for is not None and not entry.served
        ]


def _is_used_up(lane: TapeLane) -> bool:
    """Whether only calls are left of a recorded lane that it has gone past."""
    return all(entry.skipped_for is not None for entry in lane.unserved())


def why_not(finding: Finding, run: Run, parent: Run) -> str:
    """Why an agent could not be re-entered, and what can be done: one line.

    Args:
        finding: where it did something else.
        run: the fork.
        parent: the run that it was forked from.
    """
    kept = run.fork_step or 0
    head = f"cannot re-enter at step {kept}: "
    if finding.kind == "edit does not apply":
        return head + finding.message
    step = finding.step
    if finding.kind == "missing call":
        return f"{head}the agent ended before it: {finding.name} of step {step} was not called. {_choices(step)}"
    where = f"step {step}" if step is not None else "the agent"
    changed = "; ".join(_words(finding))
    what = "no longer asks what was recorded" if finding.call is not None else f"does something else: {finding.message}"
    said = f"{head}{where} {what}" + (f" ({changed})" if changed else "")
    at = f" at {finding.source}" if finding.source else ""
    return f"{said}{at}. {_about_code(run, parent)}. {_choices(step)}"


def _words(finding: Finding) -> list[str]:
    lines = []
    for change in finding.changes[:3]:
        old, new = (_short(value) for value in (change.old, change.new))
        lines.append(f"{change.path or 'all of it'}: {old} is now {new}")
    return lines


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_WORDS else text[: _SHOWN_WORDS - 1] + "…"


def _about_code(run: Run, parent: Run) -> str:
    """What is known of the code since it was recorded."""
    location = (run.code.entry or "").rpartition(":")[0]
    script = run.facts.script
    file = Path(script) if script is not None else Path(run.code.root or "") / location
    now = fingerprint(file)
    before = parent.code.fingerprint
    name = location or str(file)
    if now is None or before is None:
        return f"Whether the code ({name}) has changed since is not known"
    if now == before:
        return (
            f"{name} has not changed since: something else decides what it asks"
            " (the time, random numbers, files, another module)"
        )
    return f"The code has changed since ({name}, {before[:8]} is now {now[:8]})"


def _choices(step: int | None) -> str:
    if step is None or step < 1:
        return "Choose: put the code back, or --accept-changes to go live from there"
    return f"Choose: fork at step {step - 1}, or --accept-changes to go live from step {step}"
