"""Searching a run for what holds a value: calls from the nearest step back, the input, and what people said."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path
from agent_tt.codec.sameness import identical
from agent_tt.errors import AgentTTError
from agent_tt.model import ACTING
from agent_tt.querying.provenance.links import Source
from agent_tt.querying.provenance.model_reading import answer_text
from agent_tt.querying.provenance.origins import (
    AS_JSON,
    METADATA,
    SAME,
    Likeness,
    is_telling,
    key_of,
    leaves,
    likeness,
    looks_whole,
    read_json,
    said_by,
    scalar,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call
    from agent_tt.protocols import RunSource

__all__ = ["MOST_LOOKS", "MOST_OTHERS", "MOST_STEPS_BACK", "Origin", "Search", "place_of"]

MOST_STEPS_BACK: Final = 300
"""Steps whose calls are looked at for one link."""

MOST_OTHERS: Final = 4

MOST_LOOKS: Final = 5_000
"""Results that are compared with something on the whole way; a large one counts as many."""

_MOST_CANDIDATES: Final = 6
_LONGEST_TEXT: Final = 20_000
"""Longest text, in characters, that is searched for numbers."""

_DRAWN: Final = frozenset({"clock", "rng", "id", "env"})
"""Kinds of calls that bring a value of the surroundings."""

_MOST_NUMBERS: Final = 40
"""Numbers that calls brought of which another may have been computed."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A call that brought a value, how what it brought is like it, and further places that hold it."""

    call: Call
    like: Likeness
    others: tuple[Source, ...] = ()


