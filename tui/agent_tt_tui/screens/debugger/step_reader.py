"""Steps as the debugger shows them: read in a thread or at once, and kept together with those beside them."""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt_tui.viewmodel.past.bases import BaseKind, choose, lanes_between
from agent_tt_tui.viewmodel.values.difflines import DiffRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.viewmodel.debugger.stepview import StepView
    from agent_tt_tui.viewmodel.past.bases import Base
    from agent_tt_tui.viewmodel.past.other_state import OtherState

_KEPT: Final = 12
"""Steps kept as they are shown. Far ones share nothing, so each may hold a state of its own."""

AHEAD: Final = 6
"""Steps read ahead in the direction in which somebody goes."""

_LEAST_AHEAD: Final = 2
"""So many of these are to be there; with fewer, further ones are read."""

_QUICK_S: Final = 0.025
"""Up to so much of the processor, a step is read while the key waits: painting half of it first would take as long."""


@dataclass
class StepRead(Message):
    """A step was read, and its changes laid out for so many columns.

    Attributes:
        between: The steps of other lanes that lie between the two; "" for none.
    """

    view: StepView
    base: Base
    rows: DiffRows
    columns: int
    between: str


class StepWish(NamedTuple):
    """A step to read.

    Attributes:
        number: The step.
        base: What to compare it with; None for the usual.
        columns: Columns of the diff pane.
        other: The state that a person named, if one did.
    """

    number: int
    base: BaseKind | None
    columns: int
    other: OtherState | None = None

    @property
    def can_be_kept(self) -> bool:
        """Whether it is the same each time, as long as nothing is written to the store."""
        return self.other is None and self.base is None


class StepReader:
    """Reads steps of a run; what it keeps is right until `forget` is called."""

    def __init__(self, model: RunModel) -> None:
        """Know no step yet."""
        self._model = model
        self._lock = Lock()
        self._kept: OrderedDict[StepWish, StepRead] = OrderedDict()
        self._changes = 0
        self._took: dict[bool, float] = {}
        """Seconds of the processor that the last reading took: of a step beside one that is there, and of any other."""

    def at_hand(self, wish: StepWish) -> StepRead | None:
        """A step that is in memory as it is to be shown; None where it is not."""
        if not wish.can_be_kept:
            return None
        with self._lock:
            found = self._kept.get(wish)
            if found is not None:
                self._kept.move_to_end(wish)
            return found

    def read_at_once(self, wish: StepWish) -> StepRead | None:
        """Read a step, if that takes no longer than a look; else None. It never waits for another thread."""
        took = self._took.get(self._model.is_near(wish.number))
        if took is None or took > _QUICK_S or self._model.is_reading or not self._model.is_local:
            return None
        view, base, changes = self._load(wish)
        self._model.fetch_around(wish.number)
        rows = DiffRows(view.changes)
        return None if rows.is_slow else self._shown(wish, view, base, changes, rows)

    def read(self, wish: StepWish) -> StepRead:
        """Read a step, however long it takes."""
        return self._shown(wish, *self._load(wish))

    def missing_ahead(self, wish: StepWish, towards: Sequence[int], back: Sequence[int]) -> Sequence[StepWish]:
        """The steps beside one that are to be read before they are asked for.

        Args:
            wish: The one that is shown.
            towards: The steps in the direction in which somebody goes, the nearest first; see `AHEAD`.
            back: The one in the other direction, if there is one.
        """
        if not wish.can_be_kept:
            return ()
        further, wanted = ([wish._replace(number=number) for number in numbers] for numbers in (towards, back))
        with self._lock:
            if all(near in self._kept for near in (*further[:_LEAST_AHEAD], *wanted)):
                return ()
            return [each for each in (*further, *wanted) if each not in self._kept]

    def forget(self) -> None:
        """Read all steps anew from now on: something about the run is known that was not."""
        with self._lock:
            self._changes += 1
            self._kept.clear()

    def _load(self, wish: StepWish) -> tuple[StepView, Base, int]:
        """Read a step; what it is compared with; and how often something was forgotten before."""
        model, changes, is_near = self._model, self._changes, self._model.is_near(wish.number)
        begun = time.thread_time()
        base = choose(model, wish.number, wish.base, wish.other)
        if base.kind == "range":
            from agent_tt_tui.viewmodel.past.ranges import as_base

            base = as_base(model, base, wish.number)
        view = model.load(wish.number, base.step, base.other, pending=base.kind == "pending")
        if base.kind == "pending" and not view.changes and view.error is None:
            base = choose(model, wish.number, None, wish.other)
            view = model.load(wish.number, base.step, base.other)
        self._took[is_near] = time.thread_time() - begun
        return view, base, changes

    def _shown(
        self, wish: StepWish, view: StepView, base: Base, changes: int, rows: DiffRows | None = None
    ) -> StepRead:
        rows = DiffRows(view.changes) if rows is None else rows
        rows.lay_out(wish.columns)
        own = None if base.other is not None else view.base
        between = "" if base.kind == "range" else lanes_between(self._model.overview, own, view.number)
        found = StepRead(view, base, rows, wish.columns, between)
        with self._lock:
            if changes == self._changes and wish.can_be_kept and view.error is None:
                self._kept[wish] = found
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return found
