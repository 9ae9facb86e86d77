"""Two runs side by side: which steps belong together, where they part, where they meet again, how each ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt.comparing.because import explain, explain_code, explain_edits
from agent_tt.comparing.lineage import shared_by_checkpoint, shared_by_lineage
from agent_tt.comparing.moves import read_move
from agent_tt.comparing.outcome import final_state, read_outcome
from agent_tt.comparing.pairing import Couple, pair_moves
from agent_tt.comparing.states import compare_states
from agent_tt.comparing.updates import different_places, read_updates
from agent_tt.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.comparing.moves import Move
    from agent_tt.comparing.outcome import Outcome
    from agent_tt.comparing.states import Change
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource

_CERTAIN = 2
"""How many equal moves in a row are more than chance: a loop's single search may well come up again on another way."""

RowKind: TypeAlias = Literal["same", "different", "only_a", "only_b", "pending"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a comparison.

    Attributes:
        kind: `same` where both did the same with the same result; `pending` for a step that still runs, or that the
            other run, which still runs, may yet come to.
        a: Number of the step in run A, None where it has none.
        b: Number of the step in run B.
    """

    kind: RowKind
    a: int | None
    b: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, aligned by what their steps did.

    Attributes:
        a: The one run.
        b: The other.
        rows: Every step of both, each once, in the order in which A took them.
        shared: How many leading steps are one and the same (a fork and its parent).
        diverged_at: Number of the step at which they part (in A, or in B where A took none); None where no move
            differs.
        because: Why they part, in a few words; empty when they do not.
        rejoined_at: Number, in A, of the step from which they make the same moves again; None if they never do.
        rejoined: That step in both runs, (a, b).
        rejoined_state: Whether the states are equal again as well.
        outcome_a: How A ended.
        outcome_b: How B ended.
        final_changes: What turns the final state of A into that of B.
    """

    a: Run
    b: Run
    rows: tuple[Row, ...]
    shared: int
    diverged_at: int | None
    because: str
    rejoined_at: int | None
    rejoined: tuple[int, int] | None
    rejoined_state: bool
    outcome_a: Outcome
    outcome_b: Outcome
    final_changes: tuple[Change, ...]

    @property
    def pairs(self) -> list[tuple[int, int, bool]]:
        """Steps side by side: (number in A, number in B, whether they did the same with the same result)."""
        return [(row.a, row.b, row.kind == "same") for row in self.rows if row.a is not None and row.b is not None]

    @property
    def only_a(self) -> list[int]:
        """Numbers of the steps that only A took, so far."""
        return [row.a for row in self.rows if row.a is not None and row.b is None]

    @property
    def only_b(self) -> list[int]:
        """Numbers of the steps that only B took, so far."""
        return [row.b for row in self.rows if row.b is not None and row.a is None]

    @property
    def differs(self) -> bool:
        """Whether the runs differ at all: in a move, a result, how they ended, or the final state."""
        ended = (self.outcome_a.status, self.outcome_b.status)
        return self.diverged_at is not None or bool(self.final_changes) or ended[0] != ended[1]


def compare_runs(
    source_a: RunSource,
    run_a: Run,
    source_b: RunSource,
    run_b: Run,
    *,
    cancelled: Callable[[], bool] = lambda: False,
) -> Comparison:
    """Compare two runs; either may still be running.

    Args:
        source_a: Where run A is.
        run_a: Run A.
        source_b: Where run B is; may be the same.
        run_b: Run B.
        cancelled: Asked now and then; once it says yes, the comparison is given up.

    Raises:
        Interrupted: It was cancelled.
    """
    side_a, side_b = _Side(source_a, run_a, cancelled), _Side(source_b, run_b, cancelled)
    shared = _shared(side_a, side_b)
    side_b.share(side_a, shared)
    rows = _rows(side_a, side_b, shared)
    parting = next((index for index, row in enumerate(rows) if row.kind not in ("same", "pending")), None)
    rejoined = None if parting is None else _rejoining(rows, parting, over=not (side_a.live or side_b.live))
    state_a, state_b = final_state(source_a, run_a.id), final_state(source_b, run_b.id)
    return Comparison(
        a=run_a,
        b=run_b,
        rows=tuple(rows),
        shared=shared,
        diverged_at=None if parting is None else rows[parting].a or rows[parting].b,
        because="" if parting is None else _because(side_a, side_b, rows[parting], shared),
        rejoined_at=None if rejoined is None else rejoined[0],
        rejoined=rejoined,
        rejoined_state=rejoined is not None and _same_state(side_a, side_b, rejoined),
        outcome_a=read_outcome(run_a, side_a.steps, side_a.calls(), state_a),
        outcome_b=read_outcome(run_b, side_b.steps, side_b.calls(), state_b),
        final_changes=tuple(compare_states(state_a, state_b)),
    )


def _shared(a: _Side, b: _Side) -> int:
    """Count the leading steps that both runs hold as one and the same."""
    shared = shared_by_checkpoint(a.steps, b.steps)
    if a.source.path == b.source.path:
        shared = max(shared, shared_by_lineage(a.source, a.run, b.run))
    return min(shared, len(a.steps), len(b.steps))


def _rows(a: _Side, b: _Side, shared: int) -> list[Row]:
    """Line up all steps."""
    rows = [Row("same", number, number) for number in range(1, shared + 1)]
    couples = pair_moves(a.finished(shared), b.finished(shared))
    rows += [Row(_kind(couple, a, b), _number(couple.a), _number(couple.b)) for couple in couples]
    rows += [Row("pending", number, None) for number in a.unfinished(shared)]
    rows += [Row("pending", None, number) for number in b.unfinished(shared)]
    return _mark_pending(rows, live_a=a.live, live_b=b.live)


class _Side:
    """One of the two runs, read once."""

    def __init__(self, source: RunSource, run: Run, cancelled: Callable[[], bool]) -> None:
        self.source = source
        self.run = run
        self.steps: list[Step] = source.steps(run.id)
        self.live = run.status == "running"
        self._cancelled = cancelled
        self._moves: dict[int, Move] = {}
        self._containers = {step.parent for step in self.steps}

    def move(self, step: Step) -> Move:
        """What a step did.

        Raises:
            Interrupted: The comparison was cancelled.
        """
        if self._cancelled():
            raise Interrupted("the comparison was given up")
        known = self._moves.get(step.number)
        if known is None:
            known = self._moves[step.number] = read_move(self.source, self.run.id, step)
        return known

    def share(self, other: _Side, upto: int) -> None:
        """Take over what the other side has read about the first steps, which are the same."""
        for step in other.steps[:upto]:
            self._moves[step.number] = other.move(step)

    def updates(self, step: Step) -> dict[str, str]:
        """What a step wrote to the state; nothing for one that contains steps, of which each is compared itself."""
        if step.number in self._containers:
            return {}
        if self._cancelled():
            raise Interrupted("the comparison was given up")
        return read_updates(self.source, self.run.id, step)

    def finished(self, shared: int) -> list[Move]:
        """What the steps after the shared ones did, those left out that still run."""
        return [self.move(step) for step in self.steps[shared:] if not self._runs(step)]

    def unfinished(self, shared: int) -> list[int]:
        """Numbers of the steps that still run."""
        return [step.number for step in self.steps[shared:] if self._runs(step)]

    def calls(self) -> list[Call]:
        """Every call of the run."""
        return [call for step in self.steps for call in self.move(step).calls]

    def _runs(self, step: Step) -> bool:
        return self.live and step.status == "running"


def _kind(couple: Couple, a: _Side, b: _Side) -> RowKind:
    if couple.a is None:
        return "only_b"
    if couple.b is None:
        return "only_a"
    if couple.a.did != couple.b.did or couple.a.came_back != couple.b.came_back:
        return "different"
    return "different" if _places(a, couple.a, b, couple.b) else "same"


def _places(a: _Side, move_a: Move | None, b: _Side, move_b: Move | None) -> list[str]:
    """Where two moves wrote different things to the state; asked only of moves of which nothing else is known."""
    if move_a is None or move_b is None or move_a.calls or move_b.calls:
        return []
    return different_places(a.updates(move_a.step), b.updates(move_b.step))


def _number(move: Move | None) -> int | None:
    return None if move is None else move.number


def _mark_pending(rows: Sequence[Row], *, live_a: bool, live_b: bool) -> list[Row]:
    """What one run has at the end and the other lacks is no difference yet while that other still runs."""
    marked = list(rows)
    for waiting, live in (("only_a", live_b), ("only_b", live_a)):
        for index in range(len(marked) - 1, -1, -1) if live else ():
            if marked[index].kind == waiting:
                marked[index] = replace(marked[index], kind="pending")
            elif marked[index].kind != "pending":
                break
    return marked


def _rejoining(rows: Sequence[Row], parting: int, *, over: bool) -> tuple[int, int] | None:
    """Find where the same moves begin again: two or more in a row, or all that are left when both runs are over."""
    start: tuple[int, int] | None = None
    length = 0
    for row in rows[parting:]:
        if row.kind == "same" and row.a is not None and row.b is not None:
            start = start or (row.a, row.b)
            length += 1
            if length == _CERTAIN:
                return start
        elif row.kind != "pending":
            start, length = None, 0
    return start if over else None


def _same_state(a: _Side, b: _Side, pair: tuple[int, int]) -> bool:
    digest = a.source.digest(a.run.id, pair[0])
    return digest is not None and digest == b.source.digest(b.run.id, pair[1])


def _because(a: _Side, b: _Side, row: Row, shared: int) -> str:
    """Say why the runs part, with what a person changed before they did."""
    steps_a, steps_b = ({step.number: step for step in side.steps} for side in (a, b))
    move_a = None if row.a is None else a.move(steps_a[row.a])
    move_b = None if row.b is None else b.move(steps_b[row.b])
    reasons = [_ending(a, b, row) or explain(move_a, move_b, places=_places(a, move_a, b, move_b))]
    # Edits count where they are the last thing before the runs went their own ways.
    reasons += [explain_edits(side.run) for side in (a, b) if side.run.parent and side.run.fork_step == shared]
    if shared:
        reasons.append(explain_code(a.run, b.run))
    return "; ".join(reason for reason in reasons if reason)


def _ending(a: _Side, b: _Side, row: Row) -> str:
    """Say so where one run was simply over."""
    if row.b is None and (not b.steps or row.a == len(b.steps) + 1):
        return f"B ends after step {len(b.steps)}"
    if row.a is None and (not a.steps or row.b == len(a.steps) + 1):
        return f"A ends after step {len(a.steps)}"
    return ""
