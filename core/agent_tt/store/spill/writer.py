"""The open end of a run that is written into a spill file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from agent_tt.addresses import beside
from agent_tt.errors import StoreUnreadable
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.protocols import NO_STATE, keys_unknown
from agent_tt.store import ingest_filter
from agent_tt.store.liveness import current_owner, now_us
from agent_tt.store.spill import actions
from agent_tt.store.spill.files import SPILL_FORMAT, SpillFile, name_of, ready

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.model import (
        CallEnd,
        DeliveryKind,
        ErrorInfo,
        Hold,
        Judged,
        NewCall,
        NewRun,
        NewStep,
        Output,
        RunStatus,
        StepEnd,
    )
    from agent_tt.protocols import Numbers
    from agent_tt.questions import NewQuestion

__all__ = ["SpillWriter"]


class SpillWriter:
    """Writes one run into a spill file, for one thread at a time.

    Args:
        store: the store that the run belongs to.
        folder: where to put the file.
        run_id: the run.
        token: what the parts of this process share.
        part: which of them this is, from 0.
        numbers: those taken so far; counted on.
        why: why the store cannot be written.
        is_durable: whether each line must survive a power cut.
        joins: whether another process began the run, and ends it.

    Raises:
        OSError: nothing can be written there.
    """

    def __init__(
        self,
        store: Path,
        folder: Path,
        run_id: str,
        *,
        token: str,
        part: int,
        numbers: Numbers,
        why: str,
        is_durable: bool,
        joins: bool,
    ) -> None:
        if not ready(folder):
            raise OSError(f"{folder} is not a folder that spill files can be put into")
        self.run_id = run_id
        self._numbers = numbers
        self._shadows: dict[str, tuple[Shadow, int]] = {}
        self._file = SpillFile(folder / name_of(store, token, part), is_durable=is_durable)
        try:
            self._file.append({
                "spill": SPILL_FORMAT, "store": str(beside(store)), "run": run_id, "token": token, "part": part,
                "owner": current_owner().to_json(), "joins": joins, "why": ingest_filter.admit_text(why),
                "at": now_us(),
                "step": numbers.step, "delivery": numbers.delivery,
            })  # fmt: skip
        except BaseException:
            self.path.unlink(missing_ok=True)
            raise

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def begin(self, new: NewRun, state: object) -> None:
        """The run itself begins here: the store does not know it."""
        self._append("begin", new=actions.admitted_run(new), ops=self._ops("main", state))

    def open_step(self, new: NewStep) -> int:
        """See `RunWriter`."""
        number = self._numbers.step + 1
        self._append("open_step", step=number, new=actions.admitted_step(new))
        self._numbers.step = number
        return number

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """See `RunWriter`."""
        said = actions.admitted_step_end(end)
        self._append("close_step", step=number, end=said, track=track, ops=self._ops(track, state))

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """See `RunWriter`."""
        self._append("take_checkpoint", step=number, track=track, ops=self._ops(track, state))

    def begin_call(self, step: int, new: NewCall) -> int:
        """See `RunWriter`."""
        number = self._numbers.calls.get(step, 0) + 1
        self._append("begin_call", step=step, call=number, new=actions.admitted_call(new))
        self._numbers.calls[step] = number
        return number

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """See `RunWriter`."""
        self._append(
            "amend_call", step=step, call=number, meta=ingest_filter.admit_mapping(meta), args=ingest_filter.admit(args)
        )

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """See `RunWriter`."""
        number = self._numbers.delivery + 1
        piece = ingest_filter.admit_piece(data)
        settled: list[Wire] = [[place, known] for place, known in piece.settled]
        facts: dict[str, Wire] = {"settled": settled} if settled else {}
        self._append("deliver", step=step, call=call, kind=kind, data=piece.data, number=number, **facts)
        self._numbers.delivery = number
        return number

    def ask(self, step: int, call: int, new: NewQuestion) -> NoReturn:  # noqa: ARG002  the shape of a RunWriter
        """See `RunWriter`: nobody would find a question here."""
        raise StoreUnreadable("a question cannot be asked while the store cannot be written")

    def holds(self) -> Sequence[Hold]:
        """See `RunWriter`: nobody can hold what no store shows."""
        return ()

    def last_answer(self) -> int:
        """See `RunWriter`."""
        return self._numbers.delivery

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> NoReturn:  # noqa: ARG002  the shape of a RunWriter
        """Refuse: see `NumberingWriter`."""
        raise keys_unknown(tool)

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """See `RunWriter`."""
        self._append("end_call", step=step, call=number, end=actions.admitted_end(end))
        self._numbers.delivery += 1

    def add_note(self, step: int | None, kind: str, body: str) -> None:
        """A note on the run or a step of it."""
        self._append("note", step=step, kind=kind, body=ingest_filter.admit_text(body))

    def set_tags(self, tags: Sequence[str]) -> None:
        """All tags of the run."""
        self._append("tags", tags=[ingest_filter.admit_text(tag) for tag in tags])

    def incomplete(self, step: int, reason: str) -> None:
        """Nothing was recorded after this step."""
        self._append("incomplete", step=step, reason=ingest_filter.admit_text(reason))

    def moved(self) -> None:
        """What follows is in the next part."""
        self._append("moved")

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """See `RunWriter`."""
        said = None if error is None else actions.to_wire(ingest_filter.admit_error(error))
        self._append("finish", status=status, error=said)

    def keep_output(self, output: Output) -> None:
        """What the run printed; it was redacted as it was printed."""
        self._append("output", output=actions.to_wire(output))

    def _append(self, do: str, **facts: Wire) -> None:
        self._file.append({"do": do, "at": now_us(), **facts})

    def _ops(self, track: str, state: object) -> Wire:
        """What leads to a state from the last one of its track in this file; None for none."""
        if state is NO_STATE:
            return None
        shadow, seq = self._shadows.get(track) or (Shadow(ingest_filter.admit), 0)
        ops, _ = shadow.step(state, seq)
        self._shadows[track] = shadow, seq + 1
        return [list(op) for op in ops]
