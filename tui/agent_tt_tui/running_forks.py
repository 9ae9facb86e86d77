"""The forks that were started from this app: any screen that shows one can stop it and read what it printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from textual.widget import Widget

_OUTPUT_BYTES: Final = 64 * 1024


class Handle(Protocol):
    """A process that was started here: the agent of a fork, or what drives a sweep."""

    @property
    def run_id(self) -> str:
        """The run that it fills, or the sweep."""

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""

    def stop(self) -> None:
        """End it, and wait until it has ended."""

    def detach(self) -> None:
        """Let it go on when the app ends."""

    def output(self, limit: int = ...) -> str:
        """The last that it wrote."""


class RunningForks:
    """Handles by the id of the run that they fill; they are kept after its end, for what it printed."""

    def __init__(self) -> None:
        self._started: dict[str, tuple[str, Handle]] = {}
        self.seen_questions: set[tuple[Path, int]] = set()
        """The questions whose dialog was open once, by store and number: it does not open by itself again."""

    def add(self, name: str, handle: Handle) -> None:
        """Keep a fork that was just started.

        Args:
            name: the name of its run.
            handle: its process.
        """
        self._started[handle.run_id] = (name, handle)

    def running(self, run_id: str) -> Handle | None:
        """The process that fills a run, None if it ended or was not started here."""
        _, handle = self._started.get(run_id, ("", None))
        return handle if handle is not None and handle.poll() is None else None

    def ended(self, run_id: str) -> Handle | None:
        """The process that filled a run and has ended, None if it still runs or was not started here."""
        _, handle = self._started.get(run_id, ("", None))
        return handle if handle is not None and handle.poll() is not None else None

    def names(self) -> list[str]:
        """The names of the runs that are still being filled."""
        return [name for name, handle in self._started.values() if handle.poll() is None]

    def let_go(self) -> None:
        """Let whatever runs go on when the app ends; else it ends with the app."""
        for _, handle in self._started.values():
            if handle.poll() is None:
                handle.detach()

    def output(self, run_id: str, limit: int = _OUTPUT_BYTES) -> str:
        """The last that a run printed; empty if nothing, or if it was not started here.

        Args:
            run_id: the run.
            limit: how many bytes at most.
        """
        _, handle = self._started.get(run_id, ("", None))
        return handle.output(limit) if handle is not None else ""


def forks_of(widget: Widget) -> RunningForks:
    """Get the forks of the app that a widget is in; a bare Textual app, as in a test of one widget, has none."""
    forks = getattr(widget.app, "forks", None)
    return forks if isinstance(forks, RunningForks) else RunningForks()
