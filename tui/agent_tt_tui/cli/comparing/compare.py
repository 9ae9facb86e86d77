"""`agent-tt compare`: two runs side by side, or one run and many in a table."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING

import click

from agent_tt._dataclass import dataclass
from agent_tt.comparing.runs.table import SORT_KEYS
from agent_tt.errors import Damaged
from agent_tt.model.shown import step_span
from agent_tt_tui import format as shown
from agent_tt_tui.cli.changes import print_rows
from agent_tt_tui.cli.comparing.compare_many import check_two, compare_many
from agent_tt_tui.cli.comparing.lanes_text import print_lanes
from agent_tt_tui.cli.comparing.named import opened
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Role, Terminal
from agent_tt_tui.cli.wording import print_hoped, run_line, status_cell, told
from agent_tt_tui.format import counted
from agent_tt_tui.text import cut_start, fit, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.comparing.runs.comparison import Comparison, Row
    from agent_tt.comparing.runs.table import SortKey
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt.model import Call, Step
    from agent_tt.protocols import RunSource
    from agent_tt.shapes.records import Shape
    from agent_tt_tui.cli.comparing.named import Named

_MOST_ROWS = 20
"""Rows of what differs between the final states."""

_MOST_CALL_CHANGES = 3
"""Lines about what differs between the calls of a pair."""

_ALIKE = 2
"""So many items that only one final state has are shown one by one."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One run, for the rows about it."""

    source: RunSource
    run_id: str
    steps: dict[int, Step]
    tools: dict[int, str]

    @classmethod
    def of(cls, source: RunSource, run_id: str) -> _Side:
        from agent_tt_tui.viewmodel.runs.comparison import tool_of

        steps = {step.number: step for step in source.steps(run_id)}
        calls: dict[int, list[Call]] = {}
        for call in source.call_heads(run_id):
            calls.setdefault(call.step, []).append(call)
        return cls(source, run_id, steps, {number: tool_of(steps[number], own) for number, own in calls.items()})


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_runs)
@click.option("--forks", is_flag=True, help="A table of all that was forked from RUN, forks of forks too.")
@click.option("--all", "archived", is_flag=True, help="With --forks: archived ones too.")
@click.option("--sort", type=click.Choice(SORT_KEYS), default=None, help="Of a table: what rows are ordered by.")
@common_options
def command(options: Options, runs: tuple[str, ...], *, forks: bool, archived: bool, sort: SortKey | None) -> int:
    """Compare two runs by what their steps did, or one run with many; exit code 1 when any differ.

    Two runs stand side by side, step by step. Of three and more, the others are compared with the first, each in a row
    of a table: what was changed, where it parts and rejoins, how many steps only one of both took, how it ended. One of
    two may lie in another file, ours or a database: FILE:RUN.

    \b
    agent-tt compare refund-loop refund-loop/fork-1
    agent-tt compare refund-loop --forks --sort answer
    --json of two: {diverged_at, because, rejoined_at, pairs: [[a, b, same]],
             only_a, only_b, moved: [[a, b]],
             reasons: [{kind, text, a, b, where, old, new}],
             lanes: [{a, b, same, different, only_a, only_b, diverged_at,
             rejoined_at, outcome_a, outcome_b, final_changes, …}],
             outcome_a, outcome_b, difference, final_changes, …}, and of forks with
             --expect expect_a, expect_b: {expression, came, why}
    --json of a table: {base, rows: [{run, name, changed, diverged_at, because,
             rejoined_at, only_base, only_run, final_changes, letter,
             outcome, difference, effects, error, …}], answers}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    if forks or len(runs) != 2:
        return compare_many(options, runs, forks=forks, archived=archived, sort=sort)
    check_two(archived=archived, sort=sort)
    from agent_tt.comparing.runs.comparison import compare_runs

    with opened(options, runs) as (a, b):
        comparison = compare_runs(a.source, a.source.run(a.text), b.source, b.source.run(b.text))
        if options.as_json:
            write_json({**comparison.to_json(), **_hoped_shape((a, b), comparison)})
        else:
            _print(options.terminal(), (a, b), comparison)
    if comparison.differs:
        return 1
    return Damaged.exit_code if set(comparison.unread) - set(comparison.unkept) else 0


def _print(terminal: Terminal, named: Sequence[Named], comparison: Comparison) -> None:
    from agent_tt.querying.expecting import hoped_of

    for run, each in zip((comparison.a, comparison.b), named, strict=True):
        run_line(terminal, run)
        if each.file is not None:
            where = cut_start(terminal.safe(str(each.file)), terminal.columns - 3, terminal.glyphs.cut)
            terminal.line("   ", Cell(where, "muted"))
    terminal.line()
    a, b = (_Side.of(each.source, run.id) for each, run in zip(named, (comparison.a, comparison.b), strict=True))
    _print_rows(terminal, comparison, a, b)
    print_lanes(terminal, comparison)
    terminal.line()
    _print_outcomes(terminal, comparison)
    _print_effects(terminal, comparison)
    for side, each, run in zip("AB", named, (comparison.a, comparison.b), strict=True):
        print_hoped(terminal, hoped_of(each.source, run), side)
    _print_final(terminal, comparison, named)


def _hoped_shape(named: Sequence[Named], comparison: Comparison) -> Shape:
    """`{expect_a, expect_b}`, each of a fork with --expect alone."""
    from agent_tt.querying.expecting import hoped_of

    runs = zip(("expect_a", "expect_b"), named, (comparison.a, comparison.b), strict=True)
    known = {key: hoped_of(each.source, run) for key, each, run in runs}
    return {key: hoped.to_json() for key, hoped in known.items() if hoped is not None}


def _print_final(terminal: Terminal, comparison: Comparison, named: Sequence[Named]) -> None:
    """What differs between the final states, the first rows of it, and how to see the rest."""
    from agent_tt_tui.viewmodel.values.difflines import DiffRows

    changes = comparison.final_changes
    if not changes:
        return
    terminal.line()
    title = "FINAL STATE" if comparison.is_over else "STATE SO FAR"
    terminal.line(Cell(f"{title}  {counted(len(changes), 'difference')}", "strong"))
    rows = DiffRows(changes, nested=True, alike=_ALIKE).lay_out(terminal.columns)
    shown = rows if len(rows) <= _MOST_ROWS + 1 else rows[:_MOST_ROWS]
    print_rows(terminal, shown)
    if len(rows) > len(shown):
        runs = (comparison.a, comparison.b)
        ends = [f"{each.called(run.id)}@{run.steps}" for each, run in zip(named, runs, strict=True)]
        more = f"{len(rows) - len(shown):,} more rows: agent-tt diff {' '.join(ends)}"
        terminal.line(Cell(f"{terminal.glyphs.cut} {terminal.safe(more)}", "muted"))


def _print_rows(terminal: Terminal, comparison: Comparison, a: _Side, b: _Side) -> None:
    """Write the steps in two halves; runs of rows that are alike are folded."""
    from agent_tt_tui.viewmodel.runs.comparison import elsewhere, parting_text, rejoining_text

    half = (terminal.columns - 5) // 2
    glyphs = terminal.glyphs
    gutters = {"same": glyphs.same, "different": glyphs.differs, "only_a": glyphs.only_a, "only_b": glyphs.only_b}
    at = comparison.diverged_at
    parted = rejoined = False
    met = None if comparison.rejoined_row is None else comparison.rows[comparison.rejoined_row]
    moved = elsewhere(comparison)
    if at is None:
        _rule(terminal, *_without_parting(comparison, terminal))
    for group in _folded(comparison, a, b, moved):
        first = group[0]
        if at is not None and not parted and first.kind not in ("same", "pending"):
            parted = True
            _rule(terminal, f"{glyphs.differs} parted at {at}", parting_text(comparison))
        if parted and not rejoined and met == first:
            rejoined = True
            _rule(terminal, f"{glyphs.same} rejoined at {comparison.rejoined_at}", rejoining_text(comparison))
        quiet = first.kind in ("same", "pending")
        there = f"{'':7} (step {moved[first]})" if first in moved else ""
        acts = (None, None) if quiet else _telling(a, b, first)
        left = _half(terminal, a, [row.a for row in group], half, acts[0]) or there
        right = _half(terminal, b, [row.b for row in group], half, acts[1]) or there
        role: Role = "muted" if quiet else "text"
        gutter = gutters.get(first.kind, glyphs.still)
        terminal.line(
            Cell(fit(left, half, glyphs.cut), role),
            Cell(f" {gutter}  ", "muted" if quiet else "yours"),
            Cell(right, role),
        )
        if first.kind == "different":
            _print_calls(terminal, a, b, first, of_several=len(group) > 1)


def _print_calls(terminal: Terminal, a: _Side, b: _Side, row: Row, *, of_several: bool) -> None:
    """Write what differs between the calls of a pair; of several pairs on one line these are those of the first."""
    from agent_tt.codec.text import summary
    from agent_tt.comparing.runs.call_changes import call_changes

    numbers = ((a, row.a or 0), (b, row.b or 0))
    changes = call_changes(*(side.source.calls(side.run_id, number) for side, number in numbers))
    for change in changes[:_MOST_CALL_CHANGES]:
        old = terminal.glyphs.interrupted if change.op == "add" else summary(change.old, 40)
        new = terminal.glyphs.interrupted if change.op == "remove" else summary(change.new, 40)
        of = f"step {row.a}: " if of_several else ""
        said = f"{of}{change.path}  {old} {terminal.glyphs.to} {new}"
        terminal.line("        ", Cell(terminal.short(said, terminal.columns - 8), "changed"))
    if len(changes) > _MOST_CALL_CHANGES:
        terminal.line(Cell(f"        and {len(changes) - _MOST_CALL_CHANGES} more", "muted"))


def _without_parting(comparison: Comparison, terminal: Terminal) -> tuple[str, str]:
    """What is said of two runs of which no step differs: whether anything else does, and what."""
    so_far = " so far" if any(run.status == "running" for run in (comparison.a, comparison.b)) else ""
    unread = [f"cannot be read: {', '.join(comparison.unread)}"] if comparison.unread else []
    if not comparison.differs:
        word = (
            f"{terminal.glyphs.unknown} no difference is known" if unread else f"{terminal.glyphs.same} no difference"
        )
        return f"{word}{so_far}", "; ".join(unread)
    ended = [outcome.status for outcome in (comparison.outcome_a, comparison.outcome_b)]
    said = [comparison.because] if comparison.because else []
    said += [f"{ended[0]} in A, {ended[1]} in B"] if ended[0] != ended[1] else []
    count = len(comparison.final_changes)
    said += [f"the final states differ in {counted(count, 'path')}"] if count else []
    lanes = [lane for lane in comparison.lanes if lane.final_changes] if not count else []
    said += [f"the states of {counted(len(lanes), 'lane')} differ"] if lanes else []
    said += unread
    return f"{terminal.glyphs.differs} no step differs{so_far}", "; ".join(said)


def _folded(comparison: Comparison, a: _Side, b: _Side, moved: Mapping[Row, int]) -> list[list[Row]]:
    """Group neighbours of one kind whose steps and tools have the same names, so that a loop is one line."""
    rows = comparison.rows
    met = len(rows) if comparison.rejoined_row is None else comparison.rejoined_row

    def title(numbered: tuple[int, Row]) -> tuple[object, ...]:
        index, row = numbered
        sides = [(side.steps.get(n or 0), side.tools.get(n or 0)) for side, n in ((a, row.a), (b, row.b))]
        names = [(step.name if step is not None else None, tool) for step, tool in sides]
        # A step that was moved stands alone, and a rule comes before the row at which the runs meet again.
        return row.kind, *names, index >= met, index if row in moved else None

    groups: list[list[Row]] = []
    parted = False
    for (kind, *_), numbered in groupby(enumerate(rows), key=title):
        group = [row for _, row in numbered]
        if kind == "different" and not parted:
            # The row where the runs part stands alone.
            groups += [group[:1]] + ([group[1:]] if group[1:] else [])
        else:
            groups.append(group)
        parted = parted or kind != "same"
    return groups


def _telling(a: _Side, b: _Side, row: Row) -> tuple[Call | None, Call | None]:
    """The calls of two steps that differ, to be shown beside their names: the first that no equal one stands beside."""
    from agent_tt.comparing.steps.call_pairs import pair_calls
    from agent_tt.comparing.steps.moves import acts_of, call_key

    steps = [(side, side.steps.get(number or 0)) for side, number in ((a, row.a), (b, row.b))]
    acts = [
        acts_of(side.source.calls(side.run_id, step.number)) if step is not None and step.calls else []
        for side, step in steps
    ]
    pairs = pair_calls(*acts)
    apart = (pair for pair in pairs if len({None if call is None else call_key(call) for call in pair}) > 1)
    return next(apart, pairs[0] if pairs else (None, None))


def _half(terminal: Terminal, side: _Side, numbers: list[int | None], columns: int, act: Call | None) -> str:
    """What one run did in a row: number, glyph, name, and its call where the other run did something else."""
    from agent_tt_tui.status import kind_glyph

    known = [number for number in numbers if number is not None]
    if not known:
        return ""
    label = step_span(known, terminal.glyphs.span, terminal.glyphs.cut)
    step = side.steps.get(known[0])
    if step is None:
        return terminal.short(f"{label:>7} missing", columns)
    what = "" if act is None else f" {told(step, act)}"
    if not what and side.tools.get(step.number):
        what = f" {side.tools[step.number]}"
    times = f"  {len(known)}×" if len(known) > 1 and terminal.glyphs.cut == "…" else ""
    return terminal.short(f"{label:>7} {kind_glyph(step.kind, terminal.glyphs)} {step.name}{times}{what}", columns)


def _rule(terminal: Terminal, title: str, words: str) -> None:

    line = terminal.glyphs.line
    left = terminal.columns - width(title) - 4
    words = terminal.safe(words).replace(" · ", f" {terminal.glyphs.dot} ")
    beside = f" {words} " if words and width(words) < left - 2 else ""
    terminal.line(Cell(f"{line}{line} {title} ", "yours"), beside, Cell(line * (left - width(beside)), "yours"))
    for more in [] if beside else textwrap.wrap(words, terminal.columns - 3):
        terminal.line(f"   {more}")


def _print_outcomes(terminal: Terminal, comparison: Comparison) -> None:

    columns = (
        Column(""),
        Column(""),
        Column("", "right"),
        Column("", "right"),
        Column("", "right"),
        Column("", "right"),
        Column("", flexible=True),
    )
    rows = [_outcome_cells("A", comparison.outcome_a, terminal), _outcome_cells("B", comparison.outcome_b, terminal)]
    terminal.table(columns, [*rows, _difference_cells(comparison, terminal)])


def _print_effects(terminal: Terminal, comparison: Comparison) -> None:
    """What each run did to the world and was kept from; of a fork what it did itself."""
    for side, outcome in (("A", comparison.outcome_a), ("B", comparison.outcome_b)):
        text = outcome.effects.summary(terminal.glyphs.times)
        if text:
            terminal.line(Cell(f"{side}  ", "strong"), terminal.safe(text))


def _difference_cells(comparison: Comparison, terminal: Terminal) -> list[Cell]:
    """How much more or less B took than A."""
    a, b, times = comparison.outcome_a, comparison.outcome_b, terminal.glyphs.times
    figures = ((a.duration_us, b.duration_us), (a.whole_tokens, b.whole_tokens), (a.whole_cost, b.whole_cost))
    steps = comparison.difference.steps
    return [
        Cell("B-A", "strong"),
        Cell(""),
        Cell(f"{steps:+,d}" if steps else "0", "muted"),
        *(Cell(shown.change(old, new, times) if old and new is not None else "", "muted") for old, new in figures),
    ]


def _outcome_cells(side: str, outcome: Outcome, terminal: Terminal) -> list[Cell]:

    tools = ", ".join(f"{name} {count}" for name, count in outcome.tools.items())
    ended = outcome.error.short if outcome.error else f'"{outcome.answer}"' if outcome.answer else tools
    return [
        Cell(side, "strong"),
        status_cell(outcome.status, terminal.glyphs),
        Cell(counted(outcome.steps, "step")),
        Cell("" if outcome.duration_us is None else shown.duration(outcome.duration_us / 1e6)),
        Cell("" if outcome.tokens is None else shown.tokens(outcome.tokens)),
        Cell("" if outcome.cost_usd is None else shown.cost(outcome.cost_usd, outcome.unpriced)),
        Cell(ended, "failed" if outcome.error else "text"),
    ]
