"""What was run from this app: forks, replays, commands, each with the command that does the same."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.widget import Widget

    from agent_tt.protocols import RunSource

__all__ = ["Ran", "RanKind", "RanLog", "ran_of"]

RanKind = Literal["fork", "resume", "sweep", "replay", "again", "pdb", "command"]

_MOST: Final = 500


@dataclass(frozen=True, slots=True)
class Ran:
    """One thing that was run.

    Attributes:
        kind: What it was.
        what: Which, in words: `refund-loop/fork-1, from step 3`.
        command: The command that does the same; "" where none does.
        why: Why there is none.
        source: Where its run is; None where it fills no run.
        run_id: The run.
        at: When it was started, in seconds since the epoch.
    """

    kind: RanKind
    what: str
    command: str = ""
    why: str = ""
    source: RunSource | None = None
    run_id: str = ""
    at: float = field(default_factory=time.time)


class RanLog:
    """The last of what was run, in its order; as long as the app is open."""

    def __init__(self) -> None:
        self._ran: deque[Ran] = deque(maxlen=_MOST)

    def add(
        self,
        kind: RanKind,
        what: str,
        command: Callable[[], str],
        *,
        source: RunSource | None = None,
        run_id: str = "",
    ) -> None:
        """Write down that something was started.

        Args:
            kind: What it is.
            what: Which, in words.
            command: Gives the command that does the same, or raises why there is none.
            source: Where its run is.
            run_id: The run that it fills.
        """
        said, why = "", ""
        try:
            said = command()
        except AgentTTError as error:
            why = error.message
        self._ran.append(Ran(kind, what, said, why, source, run_id))

    @property
    def newest_first(self) -> Sequence[Ran]:
        """What was run, the last first."""
        return tuple(reversed(self._ran))


def ran_of(widget: Widget) -> RanLog:
    """Get the log of the widget's app; an empty one where the app keeps none, as in the test of a single widget."""
    log = getattr(widget.app, "ran", None)
    return log if isinstance(log, RanLog) else RanLog()
