"""A transcript as a run with its steps, and the digests of its states."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.history.digest import entry_token, list_token, polynomial, sum_token, token
from agent_tt.interop.transcripts.telling import strongest
from agent_tt.model import NO_USAGE, AgentCode, ModelConfig, Run, Step
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.transcript import Talk, ToldStep, Transcript

__all__ = ["ToldRun", "told_run"]

_HASHES_KEPT: Final = 64


@dataclass(slots=True)
class ToldRun:
    """A transcript as a run with its steps.

    Attributes:
        hashes: of each list of messages the hashes of its beginnings, as far as they were asked for, by its identity;
            the list stands beside them, so that no other one has that identity meanwhile.
    """

    transcript: Transcript
    run: Run
    steps: Sequence[Step]
    hashes: dict[int, tuple[list[Wire], list[int]]] = field(default_factory=dict)

    def step(self, step: int) -> ToldStep:
        """A step with its values."""
        return self.transcript.steps[step - 1]

    def talk(self, step: int) -> Talk:
        """The conversation after a step."""
        if not step:
            return self.transcript.opening
        return self.transcript.steps[step - 1].talk or self.transcript.opening

    def beginning(self, talk: Talk) -> int:
        """The hash of a conversation's messages, from which it is not seen how many there are."""
        if self.transcript.rows is not None and len(self.hashes) == _HASHES_KEPT:
            self.hashes.clear()  # such lists are made anew each time, and would all be kept
        _, hashes = self.hashes.setdefault(id(talk.messages), (talk.messages, [0]))
        for message in talk.messages[len(hashes) - 1 : talk.length]:
            hashes.append(polynomial(hashes[-1], [token(message)]))
        return hashes[talk.length]

    def token(self, talk: Talk) -> int:
        """The digest of a state as a number, as `agent_tt.history.digest.token` gives it."""
        if not talk.length:
            return token(cast("Wire", talk.state))
        messages = list_token(talk.length, self.beginning(talk))
        parts = [entry_token("messages", messages)]
        parts += [entry_token(key, token(value)) for key, value in talk.beside.items()]
        return sum_token(len(parts), sum(parts))


def _facts_of(step: ToldStep) -> dict[str, Wire]:
    facts: dict[str, Wire] = {}
    if step.raw:
        StepFacts.raw_entries.put(facts, step.raw)
    if step.usage.unpriced:
        StepFacts.unpriced.put(facts, step.usage.unpriced)
    return facts


def told_run(path: Path, transcript: Transcript) -> ToldRun:
    """A transcript of a file as a run with its steps."""
    rows, (parent, shared) = transcript.rows, transcript.fork or (None, 0)
    steps = _steps_of(transcript, shared) if rows is None else rows
    if rows is None:
        usage = sum((step.usage for step in transcript.steps), NO_USAGE)
        own = transcript.steps[shared:]
        times = [at for step in own for at in (step.started_us, step.ended_us) if at is not None]
    else:
        usage, times = rows.usage, [*rows.times]
    usage = transcript.usage or usage
    run = Run(
        id=transcript.id,
        name=transcript.id,
        status=transcript.status,
        started_us=min(times, default=0) if transcript.began_us is None else transcript.began_us,
        ended_us=max(times, default=None),
        code=AgentCode(),
        model=ModelConfig(transcript.model) if transcript.model else None,
        parent=parent,
        fork_step=shared if parent is not None else None,
        steps=len(steps),
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost_usd=usage.cost_usd,
        unpriced=usage.unpriced or 0,
        error=transcript.error,
        metadata=transcript.metadata,
        read_only=True,
        origin={"system": transcript.system, "file": str(path)},
    )
    return ToldRun(transcript, run, steps)


def _steps_of(transcript: Transcript, shared: int) -> list[Step]:
    numbers = {id(step): number for number, step in enumerate(transcript.steps, 1)}
    checkpoints: dict[str, int] = {"main": 0}
    steps: list[Step] = []
    for number, step in enumerate(transcript.steps, 1):
        seq = checkpoints[step.lane] = checkpoints.get(step.lane, 0) + 1
        begun_by = None if step.parent is None else numbers.get(id(step.parent))
        steps.append(
            Step(
                number=number,
                name=step.name,
                status=step.status,
                kind=strongest(step.calls),
                agent=step.agent,
                lane=step.lane,
                parent=begun_by if begun_by is not None and begun_by < number else None,
                started_us=step.started_us,
                ended_us=step.ended_us,
                tokens_in=step.usage.tokens_in,
                tokens_out=step.usage.tokens_out,
                cost_usd=step.usage.cost_usd,
                error=step.error,
                track=step.lane,
                seq=seq,
                inherited=number <= shared,
                decision=step.decision,
                calls=len(step.calls),
                extra=_facts_of(step),
            )
        )
    return steps
