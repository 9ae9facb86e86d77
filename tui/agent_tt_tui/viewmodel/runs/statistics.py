"""Statistics of a store as tables: how runs ended, each day, groups, slow and costly steps, loops, errors.

What is not known is `–`, never 0. Days are those of UTC.
"""

from __future__ import annotations

import shlex
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, get_args

from agent_tt._dataclass import dataclass
from agent_tt.model.statistics import CallGroups, RunGroups
from agent_tt_tui import format as fmt
from agent_tt_tui.status import run_glyph, run_tone
from agent_tt_tui.text import Align, clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.model import Usage
    from agent_tt.model.statistics import CallGroup, NotableStep, RunGroup, Statistics
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import PieceRole

    Series: TypeAlias = Sequence[float | None]

__all__ = [
    "GROUPINGS",
    "PERIODS",
    "Cell",
    "Column",
    "Line",
    "Place",
    "Table",
    "call_table",
    "day_table",
    "ended_table",
    "errors_table",
    "kept_table",
    "loops_table",
    "run_table",
    "squeezed",
    "stats_command",
    "step_table",
    "today",
]

T = TypeVar("T")

Grouping: TypeAlias = RunGroups | CallGroups
GROUPINGS: Final[tuple[Grouping, ...]] = (*get_args(RunGroups), *get_args(CallGroups))

PERIODS: Final = ("", "90d", "30d", "7d", "24h")
"""What runs may be counted since, as `--since` says it; "" for all."""

_LONGEST: Final = timedelta(days=3_650)
"""Days before that are not drawn: one run with a wrong clock would leave no room for the others."""

_HIGH: Final = 3
"""So many times the usual is marked."""

