"""How watches, and the steps that they come to, are written: for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt_tui.cli.terminal import Cell, Column, Role, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.watches.reasons import Reason
    from agent_tt.querying.watches.watchpoints import Watchpoint, Watchpoints
    from agent_tt.shapes.records import Shape

EventKind = Literal["begins", "ends", "holds", "breaks"]

_MOST_SPANS: Final = 5
_ROLES: Final[dict[EventKind, Role]] = {"begins": "changed", "ends": "muted", "holds": "changed", "breaks": "yours"}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a watch at a step.

    Attributes:
        kind: it begins to hold; it holds no longer; it holds, where each step counts; it does, and is a breakpoint.
        step: the step; of `ends` the first at which it holds no longer.
        row: the watch.
    """

    kind: EventKind
    step: int
    row: Watchpoint


class Reached:
    """Tells each event of a board once, as it becomes known."""

    def __init__(self, board: Watchpoints, passed: int) -> None:
        """Tell nothing yet.

        Args:
            board: the watches; those that are on are told about.
            passed: the last step at which nothing breaks.
        """
        self._board, self._passed = board, passed
        self._told: dict[int, set[tuple[EventKind, int]]] = {}
        """Of each watch, by its number, what was told of steps behind those of which everything was."""
        self._done: dict[int, int] = {}
        """The last of those steps."""

    def news(self) -> list[Event]:
        """What was not told yet, in the order of steps; nothing after the first breakpoint."""
        found: list[Event] = []
        for row in self._board.rows:
            if row.watch.on:
                found += self._news_of(row)
        found.sort(key=lambda event: event.step)
        stop = next((index for index, event in enumerate(found) if event.kind == "breaks"), len(found))
        return found[: stop + 1]

    def _news_of(self, row: Watchpoint) -> list[Event]:
        number, settled = row.watch.id, row.watched.settled
        told, done = self._told.setdefault(number, set()), self._done.get(number, -1)
        found = [event for event in _events(row, self._passed, done) if (event.kind, event.step) not in told]
        self._told[number] = {(kind, step) for kind, step in told if step > settled}
        self._told[number] |= {(event.kind, event.step) for event in found if event.step > settled}
        self._done[number] = max(done, settled)
        return found


def _events(row: Watchpoint, passed: int, done: int) -> Iterator[Event]:
    """What happened to a watch after a step; it breaks only after another one."""
    watched, at_each = row.watched, row.watched.at_each
    stop = watched.stop_after(max(passed, done)) if row.breaks else None
    for first, last in row.found.spans():
        for step in range(max(first, done + 1), last + 1) if at_each else (first,):
            if step > done and step != stop:
                yield Event("holds" if at_each else "begins", step, row)
        if not at_each and last + 1 > done and watched.is_known(last + 1):
            yield Event("ends", last + 1, row)
    if stop is not None:
        yield Event("breaks", stop, row)


# ---------------------------------------------------------------- for people


def print_rows(terminal: Terminal, run: Run, rows: Sequence[Watchpoint], last: int) -> None:
    """Write a table of watches, what is wrong with one below it."""
    if not rows:
        terminal.line(f"nothing is watched in {terminal.safe(run.name)} yet")
        return
    columns = (
        *(Column(""), Column("name", flexible=True), Column("where", flexible=True)),
        *(Column("steps", "right"), Column("where it holds", flexible=True), Column("now")),
    )
    cells, below = [], []
    for row in rows:
        watch, now = row.watch, _now(row, last)
        role: Role = "text" if watch.on else "muted"
        cells.append(
            [
                Cell(watch.letter, "yours" if watch.on else "muted"),
                Cell(watch.name or "", role),
                Cell(watch.where, role),
                Cell(f"{len(row.found):,}" if watch.on and row.error is None else "", role),
                Cell(_spans(row, terminal.glyphs.span) if watch.on else "", "muted"),
                Cell(", ".join(word for word in (now, "break" if watch.breaks else "") if word), role),
            ]
        )
        why = terminal.short(row.why, terminal.columns - 3)
        below.append([[Cell(f"   {why}", "failed")]] if why else [])
    terminal.table(columns, cells, below)


def _now(row: Watchpoint, last: int) -> str:
    if not row.watch.on:
        return "off"
    held = None if row.error is not None else row.watched.holds_now(last)
    return "" if held is None else "holds" if held else "no"


def _spans(row: Watchpoint, dash: str) -> str:
    """`3, 7–9, … 2 more`."""
    spans = row.found.spans()
    shown = [str(first) if first == last else f"{first}{dash}{last}" for first, last in spans[:_MOST_SPANS]]
    more = [f"{len(spans) - _MOST_SPANS:,} more"] if len(spans) > _MOST_SPANS else []
    return ", ".join([*shown, *more])


def print_event(terminal: Terminal, source: RunSource, run: Run, event: Event) -> None:
    """Write one event: `   7  A breaks  state.budget < 0  (state.budget = -3)`."""
    from agent_tt.querying.watches.reasons import reasons_in_words

    watch, why = event.row.watch, reasons_in_words(_values(source, run, event))
    terminal.line(
        f"{event.step:>5}  ",
        Cell(f"{terminal.safe(watch.label)} {event.kind}", _ROLES[event.kind]),
        f"  {terminal.safe(watch.where)}",
        Cell(f"  ({terminal.safe(why)})" if why else "", "muted"),
    )


# ---------------------------------------------------------------- for programs


def row_shape(row: Watchpoint, last: int) -> Shape:
    """`{id, letter, name, where, break, on, count, first, last, now, spans, stops, error}`.

    `now` is null where it is not known; `stops` are the steps at which a breakpoint stops, null of others; the figures
    of a watch that is off, or cannot be answered, are null too.
    """
    watch, found = row.watch, row.found
    told: Shape = {
        "id": watch.id,
        "letter": watch.letter,
        "name": watch.name,
        "where": watch.where,
        "break": watch.breaks,
        "on": watch.on,
    }
    wrong = row.error
    error: Wire = None if wrong is None else {"kind": wrong.kind, "message": wrong.message, "hint": wrong.hint}
    if not watch.on or wrong is not None:
        return {**told, **dict.fromkeys(("count", "first", "last", "now", "spans", "stops")), "error": error}
    return {
        **told,
        "count": len(found),
        "first": found.first,
        "last": found.last,
        "now": row.watched.holds_now(last),
        "spans": [[first, end] for first, end in found.spans()],
        "stops": list(row.watched.stops()) if watch.breaks else None,
        "error": None,
    }


def event_shape(source: RunSource, run: Run, event: Event) -> Shape:
    """`{event, step, watch, name, where, values}`, the values being `[[what was asked, value]]`, null for missing."""
    from agent_tt.querying.expressions.values import Missing

    watch = event.row.watch
    values: list[Wire] = [
        [name, None if isinstance(value, Missing) else value] for name, value in _values(source, run, event)
    ]
    return {
        "event": event.kind,
        "step": event.step,
        "watch": watch.letter,
        "name": watch.name,
        "where": watch.where,
        "values": values,
    }


def _values(source: RunSource, run: Run, event: Event) -> list[Reason]:
    from agent_tt.querying.watches.reasons import reasons

    if event.kind == "ends":
        return []
    try:
        return reasons(source, run.id, event.row.watch.where, event.step)
    except AgentTTError:  # it held a moment ago: what cannot be read now is not worth a failure
        return []