class Search:
    """Searches one run; what was read once is kept.

    Attributes:
        looks: how many results were compared with something.
        damaged: what could not be read, in words; empty where all could.
        partly: results of which not all was looked at, because they are too large: step and name of the call.
    """

    def __init__(self, source: RunSource, run_id: str, cancelled: Callable[[], bool]) -> None:
        self.looks = 0
        self.damaged = ""
        self._source, self._run_id, self._cancelled = source, run_id, cancelled
        self.partly: dict[tuple[int, str], None] = {}
        self._calls: dict[int, list[Call]] = {}
        self._sizes: dict[tuple[int, int], int] = {}
        self._inputs: list[tuple[int, int | None, str, Wire]] | None = None

    def _size_of(self, call: Call) -> int:
        """How many values a call brought, some thousands at most."""
        place = call.step, call.number
        if place not in self._sizes:
            self._sizes[place] = sum(1 for _ in leaves(call.result))
            if not looks_whole(call.result):
                self.partly[call.step, call.name] = None
        return self._sizes[place]

    def origin(
        self,
        value: Wire,
        step: int,
        *,
        asker: Call | None = None,
        name: str = "",
        near: Collection[int] = (),
        until_us: int | None = None,
    ) -> Origin | None:
        """The call that a value was most likely copied from.

        The nearest that brought it as it is, or written otherwise; else the nearest that holds it as a part. A call
        that was asked with it has not brought it.

        Args:
            value: the value.
            step: the step up to which is looked.
            asker: a call that had the value already: only what came back before it was made is looked at, and no
                models' answers, which pass on what they read.
            name: under which name the value is kept.
            near: the steps of which one wrote the value; those behind `step` were open when it was there first.
            until_us: when it was there: what came back later has not brought it. Microseconds.
        """
        if not (is_telling(value) or name):
            return None
        best: Origin | None = None
        others: list[Source] = []
        behind = sorted((number for number in near if number > step), reverse=True)
        for number in (*behind, *range(step, max(0, step - MOST_STEPS_BACK), -1)):
            if self._cancelled() or self.looks > MOST_LOOKS:
                break
            here = self._best_of(number, value, asker, name, near, until_us)
            if here is None:
                continue
            if best is None or (best.like.score < AS_JSON <= here.like.score and best.call.kind in ACTING):
                others = others if best is None or best.call.kind == "llm" else [place_of(best), *others]
                best = here
                others += here.others
            elif here.call.kind != "llm":
                others.append(place_of(here))
            if len(others) >= MOST_OTHERS or best.call.kind == "llm" or not is_telling(value):
                break
        if best is not None:
            return Origin(best.call, best.like, tuple(dict.fromkeys(others))[:MOST_OTHERS])
        if isinstance(scalar(value), dict | list):
            return self._origin_of_parts(value, step, asker)
        return None

    def before_call(self, value: Wire, asker: Call, *, name: str = "") -> Origin | None:
        """The call that brought a value that another call was made with."""
        return self.origin(value, asker.step, asker=asker, name=name)

    def whole_results(self, value: Wire, steps: Collection[int], until_us: int | None = None) -> list[Origin]:
        """The calls of some steps whose whole result a value is, or all words of whose answer, the last first."""
        found: list[Origin] = []
        for number in sorted(steps, reverse=True):
            for call in reversed(self.of_step(number)):
                if call.status != "ok" or call.error is not None or _is_later(call, until_us):
                    continue
                if identical(call.result, value):
                    like = Likeness(SAME, (), "the whole result of a call of that step")
                elif call.kind == "llm" and isinstance(value, str) and value and answer_text(call.result) == value:
                    path = next((at for at, leaf in leaves(call.result) if leaf == value), ())
                    like = Likeness(SAME, path, "all that a model said in that step")
                else:
                    continue
                found.append(Origin(call, like))
        return found

    def candidates(self, value: Wire, step: int, asker: Call | None = None) -> list[Source]:
        """Places up to a step that hold a value as it is, or written out, nearest first, the input last; only some.

        Args:
            value: the value, which may be so common that holding it says nothing.
            step: the step up to which is looked.
            asker: a call that had the value already: only what came back before it was made counts.
        """
        found: list[Source] = []
        for number in range(step, max(0, step - MOST_STEPS_BACK), -1):
            if self._cancelled() or self.looks > MOST_LOOKS:
                break
            for call in reversed(self.of_step(number)):
                if call.status != "ok" or call.error is not None or (asker is not None and not _is_before(call, asker)):
                    continue
                self.looks += 1 + self._size_of(call) // 100
                place = next((path for path, node in _nodes(call.result) if _holds(node, value)), None)
                if place is not None:
                    found.append(Source(number, call.number, call.name, format_path(place)))
                if len(found) > _MOST_CANDIDATES:
                    return found
        for at, call_number, name, said in self.said():
            place = next((path for path, node in _nodes(said) if _holds(node, value)), None) if at <= step else None
            if place is not None:
                found.append(Source(at, call_number, name or "input", format_path(place)))
        return found

    def drawn(self, steps: Collection[int]) -> list[str]:
        """The names of the calls of some steps that read the clock, drew numbers or ids, or read the environment."""
        return list(dict.fromkeys(c.name for n in sorted(steps) for c in self.of_step(n) if c.kind in _DRAWN))

    def _best_of(
        self,
        number: int,
        value: Wire,
        asker: Call | None,
        name: str,
        near: Collection[int],
        until_us: int | None = None,
    ) -> Origin | None:
        """The call of a step that is most like a value; of equal ones the last, which is the innermost."""
        best: Origin | None = None
        also: list[Source] = []
        for call in reversed(self.of_step(number)):
            if call.status == "pending" or (asker is not None and not _is_before(call, asker)):
                continue
            if call.kind not in ACTING and call.kind not in _DRAWN and (asker is not None or call.kind != "llm"):
                continue
            if number in near and _is_later(call, until_us):
                continue
            self.looks += 1 + self._size_of(call) // 100
            like = said_by(call, value, name=name, near=number in near)
            if like is None or _is_echo(call, value, like):
                continue
            found = Origin(call, like)
            if best is None or like.score > best.like.score:
                also = also if best is None or best.call.kind == "llm" else [place_of(best), *also]
                best = found
            elif call.kind != "llm":
                also.append(place_of(found))
        return None if best is None else Origin(best.call, best.like, tuple(also))

    def _origin_of_parts(self, value: Wire, step: int, asker: Call | None) -> Origin | None:
        """The origin of the longest text in a value that came from nowhere as a whole."""
        parts = [leaf for path, leaf in leaves(value) if key_of(path) not in METADATA and is_telling(leaf)]
        for part in sorted(parts, key=lambda leaf: -len(str(leaf)))[:4]:
            found = self.origin(part, step, asker=asker)
            if found is not None:
                return found
        return None

    def said(self) -> list[tuple[int, int | None, str, Wire]]:
        """The input, and what people said in calls of theirs: step, call, name, value."""
        if self._inputs is None:
            try:
                self._inputs = [(0, None, "", self._source.state(self._run_id, 0))]
            except AgentTTError as error:
                self._inputs, self.damaged = [], f"; the input cannot be read: {error.message}"
            if self._source.step_count(self._run_id) <= MOST_LOOKS:
                for step in self._source.steps(self._run_id):
                    for call in self.of_step(step.number) if step.kind == "human" else ():
                        if call.kind == "human":
                            said = call.args if call.result is None else call.result
                            self._inputs.append((step.number, call.number, call.name, said))
        return self._inputs

    def numbers(self, step: int) -> list[tuple[Call | None, Path, int | float]]:
        """The numbers that the nearest calls brought, nearest first, then those of the input (its call is None)."""
        found: list[tuple[Call | None, Path, int | float]] = []
        for number in range(step, max(0, step - MOST_STEPS_BACK), -1):
            for call in reversed(self.of_step(number)):
                if call.kind not in ACTING or call.status != "ok":
                    continue
                for path, leaf in _nodes(call.result):
                    if isinstance(leaf, int | float) and not isinstance(leaf, bool):
                        found.append((call, path, leaf))
                    if len(found) == _MOST_NUMBERS:
                        return found
        for at, _, _, said in self.said():
            numbers = [(path, leaf) for path, leaf in _nodes(said) if not at and isinstance(leaf, int | float)]
            found += [(None, path, leaf) for path, leaf in numbers if not isinstance(leaf, bool)]
        return found[:_MOST_NUMBERS]

    def of_step(self, number: int) -> list[Call]:
        """The calls of a step; none where they cannot be read."""
        known = self._calls.get(number)
        if known is None:
            try:
                known = self._source.calls(self._run_id, number) if number > 0 else []
            except AgentTTError as error:
                known = []
                self.damaged = f"; step {number} cannot be read: {error.message}"
            self._calls[number] = known
        return known

    def missed(self, step: int) -> str:
        """Why a value may have been brought although it was not found; empty where all there is was looked at."""
        if self.damaged:
            return f"no call that could be read brought it{self.damaged}"
        if self.looks > MOST_LOOKS:
            return f"it was looked for in {MOST_LOOKS:,} results and not found; there are more"
        if self.partly:
            (at, name), *_ = self.partly
            return f"the result of {name} at step {at} is so large that not all of it was looked at"
        if step > MOST_STEPS_BACK:
            return f"no call of the {MOST_STEPS_BACK} steps up to {step} brought it; those before were not looked at"
        return ""

    def unknown(self, value: Wire, step: int) -> str:
        """Why nothing is known of where a value was before."""
        missed = self.missed(step)
        if missed:
            return missed
        if not is_telling(value):
            return f"no call up to step {step} that is recorded has such a value, nor has the input"
        return f"no call up to step {step} brought it, and the input does not hold it"


