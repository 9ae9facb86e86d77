"""Holding the agent of a run that is shown: it waits before its next calls, as long as the app is there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.protocols import Store
from agent_tt_tui.feature import Feature
from agent_tt_tui.keymaps.shared import ANSWER, HOLD
from agent_tt_tui.look import look_of
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.screen import CommandScreen


class Holding(Feature):
    """Holds the run of a screen, and lets go of it. What waits then is asked about as any call that waits."""

    COMMANDS = frozenset({"live.hold"})

    def __init__(
        self,
        screen: CommandScreen[None],
        shown_runs: Callable[[], Sequence[Run]],
        source: Callable[[], RunSource],
    ) -> None:
        """Initialise the feature.

        Args:
            screen: The screen.
            shown_runs: The run that it shows now.
            source: Where it lies.
        """
        self._screen, self._shown_runs, self._source = screen, shown_runs, source

    def blocked(self, command_id: str) -> str | None:
        """Say why the run cannot be held."""
        del command_id
        run = next(iter(self._shown_runs()), None)
        if run is None or run.status != "running":
            return "only a running agent can be held"
        if self._source().read_only:
            return "this file is only read: hold it where it can be written"
        if not run.facts.attached:
            return "it was not recorded to be held: agent-tt record --attach, or record(..., attach=True)"
        return None

    def action_hold(self) -> None:
        """Hold the run, or let go of it, whoever holds it."""
        run = next(iter(self._shown_runs()), None)
        store = self._source()
        if run is None or not isinstance(store, Store):
            return
        self._screen.run_worker(partial(self._hold, store, run), group="hold", thread=True, exit_on_error=False)

    def _hold(self, store: Store, run: Run) -> None:
        name = clean(run.name)
        try:
            if store.holds(run.id):
                store.let_go(run.id)
                said = f"{name} is let go: what waits goes out as it is"
            else:
                store.hold_run(run.id, by="app")
                decide, let_go = map(look_of(self._screen).key, (ANSWER, HOLD))
                said = f"{name} waits before its next call: {decide} decides about it, {let_go} lets it go"
        except AgentTTError as error:
            said = error.message
        self._screen.app.call_from_thread(self._screen.say, said, None)
