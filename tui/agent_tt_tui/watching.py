"""Watching tests while the app is open: a thread has them run, each agent in its own process, and tells the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.golden.watching import Event

__all__ = ["Happened", "watch_tests"]


@dataclass
class Happened(Message):
    """Something happened to tests that are watched.

    Attributes:
        watch: What ends the watching that it happened in.
        event: What happened; None where the watching has ended by itself.
        problem: Why it has; "" else.
    """

    watch: threading.Event
    event: Event | None = None
    problem: str = ""


def watch_tests(folder: Path, stop: threading.Event, tell: Callable[[Message], object], *, live: bool) -> None:
    """Watch the tests in a folder until `stop` is set; whoever calls waits as long, so it is called in a thread.

    Args:
        folder: Where they are, there and below.
        stop: Looked at a few times a second, also while an agent runs.
        tell: Given what happens.
        live: Whether calls that nothing recorded answers are made for real, as far as the policy lets them.
    """
    from agent_tt.golden.watching import watch_goldens

    problem = "tests are not watched any more, because of an error of the program itself"
    try:
        for event in watch_goldens([folder], stop, live=live):
            tell(Happened(stop, event))
    except AgentTTError as error:
        problem = error.message
    finally:
        if not stop.is_set():
            tell(Happened(stop, problem=problem))
