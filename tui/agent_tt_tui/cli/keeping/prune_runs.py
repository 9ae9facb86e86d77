"""`agent-tt prune` of a store: which runs go, and letting them go."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from agent_tt.shapes.records import run_shape
from agent_tt_tui import format as shown
from agent_tt_tui.cli.marks import writable
from agent_tt_tui.cli.options import write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell, Column, Terminal
from agent_tt_tui.cli.wording import status_cell
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.model.retention import Retention
    from agent_tt.pruning import Pruned, PrunePlan
    from agent_tt_tui.cli.options import Options

_MOST_LISTED: Final = 12
_NO: Final = 1


def prune_store(options: Options, keep_last: int | None, max_size: str | None, *, in_place: bool, yes: bool) -> int:
    """Prune a store of ours; give the exit code.

    Raises:
        UsageError: a size or a setting cannot be read, or nobody is there to be asked.
        ReadOnlySource: it can only be read.
    """
    from agent_tt.pruning import plan_pruning, prune

    retention = _retention(keep_last, max_size)
    done: Pruned | None = None
    with options.source() as source:
        with counter("measuring", show=not options.as_json) as report:
            plan = plan_pruning(source, retention, time.time_ns() // 1000, report)
        if plan.going and (in_place or yes):
            store = writable(source)
            question = f"Delete {counted(len(plan.going), 'run')} for good?"
            if not yes and not options.agreed("--in-place", question, lambda terminal: _list(terminal, plan)):
                options.terminal().line("Nothing was pruned.")
                return _NO
            with counter("pruning", show=not options.as_json) as report:
                done = prune(store, plan, report)
    if done is not None:
        from agent_tt.querying.search.finder import forget_runs

        forget_runs(store.path, done.runs)
    if options.as_json:
        _write(plan, done)
        return 0
    terminal = options.terminal()
    _list(terminal, plan)
    count = len(plan.going) if done is None else len(done.runs)
    went = f"{counted(count, 'run')} {'would go' if done is None else 'went'}"
    if done is None:
        terminal.line(f"{went}, about {shown.size(plan.bytes)} of {shown.size(plan.file_bytes)}")
    else:
        terminal.line(f"{went}; the file has {shown.size(done.file_bytes)}, it had {shown.size(plan.file_bytes)}")
        if done.stayed:
            terminal.line(Cell(f"{counted(done.stayed, 'run')} stayed: changed meanwhile", "muted"))
    if done is None and plan.going:
        terminal.line(Cell("nothing was changed: --yes prunes the store", "muted"))
    return 0


def _retention(keep_last: int | None, max_size: str | None) -> Retention:
    """What the command asks for, else the settings."""
    from agent_tt.config import load
    from agent_tt.model.quantities import size
    from agent_tt.model.retention import Retention, retention_of

    if keep_last is None and max_size is None:
        return retention_of(load().retention)
    return Retention(None, keep_last, None if max_size is None else size(max_size))


def _list(terminal: Terminal, plan: PrunePlan) -> None:
    columns = (Column("run", flexible=True), Column(""), Column("class"), Column("by"), Column("", "right"))
    rows = [
        (
            Cell(each.run.name, "strong"),
            status_cell(each.run.status, terminal.glyphs),
            Cell(each.group),
            Cell(each.why, "muted"),
            Cell(shown.size(each.bytes)),
        )
        for each in plan.going[:_MOST_LISTED]
    ]
    if rows:
        terminal.table(columns, rows)
    if len(plan.going) > _MOST_LISTED:
        classes = Counter(each.group for each in plan.going)
        told = ", ".join(f"{count:,} {group}" for group, count in classes.items())
        left = counted(len(plan.going) - _MOST_LISTED, "more run")
        terminal.line(Cell(f"and {left}; in all {told}", "muted"))
    for why, count in plan.stay.items():
        terminal.line(Cell(f"{counted(count, 'run')} stay{'s' if count == 1 else ''}: {why}", "muted"))


def _write(plan: PrunePlan, done: Pruned | None) -> None:
    gone = None if done is None else set(done.runs)
    write_json(
        {
            "done": done is not None,
            "runs": [
                {**run_shape(each.run), "class": each.group, "why": each.why, "bytes": each.bytes}
                for each in plan.going
                if gone is None or each.run.id in gone
            ],
            "stay": dict(plan.stay),
            "untouched": plan.untouched,
            "bytes": plan.bytes,
            "file_bytes": plan.file_bytes,
            "file_bytes_after": None if done is None else done.file_bytes,
            "stayed": 0 if done is None else done.stayed,
        }
    )
