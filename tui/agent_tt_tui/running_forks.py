"""The forks that were started from this app: any screen that shows one can stop it and read what it printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from textual.widget import Widget

    from agent_tt.forking.handle import ForkHandle

_OUTPUT_BYTES: Final = 64 * 1024


class RunningForks:
    """Handles by the id of the run that they fill; they are kept after its end, for what it printed."""

    def __init__(self) -> None:
        self._started: dict[str, tuple[str, ForkHandle]] = {}

    def add(self, name: str, handle: ForkHandle) -> None:
        """Keep a fork that was just started.

        Args:
            name: The name of its run.
            handle: Its process.
        """
        self._started[handle.run_id] = (name, handle)

    def running(self, run_id: str) -> ForkHandle | None:
        """The process that fills a run, None if it ended or was not started here."""
        _, handle = self._started.get(run_id, ("", None))
        return handle if handle is not None and handle.poll() is None else None

    def names(self) -> list[str]:
        """The names of the runs that are still being filled."""
        return [name for name, handle in self._started.values() if handle.poll() is None]

    def output(self, run_id: str, limit: int = _OUTPUT_BYTES) -> str:
        """The last that a run printed; empty if nothing, or if it was not started here.

        Args:
            run_id: The run.
            limit: How many bytes at most.
        """
        _, handle = self._started.get(run_id, ("", None))
        return handle.output(limit) if handle is not None else ""


def forks_of(widget: Widget) -> RunningForks:
    """Get the forks of the app that a widget is in; a bare Textual app, as in a test of one widget, has none."""
    forks = getattr(widget.app, "forks", None)
    return forks if isinstance(forks, RunningForks) else RunningForks()