def _is_before(call: Call, asker: Call) -> bool:
    """Whether what a call brought was there when another one was made: steps of other lanes go on meanwhile."""
    if (call.step, call.number) >= (asker.step, asker.number):
        return False
    return call.ended_us is None or asker.started_us is None or call.ended_us <= asker.started_us


def _is_later(call: Call, until_us: int | None) -> bool:
    return until_us is not None and call.ended_us is not None and call.ended_us > until_us


def _nodes(value: Wire) -> Iterator[tuple[Path, Wire]]:
    """A value and all that is in it, with their places, also in JSON texts; some thousands at most."""
    waiting: list[tuple[Path, Wire, bool]] = [((), value, True)]
    for _ in range(MOST_LOOKS):
        if not waiting:
            return
        path, node, opens = waiting.pop()
        yield path, node
        if not opens:
            continue
        if isinstance(node, dict):
            waiting += [((*path, key), node[key], True) for key in reversed(node)]
        elif isinstance(node, list):
            waiting += [((*path, n), node[n], True) for n in range(min(len(node), MOST_LOOKS) - 1, -1, -1)]
        elif isinstance(node, str) and (inner := read_json(node)) is not None:
            # What is in the text stands where the text does; each of its parts is among these already.
            waiting += [(path, part, False) for _, part in reversed([*_nodes(inner)])]


def _holds(node: Wire, value: Wire) -> bool:
    """Whether a part of a result is a value, or one is the other written out, alone or among other words."""
    if identical(node, value):
        return True
    if isinstance(node, str) and not isinstance(value, dict | list):
        text = node[:_LONGEST_TEXT]
        if value == "":
            return text.strip() == '""'
        written = {str(value)} if isinstance(value, str) else {str(value), json.dumps(value)}
        return any(re.search(rf"(?<![\w.]){re.escape(each)}(?!\w|\.\d)", text) is not None for each in written)
    is_number = isinstance(node, int | float) and not isinstance(node, bool)
    return isinstance(value, str) and is_number and str(node) == value


def _is_echo(call: Call, value: Wire, like: Likeness) -> bool:
    """Whether a call only says again what it was asked with."""
    if call.kind == "llm" or isinstance(scalar(value), dict | list):
        return False
    asked = likeness(call.args, like.shared or value)
    return asked is not None and asked.score >= min(like.score, AS_JSON)


def place_of(origin: Origin) -> Source:
    """Where an origin is."""
    return Source(origin.call.step, origin.call.number, origin.call.name, format_path(origin.like.path))
