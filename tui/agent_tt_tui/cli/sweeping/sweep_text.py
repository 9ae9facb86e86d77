"""What `sweep` writes for people: what will run, how far it is, and what came out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Self

from agent_tt_tui import format as fmt
from agent_tt_tui.cli.terminal import Cell, Column, facts
from agent_tt_tui.cli.wording import print_answers
from agent_tt_tui.format import counted
from agent_tt_tui.status import sample_glyph
from agent_tt_tui.viewmodel.runs.sweeps import answers_of, interval, left, spent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from agent_tt.sweeping.matrix import Matrix, Rate, SampleStatus, Tally
    from agent_tt.sweeping.plan import SweepPlan
    from agent_tt_tui.cli.terminal import Role, Terminal

__all__ = ["Progress", "print_beginning", "print_list", "print_matrix", "print_plan"]

_BAR_COLUMNS: Final = 20
_MOST_GLYPHS: Final = 20
_ROLES: Final[dict[SampleStatus, Role]] = {
    "succeeded": "well",
    "failed": "failed",
    "crashed": "failed",
    "running": "running",
}
_STATUS_ROLES: Final[dict[str, Role]] = {"running": "running", "complete": "well", "interrupted": "muted"}


def print_plan(terminal: Terminal, plan: SweepPlan) -> None:
    """The pre-flight."""
    _facts(terminal, plan)
    terminal.line(Cell("Nothing was run.", "muted"))


def print_beginning(terminal: Terminal, plan: SweepPlan) -> None:
    """What is about to run."""
    _facts(terminal, plan)


def _facts(terminal: Terminal, plan: SweepPlan) -> None:
    definition, first = plan.definition, plan.first
    expected = [
        "" if plan.expected_tokens is None else fmt.tokens(plan.expected_tokens),
        "" if plan.expected_cost is None else fmt.cost(plan.expected_cost, plan.expected_unpriced),
        "" if plan.expected_us is None else fmt.duration(plan.expected_us / 1e6),
    ]
    times = terminal.glyphs.times
    product = f" {times} ".join(str(len(axis.values)) for axis in definition.varied) or "1"
    runs = f"{product} {times} {counted(definition.samples, 'sample')} = {counted(definition.run_count, 'run')}"
    varied = {axis.place for axis in definition.varied if axis.kind == "policy"}
    denied = [row.name for row in first.writers if row.policy == "deny" and row.name not in varied]
    live = [row.name for row in first.writers if row.policy == "live" and row.name not in varied]
    answered = [
        f"{row.name} {row.policy}"
        for row in first.boundary
        if row.policy in ("recorded", "stub") and row.name not in varied
    ]
    rows = [
        ("sweep", f"{plan.run.name} after step {plan.step}, {first.step_name}"),
        *(
            (
                "varied" if axis.varies else "in all",
                f"{axis.name}: {', '.join(axis.label(index) for index in range(len(axis.values)))}",
            )
            for axis in definition.axes
        ),
        ("runs", f"{runs}, {definition.jobs} at a time"),
        ("start", first.code.way_back_in if first.by == "restore" else f"by replay: {first.code.way_back_in}"),
        ("will run", first.code.entry + ("  (changed since it was recorded)" if first.code.changed else "")),
        *first.terms.rows(),
        *([("denied", ", ".join(denied))] if denied else []),
        *([("may write", ", ".join(live))] if live else []),
        *([("answered", ", ".join(answered))] if answered else []),
        ("expected", ", ".join(part for part in expected if part) or "nobody knows"),
        *([("at most", fmt.cost(definition.max_cost))] if definition.max_cost is not None else []),
        *(("asked", asked) for asked in definition.outcomes),
        *(("note", problem) for problem in plan.problems),
    ]
    terminal.table(
        (Column(""), Column("", flexible=True)),
        [[Cell(label, "muted"), Cell(terminal.safe(text))] for label, text in rows],
    )


class Progress:
    """Says how far a sweep is: each run as it ends, and on a terminal a line below that moves.

    Args:
        terminal: where lines go; None where output is for programs.
    """

    def __init__(self, terminal: Terminal | None) -> None:
        self.has_begun = False
        """Whether there is anything to be shown at the end."""
        self._terminal = terminal
        self._moves = terminal is not None and sys.stderr.isatty()
        self._told: set[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._wipe()

    def report(self, matrix: Matrix) -> None:
        """Say what has changed."""
        self.has_begun = True
        terminal = self._terminal
        if terminal is None:
            return
        self._wipe()
        done = {
            sample.run.id: (cell, sample)
            for cell in matrix.cells
            for sample in cell.samples
            if sample.is_done and sample.run is not None
        }
        if self._told is None:
            self._told = set(done)
            if done:
                terminal.line(Cell(f"{len(done)} of {matrix.total.samples} runs are done already.", "muted"))
        for cell, sample in (each for run_id, each in done.items() if run_id not in self._told):
            told = [sample.answer or ""] if sample.run is None or sample.run.error is None else [sample.run.error.short]
            label = ", ".join(cell.labels) or "all"
            glyph = Cell(sample_glyph(sample.status, terminal.glyphs), _ROLES.get(sample.status, "muted"))
            head = f" {terminal.short(label, 30)} / {sample.number}  "
            rest = facts([counted(sample.steps or 0, "step"), *told], terminal.glyphs.dot)
            terminal.line(glyph, Cell(head, "strong"), terminal.short(rest, max(10, terminal.columns - len(head) - 2)))
        self._told |= set(done)
        if self._moves:
            filled = _BAR_COLUMNS * matrix.total.done // max(1, matrix.total.samples)
            words = facts(
                [
                    f"{matrix.total.done} of {matrix.total.samples}",
                    f"{matrix.running} running" if matrix.running else None,
                    left(matrix) or None,
                    spent(matrix) or None,
                ],
                terminal.glyphs.dot,
            )
            sys.stderr.write(f"\r[{'=' * filled}{'-' * (_BAR_COLUMNS - filled)}] {words}\x1b[K")
            sys.stderr.flush()

    def stopping(self) -> None:
        """Say that Ctrl-C was heard."""
        if self._terminal is not None:
            self._wipe()
            self._terminal.line(Cell("Stopping the running forks; Ctrl-C again kills them.", "muted"))

    def _wipe(self) -> None:
        if self._moves:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def print_matrix(terminal: Terminal, matrix: Matrix) -> None:
    """What came out."""
    _head(terminal, matrix)
    definition = matrix.definition
    columns = [
        *(Column(terminal.short(axis.name, 24), flexible=True) for axis in definition.varied),
        Column("RUNS"),
        *_tally_columns(terminal, matrix),
    ]
    rows = []
    for cell in matrix.cells:
        glyphs = "".join(sample_glyph(sample.status, terminal.glyphs) for sample in cell.samples[:_MOST_GLYPHS])
        more = terminal.glyphs.cut if len(cell.samples) > _MOST_GLYPHS else ""
        labels = [Cell(terminal.safe(label), "strong") for label in cell.labels]
        rows.append([*labels, Cell(glyphs + more), *_tally_cells(matrix, cell.tally)])
    terminal.table(columns, rows)
    if len(definition.varied) > 1:
        _pools(terminal, matrix)
    _answers(terminal, matrix)


def _head(terminal: Terminal, matrix: Matrix) -> None:
    told = facts(
        [
            f"{matrix.total.done} of {matrix.total.samples} runs",
            f"{matrix.broken} broken off" if matrix.broken else None,
            f"after step {matrix.sweep.step}",
            spent(matrix) or None,
        ],
        terminal.glyphs.dot,
    )
    terminal.line(
        Cell(terminal.safe(matrix.sweep.name), "strong"),
        "  ",
        Cell(matrix.status, _STATUS_ROLES[matrix.status]),
        "  ",
        Cell(told, "muted"),
    )


def _tally_columns(terminal: Terminal, matrix: Matrix) -> list[Column]:
    total = matrix.total
    return [
        Column("SUCCEEDED", "right"),
        Column("95 %", "right"),
        *(
            Column(terminal.short(asked, 24), "right")
            for asked, rate in zip(matrix.definition.outcomes, total.holds, strict=True)
            if rate is not None
        ),
        Column("STEPS", "right"),
        *([Column("TOKENS", "right")] if total.tokens is not None else []),
        *([Column("COST", "right")] if total.cost_usd is not None else []),
        Column("TIME", "right"),
    ]


def _tally_cells(matrix: Matrix, tally: Tally) -> list[Cell]:
    total, rate = matrix.total, tally.succeeded
    role: Role = "muted" if not rate.runs else "well" if rate.count == rate.runs else "text" if rate.count else "failed"
    cells = [
        Cell(f"{rate.count}/{rate.runs}", role),
        Cell(interval(rate) if rate.runs else "", "muted"),
        *(Cell(_held(each)) for each in tally.holds if each is not None),
        Cell("" if tally.steps is None else f"{tally.steps:.3g}"),
    ]
    if total.tokens is not None:
        cells.append(Cell("" if tally.tokens is None else fmt.count(round(tally.tokens))))
    if total.cost_usd is not None:
        cells.append(Cell("" if tally.cost_usd is None else fmt.cost(tally.cost_usd, tally.unpriced)))
    return [*cells, Cell("" if tally.duration_us is None else fmt.duration(tally.duration_us / 1e6))]


def _held(rate: Rate) -> str:
    return f"{rate.count}/{rate.runs} ({interval(rate)})" if rate.runs else ""


def _pools(terminal: Terminal, matrix: Matrix) -> None:
    terminal.line()
    rows = [
        [Cell(terminal.safe(f"{axis.name} = {label}"), "strong"), *_tally_cells(matrix, tally)]
        for axis, pool in zip(matrix.definition.varied, matrix.pooled, strict=True)
        for label, tally in pool
    ]
    terminal.table([Column("TAKEN TOGETHER", flexible=True), *_tally_columns(terminal, matrix)], rows)


def _answers(terminal: Terminal, matrix: Matrix) -> None:
    """What was found at each path that was asked for, else the last words."""
    paths: list[int | None] = [index for index, asked in enumerate(matrix.definition.predicates) if not asked.compares]
    for outcome in paths or [None]:
        found = answers_of(matrix, outcome)
        print_answers(terminal, found.about, found.groups, found.different, found.succeeded)


def print_list(terminal: Terminal, matrices: Sequence[Matrix], damaged: Sequence[str]) -> None:
    """The sweeps of a store."""
    if not matrices and not damaged:
        terminal.line("No sweep yet: `agent-tt sweep RUN --at STEP --set PATH=V,V` begins one.")
        return
    columns = (
        Column("SWEEP", flexible=True),
        Column("STATUS"),
        Column("DONE", "right"),
        Column("SUCCEEDED", "right"),
        Column("VARIED", flexible=True),
    )
    rows = []
    for matrix in matrices:
        rate = matrix.total.succeeded
        rows.append(
            [
                Cell(terminal.safe(matrix.sweep.name), "strong"),
                Cell(matrix.status, _STATUS_ROLES[matrix.status]),
                Cell(f"{matrix.total.done}/{matrix.total.samples}"),
                Cell(f"{rate.count}/{rate.runs}" + (f" {fmt.percent(rate.share)}" if rate.share is not None else "")),
                Cell(terminal.safe(", ".join(axis.name for axis in matrix.definition.varied)) or "nothing", "muted"),
            ]
        )
    terminal.table(columns, rows)
    for line in damaged:
        terminal.line(Cell(terminal.short(line, terminal.columns), "failed"))
