"""What the browser does to compare runs: two side by side, one with many in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.feature import Feature
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.look import look_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.model import Run
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.runs.listing import Listing

_SIDE_BY_SIDE: Final = 2


class Comparing(Feature):
    """Compares the selected runs, or the one under the cursor with its relatives."""

    COMMANDS = frozenset({"runs.compare", "runs.compare_forks"})

    def __init__(self, screen: CommandScreen[None], listing: Listing) -> None:
        """Initialise the feature.

        Args:
            screen: the screen with the list.
            listing: the list.
        """
        self._screen, self._listing = screen, listing
        self._listed: Sequence[Run] = ()
        self._by_id: Mapping[str, Run] = {}
        self._forked: Mapping[bool, frozenset[str | None]] = {False: frozenset(), True: frozenset()}

    def _know_runs(self) -> None:
        """Learn all runs that there are now, by id, and which of them were forked: with archived forks, or without."""
        runs = self._listing.runs or ()
        if runs is not self._listed:
            self._listed, self._by_id = runs, {run.id: run for run in runs}
            listed = frozenset(run.parent for run in runs if not run.archived)
            self._forked = {False: listed, True: frozenset(run.parent for run in runs)}

    def blocked(self, command_id: str) -> str | None:
        """Say why nothing can be compared."""
        self._know_runs()
        if command_id == "runs.compare" and len(self._to_compare()) < _SIDE_BY_SIDE:
            select, selected = self._screen.key("runs.select"), len(self._listing.selection)
            return f"select two runs with {select} first; {selected} selected"
        if command_id == "runs.compare_forks" and self._forks_to_compare() is None:
            fork = look_of(self._screen).key(DEBUGGER.command("fork.open"))
            return f"nothing was forked from this run yet: {fork} in the debugger forks it"
        return None

    def _to_compare(self) -> Sequence[Run]:
        """The selected runs in the order of selection; one alone beside the run under the cursor, if it is another.

        Where none is selected, a fork under the cursor and what it was forked from.
        """
        chosen = [self._by_id[run_id] for run_id in self._listing.selection if run_id in self._by_id]
        current = self._listing.run_under_cursor
        if current is None or len(chosen) > 1:
            return chosen
        if not chosen:
            parent = self._by_id.get(current.parent or "")
            return [parent, current] if parent is not None else []
        return chosen if current in chosen else [*chosen, current]

    def _forks_to_compare(self) -> tuple[Run, Sequence[Run] | None] | None:
        """The run under the cursor, with None for all its forks; on a sweep's row what it forked, with its runs."""
        row = self._listing.row
        if row is None:
            return None
        if row.group is None:
            return (row.run, None) if row.run.id in self._forked[self._listing.with_archived] else None
        parent = self._by_id.get(row.run.parent or "")
        return None if parent is None else (parent, row.group.runs)

    def action_compare(self) -> None:
        """Compare two runs side by side; of more, the first with all others in a table."""
        from agent_tt_tui.screens.compare.screen import CompareScreen
        from agent_tt_tui.screens.compare.table import TableScreen

        first, *others = self._to_compare()
        if len(others) == 1:
            self._screen.app.push_screen(CompareScreen(self._listing.source, first, self._listing.source, others[0]))
        else:
            self._screen.app.push_screen(TableScreen(self._listing.source, first, others))

    def action_compare_forks(self) -> None:
        """Compare a run with all of its forks."""
        from agent_tt_tui.screens.compare.table import TableScreen

        found = self._forks_to_compare()
        if found is not None:
            base, others = found
            self._screen.app.push_screen(
                TableScreen(self._listing.source, base, others, archived=self._listing.with_archived)
            )
