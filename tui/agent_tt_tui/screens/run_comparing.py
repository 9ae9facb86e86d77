"""What the browser does to compare runs: two side by side, one with many in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.widgets.run_list import RunList

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["RunComparingScreen"]

_SIDE_BY_SIDE: Final = 2


class RunComparingScreen(CommandScreen[None]):
    """A screen with a list of runs, of which some are selected."""

    source: RunSource

    def __init__(self) -> None:
        super().__init__()
        self._known: Mapping[str, Run] = {}
        self._forked: tuple[frozenset[str | None], frozenset[str | None]] = (frozenset(), frozenset())

    def know_runs(self, runs: Sequence[Run]) -> None:
        """Be told all runs that there are now."""
        self._known = {run.id: run for run in runs}
        listed = frozenset(run.parent for run in runs if not run.archived)
        self._forked = (listed, frozenset(run.parent for run in runs))

    def selection(self) -> Sequence[str]:
        """Ids of the selected runs, in the order in which they were."""
        raise NotImplementedError

    def with_archived(self) -> bool:
        """Whether archived runs are shown too."""
        raise NotImplementedError

    def blocked(self, command_id: str) -> str | None:
        """Say why nothing can be compared."""
        if command_id == "runs.compare" and len(self._to_compare()) < _SIDE_BY_SIDE:
            return f"select two runs with space first; {len(self.selection())} selected"
        if command_id == "runs.compare_forks" and self._forks_to_compare() is None:
            return "nothing was forked from this run yet: f in the debugger forks it"
        return super().blocked(command_id)

    def _to_compare(self) -> Sequence[Run]:
        """The selected runs in the order of selection; one alone beside the run under the cursor, if it is another.

        Where none is selected, a fork under the cursor and what it was forked from.
        """
        chosen = [self._known[run_id] for run_id in self.selection() if run_id in self._known]
        current = self.query_one(RunList).current
        if current is None or len(chosen) > 1:
            return chosen
        if not chosen:
            parent = self._known.get(current.parent or "")
            return [parent, current] if parent is not None else []
        return chosen if current in chosen else [*chosen, current]

    def _forks_to_compare(self) -> tuple[Run, Sequence[Run] | None] | None:
        """The run under the cursor, with None for all its forks; on a sweep's row what it forked, with its runs."""
        row = self.query_one(RunList).current_row
        if row is None:
            return None
        if row.group is None:
            return (row.run, None) if row.run.id in self._forked[self.with_archived()] else None
        parent = self._known.get(row.run.parent or "")
        return None if parent is None else (parent, row.group.runs)

    def action_compare(self) -> None:
        """Compare two runs side by side; of more, the first with all others in a table."""
        from agent_tt_tui.screens.compare import CompareScreen
        from agent_tt_tui.screens.run_table import TableScreen

        first, *others = self._to_compare()
        if len(others) == 1:
            self.app.push_screen(CompareScreen(self.source, first, self.source, others[0]))
        else:
            self.app.push_screen(TableScreen(self.source, first, others))

    def action_compare_forks(self) -> None:
        """Compare a run with all that was forked from it."""
        from agent_tt_tui.screens.run_table import TableScreen

        found = self._forks_to_compare()
        if found is not None:
            base, others = found
            self.app.push_screen(TableScreen(self.source, base, others, archived=self.with_archived()))
