"""What a screen asks the app for, as it cannot know the screens that stand above it: messages that the app answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.commands import Context


@dataclass
class OpenRun(Message):
    """A run is to be opened in the debugger.

    Attributes:
        source: Where it is.
        run: The run.
        step: The step to open at; None for the first that failed, else the last.
    """

    source: RunSource
    run: Run
    step: int | None = None


@dataclass
class KeepRun(Message):
    """A run is to be kept as a test.

    Attributes:
        source: Where it is.
        run: The run.
        kept: Called with the file, once it is.
    """

    source: RunSource
    run: Run
    kept: Callable[[Path | None], None]


class ShowTests(Message):
    """The tests that are kept are to be shown."""


@dataclass
class WatchTests(Message):
    """Tests are to be run again whenever a file that they run is saved.

    Attributes:
        folder: Where they are; None ends it.
        live: Whether calls that nothing recorded answers are made for real, as far as the policy lets them.
    """

    folder: Path | None
    live: bool = False


@dataclass
class ShowKeys(Message):
    """The keys of a screen are to be shown."""

    context: Context


@dataclass
class Confirm(Message):
    """A question is to be asked that is answered with yes or no.

    Attributes:
        title: A word or two.
        question: What will happen on yes, in full sentences.
        answered: Called with the answer; None where the question was closed.
    """

    title: str
    question: str
    answered: Callable[[bool | None], None]
