"""Statistics: what can be counted over the runs of a store, of all of them or of an agent and a period."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar, cast, get_args

from textual.containers import Container, VerticalScroll
from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt.model.quantities import moment
from agent_tt.model.statistics import CallGroups, Chosen, RunGroups
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState
from agent_tt_tui.keymaps import STATISTICS
from agent_tt_tui.look import look_of
from agent_tt_tui.requests import OpenRun
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
from agent_tt_tui.viewmodel.runs.statistics import (
    GROUPINGS,
    PERIODS,
    call_table,
    day_table,
    ended_table,
    errors_table,
    kept_table,
    loops_table,
    run_table,
    stats_command,
    step_table,
    today,
)
from agent_tt_tui.widgets.runs.statistics import StatTable, StatZone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult

    from agent_tt.model.statistics import RunGroup, Statistics
    from agent_tt.protocols import RunSource
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.viewmodel.runs.statistics import Grouping, Table

_Answer = TypeVar("_Answer")

_WIDE_FROM: Final = 110
_MOST: Final = 10
_ALL: Final = "\0all agents"


class StatisticsScreen(CommandScreen[None]):
    """The statistics of a store."""

    CONTEXT = STATISTICS
    AUTO_FOCUS = "#stat-ended"
    HELP = "Statistics: tab goes through the tables, b groups by something else, p and a choose what is counted."

    def __init__(self, source: RunSource) -> None:
        """Show statistics.

        Args:
            source: where the runs are.
        """
        super().__init__()
        self._source = source
        self._agent: str | None = None
        self._since = self._by = 0

    def compose(self) -> ComposeResult:
        """Lay out header, zones and footer."""
        yield HeaderRow(HeaderState("agent-tt", cause="statistics"))
        with VerticalScroll(id="stat-body", can_focus=False):
            with Container(classes="stat-pair"):
                yield StatZone("stat-ended", "How they ended")
                yield StatZone("stat-kept", "Checkpoints, replays, size", classes="ground")
            yield StatZone("stat-days", "Each day")
            yield StatZone("stat-groups", "By agent", classes="ground")
            with Container(classes="stat-pair"):
                yield StatZone("stat-slowest", "Slowest steps")
                yield StatZone("stat-costliest", "Costliest steps", classes="ground")
            with Container(classes="stat-pair"):
                yield StatZone("stat-loops", "Loops")
                yield StatZone("stat-errors", "Errors", classes="ground")
        yield self.footer()

    def on_mount(self) -> None:
        """Count."""
        self.action_read_again()

    def on_resize(self, event: events.Resize) -> None:
        """Put zones beside each other where there is room."""
        self.set_class(event.size.width >= _WIDE_FROM, "wide")

    # Counting, in threads.

    @property
    def _chosen(self) -> Chosen:
        since = PERIODS[self._since]
        return Chosen(self._agent, moment(since, time.time_ns() // 1000) if since else None, _MOST)

    @property
    def _grouping(self) -> Grouping:
        return GROUPINGS[self._by]

    def action_read_again(self) -> None:
        """Count everything again."""
        self._say_header(None)
        for zone in self.query(StatZone):
            zone.title_row.busy = "counting"
        work = partial(self._count, self._chosen)
        self.run_worker(work, group="count", exclusive=True, thread=True, exit_on_error=False)
        self._count_groups_soon()

    def _count_groups_soon(self) -> None:
        self._zone("stat-groups").title_row.busy = f"counting by {self._grouping}"
        work = partial(self._count_groups, self._chosen, self._grouping)
        self.run_worker(work, group="groups", exclusive=True, thread=True, exit_on_error=False)

    def _count(self, chosen: Chosen) -> None:
        """Count in parts, each shown as soon as it is known."""
        source = self._source
        self._tell(lambda: source.statistics(chosen), self._show)

        def count_days() -> tuple[Sequence[RunGroup], Mapping[str | None, int] | None]:
            return source.run_groups(chosen, "day"), source.growth(chosen)

        self._tell(count_days, self._show_days)

    def _count_groups(self, chosen: Chosen, by: Grouping) -> None:
        source, glyphs = self._source, look_of(self).glyphs

        def count() -> Table:
            if by in get_args(CallGroups):
                return call_table(by, source.call_groups(chosen, cast("CallGroups", by)), glyphs)
            return run_table(by, source.run_groups(chosen, cast("RunGroups", by)), glyphs)

        self._tell(count, self._show_groups)

    def _tell(self, count: Callable[[], _Answer], show: Callable[[_Answer], None]) -> None:
        """Show what is counted in this thread, or why it cannot be."""
        worker = get_current_worker()
        try:
            counted = count()
        except AgentTTError as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self._failed, error.message)
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(show, counted)

    def _failed(self, message: str) -> None:
        for zone in self.query(StatZone):
            zone.title_row.busy = ""
        self.query_one(HeaderRow).state = HeaderState(
            "agent-tt", look_of(self).glyphs.failed, message, "failed", "statistics"
        )

    # What is shown.

    def _zone(self, table: str) -> StatZone:
        return next(zone for zone in self.query(StatZone) if zone.table.id == table)

    def _show(self, whole: Statistics) -> None:
        glyphs = look_of(self).glyphs
        self._zone("stat-ended").show(ended_table(whole, glyphs))
        self._zone("stat-kept").show(kept_table(whole, glyphs))
        self._zone("stat-slowest").show(step_table("slowest", whole.slowest, glyphs))
        self._zone("stat-costliest").show(step_table("costliest", whole.costliest, glyphs))
        self._zone("stat-loops").show(loops_table(whole, glyphs))
        self._zone("stat-errors").show(errors_table(whole, glyphs))
        self._say_header(whole)
        self.refresh_footer()

    def _show_days(self, counted: tuple[Sequence[RunGroup], Mapping[str | None, int] | None]) -> None:
        days, growth = counted
        self._zone("stat-days").show(day_table(days, growth or {}, today(), look_of(self).glyphs))

    def _show_groups(self, table: Table) -> None:
        zone = self._zone("stat-groups")
        zone.title_row.hint = f"{self.key('stats.by')}: by {GROUPINGS[(self._by + 1) % len(GROUPINGS)]}"
        zone.show(table)
        self.refresh_footer()

    def _say_header(self, whole: Statistics | None) -> None:
        glyphs = look_of(self).glyphs
        since = PERIODS[self._since]
        period = f"since {since} ago" if since else "all time"
        what = f"statistics {glyphs.dot} {period} {glyphs.dot} {self._agent or 'all agents'}"
        if whole is None:
            self.query_one(HeaderRow).state = HeaderState("agent-tt", glyphs.still, "counting", "running", what)
            return
        usage = whole.whole.usage
        tokens = fmt.total_tokens(usage.tokens_in, usage.tokens_out)
        facts = [Fact(fmt.counted(whole.whole.runs, "run")), Fact(fmt.counted(whole.whole.steps, "step"), 0)]
        facts += [] if tokens is None else [Fact(fmt.tokens(tokens), 1)]
        facts += [] if usage.cost_usd is None else [Fact(fmt.cost(usage.cost_usd, usage.unpriced or 0), 2)]
        self.query_one(HeaderRow).state = HeaderState("agent-tt", cause=what, facts=tuple(facts))

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id == "list.choose":
            table = self.focused
            line = table.current if isinstance(table, StatTable) else None
            return None if line is not None and line.place is not None else "nothing is opened from this row"
        return super().blocked(command_id)

    def on_line_view_cursor_moved(self, _message: LineView.CursorMoved) -> None:
        """Say whether the row can be opened."""
        self.refresh_footer()

    def on_descendant_focus(self) -> None:
        """Say whether the row can be opened."""
        self.refresh_footer()

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Count only the agent of the row, or open its run."""
        table = message.view
        line = table.current if isinstance(table, StatTable) else None
        place = None if line is None else line.place
        if place is None:
            self.say("nothing is opened from this row")
        elif place.run:
            try:
                self.post_message(OpenRun(self._source, self._source.run(place.run), place.step))
            except AgentTTError as error:
                self.say(error.message)
        else:
            self._take_agent(place.agent)

    def _take_agent(self, agent: str) -> None:
        self._agent = None if agent in (_ALL, self._agent) else agent
        self.action_read_again()

    def action_by(self, way: int) -> None:
        """Group by something else."""
        self._by = (self._by + way) % len(GROUPINGS)
        self._count_groups_soon()

    def action_period(self) -> None:
        """Count a shorter time, or all."""
        self._since = (self._since + 1) % len(PERIODS)
        self.action_read_again()

    def action_agent(self) -> None:
        """Choose the agent that is counted."""
        work = partial(self._tell, lambda: self._source.run_groups(Chosen(), "agent"), self._ask_agent)
        self.run_worker(work, group="agents", exclusive=True, thread=True, exit_on_error=False)

    def _ask_agent(self, groups: Sequence[RunGroup]) -> None:
        choices = [Choice(_ALL, "all agents")]
        choices += [
            Choice(group.name, group.name, fmt.counted(group.runs, "run")) for group in groups if group.name is not None
        ]
        self.ask(PickDialog("Agent", choices), self._take_agent)

    def action_copy(self) -> None:
        """Copy the command that counts the same."""
        self.app.copy_to_clipboard(stats_command(self._grouping, self._agent, PERIODS[self._since]))
        self.say("copied the command")

    def action_escape(self) -> None:
        """Count all agents and all time again."""
        if self._agent is not None or self._since:
            self._agent, self._since = None, 0
            self.action_read_again()
