"""Remember, in the user's settings, what was explained to them already, so that each thing is explained once."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final

from textual.message import Message

from agent_tt import config
from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt_tui.look import look_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt_tui.screen import CommandScreen

_ONE_WRITES: Final = Lock()


@dataclass
class NotKept(Message):
    """The settings do not say what was explained, and why they do not."""

    why: str


class Explained:
    """What is still to be explained."""

    def __init__(self, screen: CommandScreen[None]) -> None:
        """Ask the app of a screen, and tell it."""
        self._screen = screen

    def wants(self, name: str) -> bool:
        """Whether something is to be explained: it never was, and the person lets things be explained unasked."""
        seen = look_of(self._screen).seen
        return seen is not None and name not in seen

    def keep(self, names: Iterable[str]) -> None:
        """Remember that these were explained; a thread writes it into the settings file."""
        look = look_of(self._screen)
        self._screen.app.look = replace(look, seen=(look.seen or frozenset()).union(names))  # type: ignore[attr-defined]
        self._screen.run_worker(self._write, group="settings", thread=True)

    def _write(self) -> None:
        from agent_tt.config_writing import keep_names

        path = config.user_file()
        try:
            with _ONE_WRITES:  # whoever comes last writes all that is known by then
                seen = look_of(self._screen).seen or frozenset()
                keep_names(path, "seen", sorted(seen.union(config.read_user(path).seen)))
        except UsageError as error:
            why = f"not kept that this was explained: {error.message}. {error.hint or ''}"
            self._screen.post_message(NotKept(why.rstrip()))
