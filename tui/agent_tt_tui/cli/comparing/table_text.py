"""The text that `compare` writes of many runs: a row for each, then their answers."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt_tui.cli.terminal import Cell, Column
from agent_tt_tui.cli.wording import print_answers, run_line, status_cell
from agent_tt_tui.status import run_glyph
from agent_tt_tui.viewmodel.runs.run_table import (
    AT_THE_END,
    NOWHERE,
    change,
    changed_words,
    counts_of,
    label_of,
    more_steps,
    only_words,
    parting,
    summary_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.runs.table import Table, TableRow
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt.model import Run
    from agent_tt_tui.cli.terminal import Terminal

__all__ = ["print_table"]

_WIDE: Final = 110
"""From so many columns on there is room for status words, tokens, time and the places where final states differ."""

_CHANGED, _CHANGED_LEAST = 48, 28


def print_table(terminal: Terminal, table: Table, rows: Sequence[TableRow], *, hidden: bool = False) -> None:
    """Write the table.

    Args:
        terminal: Where to.
        table: The table.
        rows: Its rows, in the order in which they are wanted.
        hidden: Whether there are forks that are not listed, because they are archived.
    """
    run_line(terminal, table.base)
    if not table.rows:
        nothing = "Nothing was forked from it yet: `agent-tt fork` does that."
        terminal.line(Cell("All its forks are archived: --all lists them." if hidden else nothing, "muted"))
        return
    terminal.line()
    parts = _Parts.of(table, wide=terminal.columns >= _WIDE)
    base = table.outcome
    lines = [] if base is None else [_cells(terminal, table, parts, table.base, None, base)]
    below: list[list[list[Cell | str]]] = [[] for _ in lines]
    for row in rows:
        lines.append(_cells(terminal, table, parts, row.run, row, row.outcome))
        below.append(_below(terminal, row))
    terminal.table(_columns(terminal, parts), lines, below)
    terminal.line()
    for line in textwrap.wrap(_legend(terminal, table, parts), terminal.columns):
        terminal.line(Cell(line, "muted"))
    terminal.line(Cell(", ".join(summary_of(table)), "muted"))
    print_answers(terminal, "answer", table.answers, table.different, table.succeeded)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Which columns there are; one in which nothing would stand is left out."""

    wide: bool
    rejoined: bool
    tokens: bool
    cost: bool

    @classmethod
    def of(cls, table: Table, *, wide: bool) -> _Parts:
        outcomes = [each for each in (table.outcome, *(row.outcome for row in table.rows)) if each is not None]
        return cls(
            wide=wide,
            rejoined=any(row.rejoined_at is not None for row in table.rows),
            tokens=wide and any(outcome.tokens is not None for outcome in outcomes),
            cost=any(outcome.cost_usd is not None for outcome in outcomes),
        )


def _legend(terminal: Terminal, table: Table, parts: _Parts) -> str:
    """What the signs mean that stand in the table."""
    glyphs = terminal.glyphs
    at = {parting(row, glyphs) for row in table.rows}
    said = [f"{glyphs.differs} parts from the base at"]
    said += [f"{NOWHERE}: nothing differs"] if NOWHERE in at else []
    said += [f"{AT_THE_END}: same moves, other question, state or ending"] if AT_THE_END in at else []
    said += [f"{glyphs.unknown} cannot be read whole"] if glyphs.unknown in at else []
    said += [f"{glyphs.same} rejoins at"] if parts.rejoined else []
    said += [f"{glyphs.only_a} only the base took", f"{glyphs.only_b} only the run took"]
    runs = {run_glyph(run.status, glyphs): run.status for run in (table.base, *(row.run for row in table.rows))}
    said += [] if parts.wide else [f"{glyph} {status}" for glyph, status in runs.items()]
    return f" {glyphs.dot} ".join(said)


def _columns(terminal: Terminal, parts: _Parts) -> list[Column]:
    glyphs = terminal.glyphs
    return [
        Column("RUN", flexible=True),
        Column("STATUS" if parts.wide else ""),
        Column(glyphs.differs, "right"),
        *([Column(glyphs.same, "right")] if parts.rejoined else []),
        Column(f"{glyphs.only_a} {glyphs.only_b}", "right"),
        Column("ANS" if parts.wide else ""),
        Column("STEPS", "right"),
        Column("", "right"),
        *([Column("TOKENS", "right"), Column("", "right")] if parts.tokens else []),
        *([Column("COST", "right"), *([Column("", "right")] if parts.wide else [])] if parts.cost else []),
        *([Column("TIME", "right"), Column("STATE", "right")] if parts.wide else []),
        Column("CHANGED", flexible=True),
    ]


def _cells(
    terminal: Terminal, table: Table, parts: _Parts, run: Run, row: TableRow | None, outcome: Outcome | None
) -> list[Cell]:
    """One run; `row` is None for the base."""
    glyphs = terminal.glyphs
    name = run.name if row is None else label_of(row, table.base)
    status = status_cell(run.status, glyphs)
    changed = "the base" if row is None else changed_words(row, _CHANGED if parts.wide else _CHANGED_LEAST, glyphs.cut)
    words = [
        Cell(name, "muted" if row is None else "strong"),
        status if parts.wide else Cell(run_glyph(run.status, glyphs), status.role),
    ]
    if outcome is None:
        blank = [Cell("")] * (len(_columns(terminal, parts)) - len(words) - 1)
        return [*words, *blank, Cell(changed, "muted")]
    tokens, cost, duration = counts_of(outcome)
    first = table.outcome if row is not None else None
    tokens_more = "" if first is None else change(first.whole_tokens, outcome.whole_tokens, glyphs.times)
    cost_more = "" if first is None else change(first.whole_cost, outcome.whole_cost, glyphs.times)
    return [
        *words,
        Cell("" if row is None else parting(row, glyphs), "yours"),
        *([Cell("" if row is None or row.rejoined_at is None else str(row.rejoined_at))] if parts.rejoined else []),
        Cell("" if row is None else only_words(row, glyphs), "muted"),
        Cell(table.letter(run.id), "strong"),
        Cell(f"{outcome.steps:,}"),
        Cell("" if row is None else more_steps(row), "muted"),
        *([Cell(tokens), Cell(tokens_more, "muted")] if parts.tokens else []),
        *([Cell(cost)] if parts.cost else []),
        *([Cell(cost_more, "muted")] if parts.cost and parts.wide else []),
        *([Cell(duration), _final(row)] if parts.wide else []),
        Cell(changed, "muted" if row is None else "text"),
    ]


def _final(row: TableRow | None) -> Cell:
    return Cell("" if row is None or not row.final_changes else f"{row.final_changes:,}")


def _below(terminal: Terminal, row: TableRow) -> list[list[Cell | str]]:
    """What went wrong with reading it, and what it did to the world."""
    lines: list[list[Cell | str]] = []
    if row.trouble:
        lines.append([Cell(f"  {terminal.short(row.trouble, terminal.columns - 2)}", "failed")])
    told = "" if row.outcome is None else row.outcome.effects.summary(terminal.glyphs.times)
    if told:
        lines.append([Cell(f"  {terminal.short(told, terminal.columns - 2)}", "muted")])
    return lines
