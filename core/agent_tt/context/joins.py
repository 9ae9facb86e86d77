"""What joins the calls of a run: ids and places that were recorded, and arguments whose text stood before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.context.entering import leaves
from agent_tt.context.index import LEAST
from agent_tt.context.parts import asked_text
from agent_tt.context.shown import Join, RunJoins
from agent_tt.model.kinds import ACTING, OWN_DOING
from agent_tt.providers.shapes import Asked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.context.parts import Part
    from agent_tt.context.shown import Origin, Place
    from agent_tt.context.tiling import Entered
    from agent_tt.model import Call, Step

__all__ = ["Joins"]

_MOST_LEAVES: Final = 1_000


class Joins:
    """Collects the links between the calls of a run, in one pass over its steps."""

    def __init__(self, run_id: str) -> None:
        """Initialise the collection.

        Args:
            run_id: the run: an answer may be another run's.
        """
        self._run_id = run_id
        self._askers: dict[str, Place | None] = {}
        self._answerers: dict[str, Place | None] = {}
        self._asked: list[tuple[str, Place]] = []
        self._joins: list[Join] = []

    @property
    def found(self) -> RunJoins:
        """What was found so far."""
        asked = [(self._askers.get(by), place) for by, place in self._asked]
        by_id = (Join(asker, place, "asked") for asker, place in asked if asker is not None)
        joins = (*self._joins, *by_id)
        apart = tuple(join for join in joins if join.source[0] != join.fed[0])
        return RunJoins(dict(self._askers), dict(self._answerers), apart)

    def step(self, step: Step) -> None:
        """Take in what is recorded of a step."""
        if step.parent is not None:
            self._joins.append(Join((step.parent, 0), (step.number, 0), "nested"))

    def call(self, call: Call) -> None:
        """Take in what is recorded of a call."""
        place, facts = (call.step, call.number), call.facts
        if facts.inside is not None:
            self._joins.append(Join(facts.inside, place, "inside"))
        if facts.outlives is not None:
            self._joins.append(Join(facts.outlives, place, "started"))
        if facts.copy_of is not None:
            self._joins.append(Join(facts.copy_of, place, "given"))
        for given in (facts.once, facts.policy.taken_from if facts.policy else None):
            if given is not None and given.run == self._run_id and given.step is not None and given.call is not None:
                self._joins.append(Join((given.step, given.call), place, "given"))
        if facts.answers and call.kind != "llm":
            _only(self._answerers, facts.answers, place)
            self._asked.append((facts.answers, place))

    def said(self, place: Place, parts: Iterable[Part]) -> None:
        """Take in the ids that a model asked for tools under."""
        for part in parts:
            if part.kind == "call" and part.joins:
                _only(self._askers, part.joins, place)

    def arguments(self, call: Call, entered: Entered) -> None:
        """Look where the arguments of a call that is no model's stood before.

        A short text says nothing where several hold it. Where a model asked for just this, that is where they are from.
        """
        if call.args is None or call.kind not in ACTING or (call.kind in OWN_DOING and call.facts.is_nested):
            return
        place = call.step, call.number
        asked = _whole(asked_text(Asked("", call.name, call.args)), entered)
        models = [origin.place for origin in asked if origin.kind == "model" and origin.place < place]
        if models:
            self._joins.append(Join(max(models), place, "alike"))
            return
        found: dict[Place, int] = {}
        for _, text in zip(range(_MOST_LEAVES), leaves(call.args), strict=False):
            for origins in _known(text, entered):
                if len(origins) == 1 or len(text) >= LEAST:
                    found.update((at, min(len(origins), found.get(at, len(origins)))) for at in origins)
        self._joins.extend(Join(at, place, "argument", one_of) for at, one_of in found.items())


def _only(places: dict[str, Place | None], name: str, place: Place) -> None:
    """Write down the only place of an id; None once there are two."""
    places[name] = place if places.get(name, place) == place else None


def _whole(text: str, entered: Entered) -> Sequence[Origin]:
    tiles = entered.tiles(text, None) if entered.holds(text) else ()
    return tiles[0].origins if len(tiles) == 1 else ()


def _known(text: str, entered: Entered) -> Iterable[set[Place]]:
    """Of each part of a text that something brought, all that brought it; the program's own texts are left out."""
    for tile in entered.tiles(text, None):
        places = {origin.place for origin in tile.origins if not origin.is_request}
        if places:
            yield places