_FEW: Final = 5
"""Of fewer runs a rate says little."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its title.
        width: How wide it is; 0 takes what is left.
        align: Where its text stands.
        drop: When it is left out for lack of room: the lowest number first; 0 never.
    """

    title: str = ""
    width: int = 0
    align: Align = "left"
    drop: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a column of a row.

    Attributes:
        text: Safe text.
        role: How it is drawn.
        series: What is drawn as a sparkline in its place, oldest first; None of it is not known.
        share: What is drawn as a bar in its place, 0 to 1.
        keeps_end: Whether its end says more than its beginning, where not all of it fits.
    """

    text: str = ""
    role: PieceRole = "text"
    series: Series | None = None
    share: float | None = None
    keeps_end: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """What a row is about: an agent, or a step of a run.

    Attributes:
        agent: The entry point; "" for none.
        run: The run's id; "" for none.
        step: The step.
    """

    agent: str = ""
    run: str = ""
    step: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table."""

    cells: tuple[Cell, ...]
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        title: Its title.
        columns: Its columns.
        lines: Its rows.
        detail: Stands after the title.
        empty: What is said where it has no row.
    """

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    detail: str = ""
    empty: str = ""


def ended_table(whole: Statistics, glyphs: Glyphs) -> Table:
    """How runs ended, the most frequent first."""
    group = whole.whole
    roles: dict[str, PieceRole] = {"well": "well", "failed": "failed", "muted": "muted", "running": "key"}
    lines = [
        Line(
            (
                Cell(f"{run_glyph(status, glyphs)} {status}", roles[run_tone(status)]),
                Cell(fmt.count(count), "strong"),
                Cell(share=count / group.runs, role=roles[run_tone(status)]),
                Cell(_percent(count / group.runs, glyphs), "muted"),
            )
        )
        for status, count in sorted(group.statuses.items(), key=lambda item: -item[1])
    ]
    columns = (Column(width=14), Column(width=9, align="right"), Column(), Column(width=6, align="right"))
    rate = _rate("of ended runs succeeded", group.success_rate, glyphs)
    forks = fmt.counted(whole.forks, "fork")
    return Table("How they ended", columns, tuple(lines), f"{rate} {glyphs.dot} {forks}", "no run was counted")


def kept_table(whole: Statistics, glyphs: Glyphs) -> Table:
    """Checkpoints, replays and the size of the store."""
    unknown, dot = glyphs.span, f" {glyphs.dot} "
    checkpoints, replays, took = whole.checkpoints, whole.replays, whole.whole.took
    rows: list[tuple[str, str]] = []
    if checkpoints is None:
        rows.append(("checkpoints", unknown))
    else:
        failed = f"{checkpoints.failed:,} failed"
        rate = _percent(checkpoints.success_rate, glyphs)
        rows.append(("checkpoints", dot.join((rate, f"{checkpoints.taken:,} taken", failed))))
    if replays is None:
        rows.append(("replays", unknown))
    else:
        said = (fmt.count(replays.replays), _rate("as recorded", replays.success_rate, glyphs))
        rows.append(("replays", dot.join((*said, _rate("diverged", replays.divergence_rate, glyphs)))))
        rows.append(("replays took", _spread(replays.took.median_us, replays.took.p95_us, glyphs)))
    rows.append(("runs took", _spread(took.median_us, took.p95_us, glyphs)))
    size = unknown if whole.bytes is None else fmt.size(whole.bytes)
    free = "" if whole.free_bytes is None else f"{dot}{fmt.size(whole.free_bytes)} of it free"
    rows.append(("store", f"{size}{free}"))
    lines = tuple(Line((Cell(label, "muted"), Cell(said))) for label, said in rows)
    return Table("Checkpoints, replays, size", (Column(width=14), Column()), lines)


def day_table(days: Sequence[RunGroup], growth: Mapping[str | None, int], today: date, glyphs: Glyphs) -> Table:
    """Each day from the first with a run to today, as sparklines."""
    named = {day: group for group in days if (day := _day(group.name)) is not None and day <= today}
    if not named:
        return Table("Each day", (Column(),), (), empty="no run was counted")
    first = max(min(named), today - _LONGEST)
    dates = [first + timedelta(days=number) for number in range((today - first).days + 1)]
    names = [day.isoformat() for day in dates]
    groups = [named.get(day) for day in dates]

    def of(value: Callable[[RunGroup], float | None]) -> list[float | None]:
        return [None if group is None else value(group) for group in groups]

    rows: list[tuple[str, list[float | None], Callable[[float], str]]] = [
        ("runs", [0 if group is None else group.runs for group in groups], lambda n: fmt.count(round(n))),
        ("succeeded", of(lambda group: group.success_rate), lambda part: _percent(part, glyphs)),
        ("tokens", of(lambda group: _tokens(group.usage)), lambda n: fmt.count(round(n))),
        ("cost", of(lambda group: group.usage.cost_usd), fmt.cost),
        ("longest run", of(lambda group: _seconds(group.took.longest_us)), fmt.duration),
        ("stored", [growth.get(name) for name in names], lambda n: fmt.size(round(n))),
    ]
    lines = tuple(
        Line(
            (
                Cell(label, "muted"),
                Cell(series=series, role="model"),
                _last(series, shown, glyphs),
                Cell(_known(_usual(series), shown, glyphs), "muted"),
            )
        )
        for label, series, shown in rows
    )
    columns = (
        Column(width=12),
        Column(),
        Column(names[-1][5:], 11, "right"),
        Column("usual", 11, "right", 1),
    )
    return Table("Each day", columns, lines, f"{names[0]} to {names[-1]}")


def run_table(by: str, groups: Sequence[RunGroup], glyphs: Glyphs) -> Table:
    """Runs in groups; days newest first."""
    columns = (
        Column(by),
        Column("runs", 8, "right"),
        Column("succeeded", 11, "right"),
        Column("steps", 10, "right", 2),
        Column("tokens", 13, "right", 3),
        Column("cost", 11, "right", 5),
        Column("took, 95 %", 12, "right", 1),
    )
    ordered = sorted(groups, key=lambda group: group.name or "", reverse=True) if by == "day" else groups
    lines = [
        Line(
            (
                _name(group.name, "no tag" if by == "tag" else "not known"),
                Cell(fmt.count(group.runs)),
                Cell(_percent(group.success_rate, glyphs), "muted" if group.runs < _FEW else "text"),
                Cell(fmt.count(group.steps), "muted"),
                Cell(_known(_tokens(group.usage), lambda n: fmt.count(round(n)), glyphs), "muted"),
                Cell(_cost(group.usage, glyphs)),
                Cell(_known(_seconds(group.took.p95_us), fmt.duration, glyphs), "muted"),
            ),
            Place(agent=group.name) if by == "agent" and group.name is not None else None,
        )
        for group in ordered
    ]
    return Table(f"By {by}", columns, tuple(lines), empty="no run was counted")


def call_table(by: str, groups: Sequence[CallGroup], glyphs: Glyphs) -> Table:
    """Calls in groups."""
    columns = (
        Column(by),
        Column("calls", 9, "right"),
        Column("errors", 8, "right"),
        Column("runs", 8, "right", 2),
        Column("tokens", 13, "right", 3),
        Column("cost", 11, "right", 5),
        Column("longest", 10, "right", 4),
        Column("in all", 10, "right", 1),
    )
    lines = [
        Line(
            (
                _name(group.name, "not known"),
                Cell(fmt.count(group.calls)),
                Cell(fmt.count(group.errors), "failed_text" if group.errors else "muted"),
                Cell(fmt.count(group.runs), "muted"),
                Cell(_known(_tokens(group.usage), lambda n: fmt.count(round(n)), glyphs), "muted"),
                Cell(_cost(group.usage, glyphs)),
                Cell(_known(_seconds(group.longest_us), fmt.duration, glyphs), "muted"),
                Cell(_known(_seconds(group.total_us), fmt.duration, glyphs), "muted"),
            )
        )
        for group in groups
    ]
    return Table(f"By {by}", columns, tuple(lines), empty="no such call was counted")


def step_table(kind: Literal["slowest", "costliest"], steps: Sequence[NotableStep], glyphs: Glyphs) -> Table:
    """The slowest steps, or the costliest, with their part of their run."""
    columns = (
        Column("step"),
        Column("run and step", 22, drop=1),
        Column("took" if kind == "slowest" else "cost", 9, "right"),
        Column("of its run", 11, "right", 2),
    )
    lines = [
        Line(
            (
                Cell(clean(step.name), "strong"),
                Cell(f"{clean(step.run_name)} {step.step}", "muted", keeps_end=True),
                Cell(fmt.duration(step.amount / 1e6) if kind == "slowest" else fmt.cost(step.amount)),
                Cell(_percent(step.share, glyphs), "muted"),
            ),
            Place(run=step.run, step=step.step),
        )
        for step in steps
    ]
    why = "no step says how long it took" if kind == "slowest" else "of no step a price is known"
    return Table(f"{kind} steps", columns, tuple(lines), empty=why)


def loops_table(whole: Statistics, glyphs: Glyphs) -> Table:
    """Steps that made the same calls with the same answers again and again."""
    lines = [
        Line(
            (
                Cell(clean(loop.name), "strong"),
                Cell(fmt.counted(loop.runs, "run"), "muted"),
                Cell(_times(loop.times, glyphs)),
            )
        )
        for loop in whole.loops
    ]
    columns = (Column(), Column(width=12, align="right"), Column(width=9, align="right"))
    return Table("Loops", columns, tuple(lines), "same calls, same answers, 3 times or more", "none")


def errors_table(whole: Statistics, glyphs: Glyphs) -> Table:
    """Errors, by what raised them and their class."""
    lines = [
        Line(
            (
                Cell(f"{error.class_name.rpartition(':')[2]} of {clean(error.name or 'runs')}", "failed_text"),
                Cell(fmt.counted(error.runs, "run"), "muted"),
                Cell(_times(error.count, glyphs)),
            )
        )
        for error in whole.errors
    ]
    columns = (Column(), Column(width=12, align="right"), Column(width=9, align="right"))
    return Table("Errors", columns, tuple(lines), empty="none")


def stats_command(by: str, agent: str | None, since: str) -> str:
    """The command that counts the same."""
    words = ["agent-tt", "stats", "--by", by]
    words += ["--agent", agent] if agent is not None else []
    words += ["--since", since] if since else []
    return shlex.join(words)


def squeezed(series: Series, columns: int) -> list[float | None]:
    """A series in at most so many values: of several that share one the largest; None where none is known."""
    if len(series) <= columns:
        return list(series)
    cut = [round(index * len(series) / columns) for index in range(columns + 1)]
    return [
        max((value for value in series[start:stop] if value is not None), default=None) for start, stop in pairwise(cut)
    ]


def _day(name: str | None) -> date | None:
    """The day of a group; None where its name is none."""
    try:
        return date.fromisoformat(name or "")
    except ValueError:
        return None


def today() -> date:
    """The day it is, in UTC."""
    return datetime.now(UTC).date()


def _usual(series: Series) -> float | None:
    """The median of the days before the last, of those that had any."""
    known = [value for value in series[:-1] if value]
    return median(known) if known else None


def _last(series: Series, shown: Callable[[float], str], glyphs: Glyphs) -> Cell:
    """The last value, marked where it is several times the usual."""
    last, usual = series[-1], _usual(series)
    said = _known(last, shown, glyphs)
    is_high = last is not None and usual is not None and last >= _HIGH * usual
    return Cell(f"{glyphs.crashed} {said}", "changed_mark") if is_high else Cell(said, "strong")


def _known(value: float | None, shown: Callable[[float], str], glyphs: Glyphs) -> str:
    return glyphs.span if value is None else shown(value)


def _seconds(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds / 1e6


def _tokens(usage: Usage) -> int | None:
    return fmt.total_tokens(usage.tokens_in, usage.tokens_out)


def _cost(usage: Usage, glyphs: Glyphs) -> str:
    return glyphs.span if usage.cost_usd is None else fmt.cost(usage.cost_usd, usage.unpriced or 0)


def _spread(median_us: int | None, p95_us: int | None, glyphs: Glyphs) -> str:
    if median_us is None or p95_us is None:
        return glyphs.span
    return f"{fmt.duration(median_us / 1e6)} median {glyphs.dot} {fmt.duration(p95_us / 1e6)} for 95 % of them"


def _rate(what: str, part: float | None, glyphs: Glyphs) -> str:
    return f"{_percent(part, glyphs)} {what}"


def _percent(part: float | None, glyphs: Glyphs) -> str:
    return glyphs.span if part is None else fmt.percent(part)


def _times(count: int, glyphs: Glyphs) -> str:
    return f"{fmt.count(count)}{glyphs.times}"


def _name(name: str | None, unknown: str) -> Cell:
    return Cell(unknown, "note") if name is None else Cell(clean(name), "strong", keeps_end=True)
