"""Which steps worked on a state since the checkpoint before: what the next one holds may be theirs as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.querying.provenance.links import Link, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.provenance.searching import Origin

__all__ = ["OpenSteps", "value_link"]

_PAGE: Final = 1_000
"""Steps read at once; a step is looked for among those of its page and the pages beside it."""


class OpenSteps:
    """Tells which steps beside a step may have written what its checkpoint shows; pages of steps are read once.

    Args:
        source: where the run is.
        run_id: the run.
    """

    def __init__(self, source: RunSource, run_id: str) -> None:
        self._source, self._run_id = source, run_id
        self._pages: dict[int, list[Step]] = {}

    def beside(self, number: int) -> list[Step]:
        """The steps that were open on a step's state between the checkpoint before its own and that.

        They are of other lanes, or no checkpoint of theirs is kept.

        Args:
            number: the step whose checkpoint is asked about; 0 is the input, which nobody wrote.

        Returns:
            Them, in order; none where the source does not say when steps began and ended.
        """
        own = self.step(number)
        if own is None or own.started_us is None or own.ended_us is None or own.seq is None:
            return []
        base = self.step(self._source.base_step(self._run_id, number) or 0)
        since = own.started_us if base is None or base.ended_us is None else base.ended_us
        page = number // _PAGE
        near = [step for each in range(max(0, page - 1), page + 2) for step in self._page(each)]
        return [step for step in near if _is_beside(step, own, since, own.ended_us)]

    def step(self, number: int) -> Step | None:
        """A step; None for the input, and where there is none."""
        return next((step for step in self._page(number // _PAGE) if step.number == number), None)

    def _page(self, page: int) -> list[Step]:
        if page not in self._pages:
            start = max(1, page * _PAGE)
            self._pages[page] = self._source.steps(self._run_id, start, (page + 1) * _PAGE)
        return self._pages[page]


def _is_beside(step: Step, own: Step, since: int, until: int) -> bool:
    """Whether a step was open on the state of another one of another lane at some time between two."""
    if step.number == own.number or step.track != own.track or step.started_us is None:
        return False
    if step.lane == own.lane and not step.is_unkept:
        return False
    return step.started_us < until and (step.ended_us is None or step.ended_us > since)


def value_link(wrote: int, writers: Mapping[int, Step | None], origin: Origin | None, shown: str, value: Wire) -> Link:
    """The link to a value: the step that wrote it, and those that may have, where several were open on its state."""
    first = writers[wrote]
    if first is None:
        return Link("value", wrote, None, "", shown, value, "it came with the input")
    if len(writers) == 1:
        return Link("value", wrote, None, "", shown, value, f"written at step {wrote}, {first.name}")
    likely = first
    if origin is not None and not origin.others:
        likely = writers.get(origin.call.step) or first
    unkept = [each for each in writers.values() if each is not None and each.is_unkept]
    others = [each for each in writers.values() if each is not None and each.number != likely.number]
    names = ", ".join(f"{each.number} {each.name}" for each in others)
    if origin is not None and not origin.others and origin.call.step == likely.number:
        why = f"most likely written by step {likely.number}, {likely.name}, whose call brought it"
    else:
        why = f"written by step {likely.number}, {likely.name}, or by {names}"
    since = f"; it is there since step {wrote} ended" if likely.number != wrote else f"; {names} were open as well"
    if unkept:
        since = f"; no checkpoint is kept of {', '.join(f'{each.number} {each.name}' for each in unkept)}"
    also = tuple(Source(each.number, None, each.name, shown) for each in others)
    return Link("value", likely.number, None, "", shown, value, f"{why}{since}", others=also)
