"""Places that the palette goes to: steps by number or name, values by their path, forks by name."""

from __future__ import annotations

from collections import deque
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import format_path, without_envelopes
from agent_tt.codec.text import summary
from agent_tt.errors import AgentTTError
from agent_tt_tui.requests import OpenRun
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.viewmodel.offers import Offer
from agent_tt_tui.viewmodel.values.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.codec.wire import Path, Wire

_MOST_OF_A_KIND: Final = 5
_MOST_DIGITS: Final = 12
_MOST_LOOKED_AT: Final = 3_000
"""Values of a state that are looked at while somebody types."""

_SHOWN: Final = 60
"""Characters of a value beside its path."""


class Places(DebuggerFeature):
    """Offers places of the run, out of what is at hand."""

    def places(self, words: str) -> Iterable[Offer]:
        """Offer steps, values and forks whose number, path or name holds what was typed."""
        wanted = words.casefold()
        if not wanted:
            return
        for kind in (self._steps, self._paths, self._forks):
            yield from islice(kind(wanted), _MOST_OF_A_KIND)

    def _steps(self, wanted: str) -> Iterator[Offer]:
        is_number = wanted.isdecimal() and len(wanted) < _MOST_DIGITS
        for number in [int(wanted)] if is_number else range(1, self.model.last + 1):
            step = self.model.peek(number)
            name = "" if step is None else step.name
            if 0 <= number <= self.model.last if is_number else wanted in name.casefold():
                detail = "" if step is None else step.status
                yield Offer(
                    "place", f"{number} {name}".rstrip(), partial(self.time.go, number), "@", wanted, "", detail
                )

    def _paths(self, wanted: str) -> Iterator[Offer]:
        for path, value in _inside(self.panes.inspector.state, _MOST_LOOKED_AT):
            name = format_path(without_envelopes(path))
            if wanted in name.casefold():
                show = partial(self.panes.inspector.show_value, path)
                yield Offer("place", name, show, ".", wanted, "", summary(value, _SHOWN))

    def _forks(self, wanted: str) -> Iterator[Offer]:
        for step, names in sorted(self.model.forks.items()):
            for name in names:
                if wanted in name.casefold():
                    yield Offer("place", name, partial(self._open, name), "#", wanted, "", f"forked at {step}")

    def _open(self, name: str) -> None:
        try:
            run = self.model.source.run(name)
        except AgentTTError as error:
            self.screen.say(error.message)
        else:
            self.screen.post_message(OpenRun(self.model.source, run))


def _inside(state: Wire, most: int) -> Iterator[tuple[Path, Wire]]:
    """So many values of a state, those that lie less deep first; no more than these is touched of a large one."""
    waiting: deque[tuple[Path, Wire]] = deque([((), state)])
    while waiting:
        path, value = waiting.popleft()
        if path:
            yield path, value
        parts = parts_of(value) if most else None
        if parts is None:
            continue
        for index in range(min(len(parts), most)):
            waiting.append(((*path, *parts.steps(index)), parts.value(index)))
            most -= 1
