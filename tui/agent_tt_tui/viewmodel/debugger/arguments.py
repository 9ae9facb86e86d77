"""What the tools of steps were asked, of the steps that a timeline shows."""

from __future__ import annotations

from collections import OrderedDict
from itertools import groupby
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError
from agent_tt_tui.viewmodel.calls.first_argument import first_argument, first_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.model import Call
    from agent_tt.protocols import RunSource

__all__ = ["Arguments"]

_KEPT: Final = 4096
"""Steps of which it is kept."""


class Arguments:
    """What the first tool of each step was asked. One thread at a time reads; others may ask what is known."""

    def __init__(self, source: RunSource, run_id: str) -> None:
        """Begin without a step that was read."""
        self._source = source
        self._run_id = run_id
        self._known: OrderedDict[int, str | None] = OrderedDict()

    def of(self, step: int) -> str | None:
        """Give it in a few words; "" where no tool was asked anything, or it was not read; None where it is damaged."""
        return self._known.get(step, "")

    def lacks(self, step: int) -> bool:
        """Tell whether it was not read yet."""
        return step not in self._known

    def read(self, steps: Iterable[int]) -> None:
        """Read what is not known of some steps."""
        for first, last in _stretches(sorted(filter(self.lacks, steps))):
            self._read(first, last)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def read_again(self, first: int) -> None:
        """Read anew what was known of a step and of those behind it: they may have gone on."""
        for begin, last in _stretches(sorted(step for step in self._known if step >= first)):
            self._read(begin, last)

    def _read(self, first: int, last: int) -> None:
        calls: dict[int, list[Call]] = {}
        try:
            for head in self._source.call_heads(self._run_id, first, last + 1):
                calls.setdefault(head.step, []).append(head)
        except AgentTTError:
            self._known.update(dict.fromkeys(range(first, last + 1)))
            return
        for step in range(first, last + 1):
            self._known[step] = self._asked(calls.get(step, ()))

    def _asked(self, heads: Iterable[Call]) -> str | None:
        head = first_tool(heads)
        if head is None:
            return ""
        try:
            call = self._source.with_values(self._run_id, head)
        except AgentTTError:
            return None
        return None if call.damaged else first_argument(call)


def _stretches(steps: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each stretch of numbers that follow one another."""
    for _, following in groupby(enumerate(steps), lambda numbered: numbered[1] - numbered[0]):
        stretch = [step for _, step in following]
        yield stretch[0], stretch[-1]
