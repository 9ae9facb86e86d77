"""What a store keeps of a replay: the object in `notes.body` of kind `replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from agent_tt.model.facts.fact import Fact, Facts, Shape
from agent_tt.model.facts.shapes import TEXT, WHOLE
from agent_tt.model.replays import Replay, ReplayMode, ReplayVerdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["ReplayFacts"]

_VERDICTS: Final[Mapping[Wire, ReplayVerdict]] = {word: word for word in get_args(ReplayVerdict)}
_MODES: Final[Mapping[Wire, ReplayMode]] = {word: word for word in get_args(ReplayMode)}


def _verdict(found: Wire) -> ReplayVerdict | None:
    return _VERDICTS.get(found) if isinstance(found, str) else None


def _mode(found: Wire) -> ReplayMode | None:
    return _MODES.get(found) if isinstance(found, str) else None


def _counts(found: Wire) -> dict[str, int]:
    items = found.items() if isinstance(found, dict) else ()
    return {name: count for name, count in items if type(count) is int}


class ReplayFacts(Facts):
    """The fields of `Replay`, but for those that its row has columns for."""

    __slots__ = ()

    verdict = Fact(Shape("text", _verdict), "`as_recorded`, `reserved`, `diverged`; `failed` where there was no report")
    mode = Fact(Shape("text", _mode), "`halt` at the first difference, or `observe` all")
    duration_us = Fact(WHOLE, "how long its process ran, in microseconds")
    recorded = Fact(WHOLE, "how many calls the run has that an agent asks for again; absent where there was no report")
    served = Fact(WHOLE, "how many questions were answered; absent where there was no report")
    reservations = Fact(Shape("object of whole numbers", _counts, dict), "how often each was noted, by its kind")
    divergences = Fact(WHOLE, "how many there were; absent for none")
    divergence = Fact(TEXT, "the kind of the first divergence")
    step = Fact(WHOLE, "the step of that")
    call = Fact(WHOLE, "the number of its recorded call in that step")
    message = Fact(TEXT, "what it says; of a replay that failed, why")
    agent = Fact(TEXT, "the entry point that ran in place of the recorded one")
    fingerprint = Fact(TEXT, "hex blake2b-16 of the source file of the agent that ran; absent where it is not known")

    @classmethod
    def of_replay(cls, replay: Replay) -> dict[str, Wire]:
        """What a row says of a replay; what says nothing is left out."""
        said = {fact.key: fact.shape.write(getattr(replay, fact.key)) for fact in cls.every()}
        return {key: value for key, value in said.items() if value not in (None, "", {}) and (key, value) != _NO_MORE}

    def replay(self, run: str, at_us: int, number: int) -> Replay | None:
        """The replay; None where what makes one is not said."""
        verdict, mode, duration_us = self.verdict, self.mode, self.duration_us
        if verdict is None or mode is None or duration_us is None:
            return None
        return Replay(
            run=run,
            verdict=verdict,
            mode=mode,
            duration_us=duration_us,
            recorded=self.recorded,
            served=self.served,
            reservations=self.reservations,
            divergences=self.divergences or 0,
            divergence=self.divergence,
            step=self.step,
            call=self.call,
            message=self.message or "",
            agent=self.agent,
            fingerprint=self.fingerprint,
            at_us=at_us,
            id=number,
        )


_NO_MORE: Final = ("divergences", 0)
