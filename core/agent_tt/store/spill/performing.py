"""Doing in a store what the lines of spill files say, as the recorder would have done it then."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, cast

from agent_tt.codec.wire import Encoded
from agent_tt.errors import CorruptDelta, Damaged, RunNotFound
from agent_tt.history.changes.ops import apply
from agent_tt.history.rows import row_key
from agent_tt.model import CallEnd, ErrorInfo, Judged, NewCall, NewRun, NewStep, Output, StepEnd
from agent_tt.model.facts import CallFacts, IncompleteFacts
from agent_tt.protocols import NO_STATE
from agent_tt.store.liveness import Owner, as_if
from agent_tt.store.spill.actions import from_wire, settled_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import DeliveryKind, RunStatus
    from agent_tt.store.spill.files import Spilled
    from agent_tt.store.store import SqliteStore
    from agent_tt.store.tables.asking import SqlValue
    from agent_tt.store.writer import SqliteRunWriter

    Facts = Mapping[str, Wire]

__all__ = ["perform"]

"""Key of a call's facts that names the call around it by its step and number."""


def perform(store: SqliteStore, parts: Sequence[Spilled]) -> None:
    """Do what the parts of one recording say; `store.database.as_one` must be around it.

    Raises:
        RunNotFound: the store does not hold the run that they go on with.
        Damaged: the run in the store, or a line, is not as it must be.
    """
    performed = _Performing(store, parts[0])
    for part in parts:
        performed.next_part()
        for index, action in enumerate(part.actions):
            try:
                performed.do(action, is_first=index == 0 and part is parts[0])
            except (KeyError, TypeError, ValueError, AttributeError, CorruptDelta) as error:
                raise Damaged(f"{part.path}, line {index + 2}: {error!r}") from error
    if not parts[-1].is_whole:
        performed.mark_incomplete("the rest of what was written beside the store is damaged")


class _Performing:
    """One recording while its lines are performed.

    Numbers of steps and calls are mapped: another process may have taken those that this one counted on with.
    """

    def __init__(self, store: SqliteStore, first: Spilled) -> None:
        self._store = store
        self._run_id = first.run
        self._owner = Owner.from_json(first.header.get("owner"))
        self._joins = first.header.get("joins") is True
        self._last = _whole(first.header.get("step"))
        self._writer: SqliteRunWriter | None = None
        self._states: dict[str, Wire] = {}
        self._steps: dict[int, int] = {}
        self._calls: dict[tuple[int, int], int] = {}
        begins = any(action.get("do") == "begin" for action in first.actions[:1])
        if not begins:
            self._writer = self._open()
            self._check_beginning()

    def _open(self) -> SqliteRunWriter:
        return self._store.join_run(self._run_id) if self._joins else self._store.go_on(self._run_id)

    def next_part(self) -> None:
        """A part begins: its states are said anew."""
        self._states.clear()

    def do(self, action: Facts, *, is_first: bool) -> None:
        """Perform one action, unless it is the first one and had reached the store after all."""
        name = str(action["do"])
        if name == "moved":
            return
        if is_first and self._is_done(name, action):
            if "ops" in action:  # those of the next action count from its state
                self._state(str(action["track"]), action)
            return
        with as_if(_whole(action["at"]), self._owner):
            _ACTIONS[name](self, action)

    @property
    def writer(self) -> SqliteRunWriter:
        """The writer of the run."""
        if self._writer is None:
            raise Damaged(f"a spill file of run {self._run_id} does not begin with its beginning")
        return self._writer

    # ---------------------------------------------------------------- one action each

    def begin(self, action: Facts) -> None:
        new = from_wire(NewRun, action["new"])
        store, state = self._store, self._state("main", action)
        if store.database.query("SELECT 1 FROM runs WHERE id = ?", (self._run_id,)):
            self._writer = store.go_on(self._run_id)
            return
        self._writer = store.begin_run(new, state, run_id=self._run_id, beats=False)

    def open_step(self, action: Facts) -> None:
        new = from_wire(NewStep, action["new"])
        parent = None if new.parent is None else self._step(new.parent)
        said = NewStep(new.name, new.agent, new.lane, parent)
        self._steps[_whole(action["step"])] = self.writer.open_step(said)

    def close_step(self, action: Facts) -> None:
        track, end = str(action["track"]), from_wire(StepEnd, action["end"])
        self.writer.close_step(self._step(action["step"]), end, self._state(track, action), track=track)

    def take_checkpoint(self, action: Facts) -> None:
        track = str(action["track"])
        self.writer.take_checkpoint(self._step(action["step"]), self._state(track, action), track=track)

    def begin_call(self, action: Facts) -> None:
        step, number = _whole(action["step"]), _whole(action["call"])
        new = from_wire(NewCall, action["new"])
        said = NewCall(
            new.kind, new.name, new.args, new.signature, new.effect, new.lane, new.lane_seq, self._facts(new.meta)
        )
        self._calls[step, number] = self.writer.begin_call(self._step(step), said)

    def amend_call(self, action: Facts) -> None:
        meta = action["meta"]
        facts = self._facts(meta if isinstance(meta, dict) else {})
        self.writer.amend_call(self._step(action["step"]), self._call(action), facts, args=action["args"])

    def deliver(self, action: Facts) -> None:
        kind = cast("DeliveryKind", action["kind"])
        piece = Judged(action["data"], settled_from(action.get("settled")))  # as it was when it was written down
        self.writer.deliver(self._step(action["step"]), self._call(action), kind, piece)

    def end_call(self, action: Facts) -> None:
        self.writer.end_call(self._step(action["step"]), self._call(action), from_wire(CallEnd, action["end"]))

    def note(self, action: Facts) -> None:
        step = None if action["step"] is None else self._step(action["step"])
        self._store.add_note(self._run_id, step, str(action["kind"]), str(action["body"]))

    def tags(self, action: Facts) -> None:
        tags = action["tags"]
        self._store.set_tags(self._run_id, [str(tag) for tag in tags] if isinstance(tags, list) else [])

    def incomplete(self, action: Facts) -> None:
        self._store.set_metadata(self._run_id, IncompleteFacts.after(_whole(action["step"]), str(action["reason"])))

    def finish(self, action: Facts) -> None:
        said = action["error"]
        error = None if said is None else from_wire(ErrorInfo, said)
        self.writer.finish(cast("RunStatus", action["status"]), error)

    def output(self, action: Facts) -> None:
        self._store.keep_output(self._run_id, from_wire(Output, action["output"]))

    def mark_incomplete(self, reason: str) -> None:
        """Say that what follows is not there."""
        last = max(self._steps.values(), default=self._last)
        self._store.set_metadata(self._run_id, IncompleteFacts.after(last, reason))
        if not self._joins:
            self.writer.finish("interrupted")

    # ---------------------------------------------------------------- what the lines say, as the store has it

    def _state(self, track: str, action: Facts) -> object:
        ops = action["ops"]
        if ops is None:
            return NO_STATE
        state = apply(self._states.get(track), cast("list[Op]", ops))
        self._states[track] = state
        return Encoded(copy.deepcopy(state))  # the next operations change it in place

    def _step(self, number: Wire) -> int:
        known = _whole(number)
        return self._steps.get(known, known)

    def _call(self, action: Facts) -> int:
        known = _whole(action["call"])
        return self._calls.get((_whole(action["step"]), known), known)

    def _facts(self, meta: Facts) -> Facts:
        inside = CallFacts.inside.of(meta)
        if inside is None:
            return meta
        place = self._step(inside[0]), self._calls.get(inside, inside[1])
        return {**meta, **CallFacts.inside.entry(place)}

    # ---------------------------------------------------------------- what had reached the store

    def _check_beginning(self) -> None:
        """Refuse to go on with a run that lacks steps that were written before."""
        ((last,),) = self._store.database.query("SELECT max(step) FROM steps WHERE run = ?", (self._number(),))
        if self._last > (last or 0):
            raise Damaged(f"the store lacks steps of run {self._run_id} that were written: it has {last or 0}")

    def _number(self) -> int:
        found = self._store.database.query("SELECT run FROM runs WHERE id = ?", (self._run_id,))
        if not found:
            raise RunNotFound(f"the store does not hold run {self._run_id}")
        return int(found[0][0])

    def _is_done(self, name: str, action: Facts) -> bool:
        """Whether an action whose commit failed was committed all the same: a disk may fail after that."""
        question = _DONE.get(name)
        if question is None or self._writer is None:
            return False
        run, found = self._number(), dict(action)
        if name == "open_step":
            new = from_wire(NewStep, action["new"])
            found |= {"name": new.name, "lane": new.lane}
        if name == "begin_call":
            found["signature"] = from_wire(NewCall, action["new"]).signature
        if name == "deliver":
            found["id"] = row_key(run, _whole(action["number"]))
        statement, names = question
        values = [cast("SqlValue", found[key]) for key in names]
        return bool(self._store.database.query(statement, (run, *values)))


