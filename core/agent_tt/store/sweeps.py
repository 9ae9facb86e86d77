"""Sweeps: what was varied over a fork, and which process drives it now.

Only the definition is kept. How far a sweep is follows from the forks that name it (`forking.terms.SWEEP`), each of
which was written together with that fact: whatever is killed, no run of a sweep is unknown to it.

One process at a time drives a sweep. It says so in `owner`, as the process of a run does (`store.liveness`), and beats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import Damaged, IsRunning, RunNotFound, StoreUnreadable
from agent_tt.history.proofs import RUNS, SWEEPS
from agent_tt.store import columns, door, ids, keeping
from agent_tt.store.columns import ANY, COUNT, NAME, WHOLE
from agent_tt.store.counts import meta_with_counts
from agent_tt.store.liveness import Owner, current_owner, is_alive, now_us
from agent_tt.store.reader import StoreReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import Transaction
    from agent_tt.protocols import RunSource
    from agent_tt.store.connection import Database

__all__ = ["SweepRow", "Sweeps"]

_COLUMNS: Final = (
    "s.id, r.id, r.name, s.number, s.step, s.definition, s.created_us, s.owner, s.beat_us, s.run"
    " FROM sweeps s JOIN runs r USING(run)"
)
_KINDS: Final = (NAME, NAME, NAME, WHOLE, COUNT, ANY, WHOLE, ANY, ANY, WHOLE)


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A sweep as it lies in the store.

    Attributes:
        id: 12 characters, as of a run.
        run: id of the run that is forked.
        run_name: what that run is called now.
        number: counts the sweeps of the run, from 1.
        step: the step after which the runs begin to differ.
        definition: what is varied; `agent_tt.sweeping.definition` reads it.
        created_us: when it was begun.
        driven: whether a process drives it now.
    """

    id: str
    run: str
    run_name: str
    number: int
    step: int
    definition: Mapping[str, Wire]
    created_us: int
    driven: bool

    @property
    def name(self) -> str:
        """`refund-loop/sweep-1`: what its runs are named after."""
        return f"{self.run_name}/sweep-{self.number}"