_ACTIONS: Final[dict[str, Callable[[_Performing, Facts], None]]] = {
    "begin": _Performing.begin,
    "open_step": _Performing.open_step,
    "close_step": _Performing.close_step,
    "take_checkpoint": _Performing.take_checkpoint,
    "begin_call": _Performing.begin_call,
    "amend_call": _Performing.amend_call,
    "deliver": _Performing.deliver,
    "end_call": _Performing.end_call,
    "note": _Performing.note,
    "tags": _Performing.tags,
    "incomplete": _Performing.incomplete,
    "finish": _Performing.finish,
    "output": _Performing.output,
}

_DONE: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "open_step": (
        "SELECT 1 FROM steps WHERE run = ? AND step = ? AND name = ? AND lane = ? AND status = 'running'",
        ("step", "name", "lane"),
    ),
    "close_step": ("SELECT 1 FROM steps WHERE run = ? AND step = ? AND status <> 'running'", ("step",)),
    "take_checkpoint": ("SELECT 1 FROM steps WHERE run = ? AND step = ? AND seq IS NOT NULL", ("step",)),
    "begin_call": (
        "SELECT 1 FROM calls WHERE run = ? AND step = ? AND call = ? AND lower(hex(signature)) = ?",
        ("step", "call", "signature"),
    ),
    "deliver": ("SELECT 1 FROM deliveries WHERE ? AND id = ? AND step = ? AND call = ?", ("id", "step", "call")),
    "end_call": (
        "SELECT 1 FROM calls WHERE run = ? AND step = ? AND call = ? AND status <> 'pending'",
        ("step", "call"),
    ),
    "note": ("SELECT 1 FROM notes WHERE run = ? AND step IS ? AND kind = ? AND body = ?", ("step", "kind", "body")),
}
"""What tells that the first action of a file is in the store already, and the facts of it that are asked for.

Only the first one can be: it was tried there before the file was begun.
"""


def _whole(value: Wire) -> int:
    if type(value) is not int:
        raise Damaged("a line of a spill file holds no number where one belongs")
    return value