class Sweeps:
    """The sweeps of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def of(cls, source: RunSource) -> Sweeps | None:
        """Those of a source; None where it can hold none, being a file of another system."""
        reader = getattr(source, "reader", source)  # of a store that is read with marks kept elsewhere
        return cls(reader.database) if isinstance(reader, StoreReader) else None

    def all(self) -> list[SweepRow]:
        """All of them, newest first; those that are damaged are left out, and `verify` names them."""
        return self._some("ORDER BY s.created_us DESC, s.sweep DESC")

    def one(self, ref: str) -> SweepRow:
        """The sweep that `ref` names: its id or the unique beginning of it, `RUN/sweep-1`, or `latest`.

        An old name of the run will do.

        Raises:
            RunNotFound: nothing, or several, fit.
        """
        known = self.all()
        if ref == ids.LATEST and known:
            return known[0]
        typed = ids.normalise(ref)
        for fits in (
            [sweep for sweep in known if typed == sweep.id],
            [sweep for sweep in known if ref == sweep.name],
            [sweep for sweep in known if ref == f"{sweep.run}/sweep-{sweep.number}"],
            self._by_former_name(known, ref),
            [sweep for sweep in known if typed and sweep.id.startswith(typed)],
        ):
            if len(fits) == 1 or (fits and ref == fits[0].name):
                return fits[0]
            if fits:
                names = ", ".join(sweep.id for sweep in fits[:5])
                raise RunNotFound(
                    f"{ref!r} is the beginning of several sweeps: {names}", hint="type one more character"
                )
        nearest = [sweep.name for sweep in known[:3]]
        hint = (
            "`agent-tt sweep --list` lists them."
            if known
            else "`agent-tt sweep RUN --at STEP --set PATH=V,V` begins one."
        )
        raise RunNotFound(f"no sweep {ref!r}" + ("" if known else ": there is none yet"), hint=hint, nearest=nearest)

    def _by_former_name(self, known: Sequence[SweepRow], ref: str) -> list[SweepRow]:
        """Those of a run that was renamed, by what they were called then."""
        name, _, number = ref.rpartition("/sweep-")
        if not name:
            return []
        try:
            row = ids.resolve(self._database, name)
        except RunNotFound:
            return []
        ((run,),) = self._database.query("SELECT id FROM runs WHERE run = ?", (row,))
        return [sweep for sweep in known if sweep.run == run and number == str(sweep.number)]

    def begin(self, run_id: str, step: int, definition: Mapping[str, Wire], *, driven: bool = True) -> SweepRow:
        """Writes a new sweep of a run.

        Args:
            run_id: The run.
            step: The step after which its runs begin to differ.
            definition: What is varied.
            driven: Whether this process drives it from now on; else nobody does.

        Raises:
            RunNotFound: the run is not there any more.
        """
        text = columns.mapping_to_text(door.admit_mapping(definition)) or "{}"
        now = now_us()
        with self._database.transaction() as tx:
            run = keeping.row_number(tx, run_id)
            ((last,),) = tx.query("SELECT max(number) FROM sweeps WHERE run = ?", (run,))
            sweep_id = _new_id(tx)
            owner = current_owner().to_json() if driven else None
            SWEEPS.insert(tx, (None, sweep_id, run, (last or 0) + 1, step, text, now, owner, now))
        return self.one(sweep_id)

    def claim(self, sweep_id: str, definition: Mapping[str, Wire] | None = None) -> None:
        """Lets this process drive a sweep that nobody drives.

        Args:
            sweep_id: The sweep.
            definition: What takes the place of its definition; None keeps that.

        Raises:
            IsRunning: somebody drives it.
            RunNotFound: it is not there any more.
        """
        with self._database.transaction() as tx:
            found = tx.query(f"SELECT {_COLUMNS} WHERE s.id = ?", (sweep_id,))  # constants of ours
            if not found:
                raise RunNotFound(f"no sweep {sweep_id!r}", hint="`agent-tt sweep --list` lists them.")
            if not all(map(SWEEPS.holds, SWEEPS.read(tx, "id = ?", (sweep_id,)))):
                raise Damaged(f"sweep {sweep_id} is damaged", hint="Run `agent-tt verify` on the store.")
            sweep = _sweep(columns.fitted(found, _KINDS)[0])
            if sweep.driven:
                pid = Owner.from_json(found[0][7])
                who = f"process {pid.pid}" if pid is not None else "another process"
                raise IsRunning(
                    f"{sweep.name} is being run, by {who}",
                    runs=[sweep.name],
                    hint=f"`agent-tt sweep --show {sweep.name}` shows how far it is.",
                )
            if definition is not None:
                text = columns.mapping_to_text(door.admit_mapping(definition)) or "{}"
                SWEEPS.change(tx, "id = ?", (sweep_id,), {"definition": text})
            SWEEPS.change(tx, "id = ?", (sweep_id,), {"owner": current_owner().to_json(), "beat_us": now_us()})

    def beat(self, sweep_id: str) -> None:
        """Writes down that this process still drives a sweep."""
        with self._database.transaction(durable=False) as tx:
            SWEEPS.change(tx, "id = ?", (sweep_id,), {"beat_us": now_us()})

    def release(self, sweep_id: str) -> None:
        """Lets others drive a sweep that this process drove."""
        with self._database.transaction() as tx:
            mine = (sweep_id, current_owner().to_json())
            SWEEPS.change(tx, "id = ? AND owner = ?", mine, {"owner": None, "beat_us": None})

    def settle(self, run_id: str) -> Owner | None:
        """Makes sure that a run of a sweep runs, or never will.

        The process that was to fill it may be gone, before it took the run over even: then the run is written down as
        crashed in the same transaction, and a process that comes too late finds it over.

        Returns:
            The process that fills it; None where it is over.

        Raises:
            RunNotFound: the run is not there any more.
        """
        with self._database.transaction() as tx:
            run = keeping.row_number(tx, run_id)
            ((status, owner, beat_us),) = tx.query("SELECT status, owner, beat_us FROM runs WHERE run = ?", (run,))
            filler = Owner.from_json(owner)
            if status != "running":
                return None
            if is_alive(filler, columns.integer(beat_us)):
                return filler
            ended_us = columns.integer(beat_us) or now_us()
            RUNS.update(tx, (run,), {"status": "crashed", "ended_us": ended_us, "meta": meta_with_counts(tx, run)})
        return None

    def _some(self, rest: str, parameters: Sequence[str] = ()) -> list[SweepRow]:
        found = self._database.query(f"SELECT {_COLUMNS} {rest}", parameters)  # constants of ours
        damaged = {row[1] for row in SWEEPS.read(self._database, "1") if not SWEEPS.holds(row)}
        return [_sweep(row) for row in columns.fitted(found, _KINDS) if row[0] not in damaged]


def _sweep(row: Sequence[Any]) -> SweepRow:
    sweep_id, run_id, run_name, number, step, definition, created, owner, beat_us, _ = row
    return SweepRow(
        sweep_id,
        run_id,
        run_name,
        number,
        step or 0,
        columns.mapping_from_text(definition),
        created,
        owner is not None and is_alive(Owner.from_json(owner), columns.integer(beat_us)),
    )


def _new_id(tx: Transaction) -> str:
    for _ in range(8):
        drawn = ids.new_run_id()
        if not tx.query("SELECT 1 FROM sweeps WHERE id = ? UNION SELECT 1 FROM runs WHERE id = ?", (drawn, drawn)):
            return drawn
    raise StoreUnreadable("the store has no free id", hint="Run `agent-tt verify` on the store.")
