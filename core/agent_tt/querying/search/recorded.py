"""Which texts a run recorded: the one place that says so, for searches by index and searches by reading.

Each text belongs to the step that brought it. Of the state only what a step newly brought counts, so that a text is
found where it came from and not in every step after that. A request to a model repeats the conversation: it is taken as
what is new in it, with a note of what stood in the request before (`agent_tt.querying.search.requests`), so that each
place counts and each text is kept once. A fork has what its ancestors recorded up to the step that it was forked at,
what was edited there, and what it recorded itself; of that, the first request of each kind counts whole.

What lies in databases of other systems is taken as if it had been recorded: without secrets (`agent_tt.redaction`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt._dataclass import dataclass
from agent_tt.codec.carried import Carried
from agent_tt.codec.paths import format_path
from agent_tt.codec.texts import texts
from agent_tt.codec.wire import VALUE, is_envelope
from agent_tt.comparing.values.states import Shifts
from agent_tt.errors import AgentTTError, RunNotFound, StoreBusy
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import op_path
from agent_tt.querying.search.fields import MESSAGES
from agent_tt.querying.search.requests import Request, in_common, sizes_of
from agent_tt.querying.unread import is_damaged
from agent_tt.redaction.values import Redactor
from agent_tt.store import ingest_filter
from agent_tt.store.rows.columns import sound

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Call, ErrorInfo, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.fields import Where

__all__ = ["KINDS", "Kind", "RunTexts", "Segment", "Text", "kinds_of", "segments"]


class Kind(NamedTuple):
    """A kind of text, as searches tell them apart.

    Attributes:
        where: in what it stands.
        in_messages: whether it is part of a message, in the state or among arguments.
    """

    where: Where
    in_messages: bool = False


KINDS: Final = (
    Kind("error"),
    Kind("decision"),
    Kind("name"),
    Kind("agent"),
    Kind("call"),
    Kind("arguments"),
    Kind("arguments", in_messages=True),
    Kind("result"),
    Kind("state", in_messages=True),
    Kind("state"),
)
"""All kinds, those first that say most about a run. Their positions are kept in indexes of searches."""

_HEADS_AT_ONCE: Final = 2_048
"""Steps whose calls are held at once: those of a run of 100,000 steps take more than all else that an open run does."""
_EDITED: Final = 1 << 40
"""Order of texts that were edited into a state, after all those that a step itself brought."""


def kinds_of(field: str) -> frozenset[int]:
    """The positions in `KINDS` of what belongs to a field."""
    return frozenset(
        number for number, kind in enumerate(KINDS) if (kind.in_messages if field == MESSAGES else kind.where == field)
    )


_KIND_NUMBERS: Final = {kind: number for number, kind in enumerate(KINDS)}
_BARE: Final[dict[Where, int]] = {kind.where: number for kind, number in _KIND_NUMBERS.items() if not kind.in_messages}


class Text(NamedTuple):
    """A text that was recorded.

    Attributes:
        kind: position in `KINDS`.
        text: all of it; without what UTF-8 cannot hold.
        path: where in the state, arguments or result, as people write it; empty for others.
        call: number of the call; None for what belongs to the step.
    """

    kind: int
    text: str
    path: str = ""
    call: int | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """Steps of a run that are read in one of its ancestors, or in itself.

    Attributes:
        run: the run that recorded them.
        last: the last step that counts; None for all.
    """

    run: Run
    last: int | None


def segments(source: RunSource, run: Run) -> list[Segment]:
    """Which runs recorded what a run shows: its ancestors, the first one first, and itself."""
    found = [Segment(run, None)]
    seen, last = {run.id}, None
    while (before := _forked_from(source, run)) is not None and before.run.id not in seen:
        run, step = before.run, before.last
        last = step if last is None or step is None else min(last, step)
        seen.add(run.id)
        found.append(Segment(run, last))
    return found[::-1]


def _forked_from(source: RunSource, run: Run) -> Segment | None:
    """What a run shows of the run that it was forked from; None where it was not, or that is gone."""
    if run.parent is None or run.fork_step is None or run.parent == run.id:
        return None
    try:
        parent = source.run(run.parent)
    except RunNotFound:  # then what it shows of its ancestors is its own
        return None
    return Segment(parent, run.fork_step) if parent.id == run.parent else None


class RunTexts:
    """The texts that one run recorded itself, step by step. Steps are to be asked for in order.

    Attributes:
        first: number of the step before the first one that it recorded itself; 0 is the input.
        first_order: order of the first text of `begin` among those of that step.
        requests: what models were asked in the step that was last asked for.
        damaged: steps that were asked for and have calls that are not as they were recorded.
    """

    def __init__(self, source: RunSource, run: Run, start: int | None = None) -> None:
        """Begin to read.

        Args:
            source: where the run is.
            run: the run.
            start: the first step that will be asked for; by default the first one there is.
        """
        self._source = source
        self._run_id = run.id
        self._parent = _forked_from(source, run)
        self._is_ours = source.capabilities.redacted
        self._before: tuple[int, Wire] | None = None
        self._redactor = Redactor()
        self._whole: Carried[bool] = Carried()
        self.first = (run.fork_step or 0) if self._parent else 0
        self.first_order = _EDITED if self._parent else 0
        begin = self.first if start is None else start
        self.requests: list[Request] = []
        self.damaged: set[int] = set()
        self._asked: dict[str, tuple[tuple[int, int], Wire]] = self._asked_before(begin) if begin > 1 else {}

    def begin(self) -> list[Text]:
        """What was there before the first own step: the input, or what was edited for a fork."""
        if self._parent is None:
            return list(self._state_texts(0))
        parent, step = self._parent.run.id, self.first
        try:
            if self._source.changes(self._run_id, step) == self._source.changes(parent, step):
                return []
        except AgentTTError as error:
            _raise_passing(error)
            return []
        return list(self._state_texts(step))

    def steps(self, start: int, stop: int) -> list[Step]:
        """Own steps start..stop-1."""
        return self._source.steps(self._run_id, max(start, self.first + 1), stop)

    def step(self, step: Step) -> tuple[list[Text], bool]:
        """Everything that a step brought, and whether that is all that it will ever bring."""
        found = [Text(_BARE["name"], self._clean(step.name))]
        if step.agent:
            found.append(Text(_BARE["agent"], self._clean(step.agent)))
        if step.decision:
            found.append(Text(_BARE["decision"], self._clean(step.decision)))
        settled = step.status in ("ok", "error")
        self.requests = []
        self._redactor.begin(step.lane)
        self._whole.begin(step.lane)
        for call in self._calls(step):
            if is_damaged(call, self._whole):
                self.damaged.add(step.number)
            settled = settled and call.status != "pending"
            found += self._call_texts(call, len(found))
        found += self._error_texts(step.error, None)
        if step.seq is not None:
            found += self._state_texts(step.number)
        return found, settled

    # -------------------------------------------------------------------- calls

    def _calls(self, step: Step) -> Sequence[Call]:
        if not step.calls:
            return ()
        try:
            return self._source.calls(self._run_id, step.number)
        except AgentTTError as error:  # one damaged step must not end a search; the timeline flags it
            _raise_passing(error)
            return ()

    def _call_texts(self, call: Call, order: int) -> Iterator[Text]:
        yield Text(_BARE["call"], self._clean(call.name), call=call.number)
        if not self._is_ours:
            call = replace(call, args=self._redactor.redact(call.args), result=self._redactor.redact(call.result))
        asked: Wire = None
        kept: dict[str, int] = {}
        if call.kind == "llm":
            key, place = _asker(call), (call.step, call.number)
            before, asked = self._asked.get(key, (None, None))
            self._asked[key] = place, call.args
            kept = in_common(asked, call.args)
            self.requests.append(Request(*place, order, before, kept, sizes_of(call.args)))
        for path, text in _new_texts(asked, kept, call.args):
            yield _text("arguments", path, text, call.number)
        for path, text in texts(call.result):
            yield _text("result", path, text, call.number)
        yield from self._error_texts(call.error, call.number)

    def _asked_before(self, step: int) -> dict[str, tuple[tuple[int, int], Wire]]:
        """What each model was asked last before a step, in a step of the run's own, and where; by lane and name."""
        source, last = self._source, dict[str, tuple[int, int]]()
        if source.capabilities.pages:
            for start in range(self.first + 1, step, _HEADS_AT_ONCE):
                for head in source.call_heads(self._run_id, start, min(start + _HEADS_AT_ONCE, step)):
                    if head.kind == "llm":
                        last[_asker(head)] = (head.step, head.number)
        else:
            for each in source.steps(self._run_id, self.first + 1, step):
                for call in self._calls(each):
                    if call.kind == "llm":
                        last[_asker(call)] = (call.step, call.number)
        asked: dict[str, tuple[tuple[int, int], Wire]] = {}
        for key, (at, number) in last.items():
            try:
                found = next((call for call in source.calls(self._run_id, at) if call.number == number), None)
            except AgentTTError as error:
                _raise_passing(error)
                continue
            if found is not None:
                asked[key] = (at, number), found.args if self._is_ours else self._redactor.redact(found.args)
        return asked

    def _error_texts(self, error: ErrorInfo | None, call: int | None) -> Iterator[Text]:
        if error is None:
            return
        if not self._is_ours:
            error = ingest_filter.admit_error(error) or error
        words = f"{error.short}\n{error.message}" if "\n" in error.message else error.short
        yield Text(_BARE["error"], self._clean(words), call=call)

    def _clean(self, words: str) -> str:
        return sound(words) if self._is_ours else ingest_filter.admit_text(words)

    # -------------------------------------------------------------------- states

    def _state_texts(self, step: int) -> Iterator[Text]:
        """The texts that came into the state with a step; nothing for a checkpoint that cannot be read."""
        try:
            whole, ops = self._brought_by(step)
        except AgentTTError as error:
            _raise_passing(error)
            return
        for path, text in texts(whole):
            yield _text("state", path, text)
        shifts = Shifts(ops)
        for number, op in enumerate(ops):
            for path, value in _brought(op):
                for inner, text in texts(value, shifts.settled(path, number)):
                    yield _text("state", inner, text)

    def _brought_by(self, step: int) -> tuple[Wire, list[Op]]:
        """The whole state of a first checkpoint, or what was done to the one before."""
        source, run_id = self._source, self._run_id
        base = source.base_step(run_id, step)
        if self._is_ours:
            return (source.state(run_id, step), []) if base is None else (None, source.changes(run_id, step))
        # Operations show texts without the names that make them secrets: only whole states can be made clean.
        before = self._before
        state = self._clean_state(step)
        self._before = (step, state)
        if base is None:
            return state, []
        old = before[1] if before is not None and before[0] == base else self._clean_state(base)
        return None, diff(old, state)

    def _clean_state(self, step: int) -> Wire:
        return self._redactor.redact(self._source.cursor(self._run_id, step).state)


def _asker(call: Call) -> str:
    return f"{call.lane} {call.name}"


def _raise_passing(error: AgentTTError) -> None:
    """Raise again what is not damage: an index must not lack what could not be read for a moment."""
    if isinstance(error, StoreBusy | RunNotFound):
        raise error


def _text(where: Where, path: Path, text: str, call: int | None = None) -> Text:
    kind = _KIND_NUMBERS[Kind(where, in_messages=True)] if where != "result" and MESSAGES in path else _BARE[where]
    return Text(kind, sound(text), _written(path), call)


@lru_cache(maxsize=10_000)
def _written(path: Path) -> str:
    return sound(format_path(path))


def _new_texts(before: Wire, kept: Mapping[str, int], now: Wire) -> Iterator[tuple[Path, str]]:
    """The texts of a request, without the entries and leading items that the request before it had as well."""
    if not isinstance(now, dict) or (is_envelope(now) and VALUE not in kept):
        yield from texts(now)
        return
    sizes = sizes_of(before)
    for name, value in now.items():
        known = kept.get(name, 0)
        if is_envelope(now) and name != VALUE:
            continue
        if name != VALUE and (name not in kept or (isinstance(value, list) and known < sizes[name])):
            yield (name,), name
        if name not in kept:
            yield from texts(value, (name,))
        elif isinstance(value, list):
            for index in range(known, len(value)):
                yield from texts(value[index], (name, index))


def _brought(op: Op) -> Iterator[tuple[Path, Wire]]:
    """The values that an operation brings, and where they are just after it."""
    path = op_path(op)
    match op:
        case ["s", _, value]:
            if path and isinstance(path[-1], str):
                yield path, path[-1]
            yield path, value
        case ["a", _, int(start), list(items)] | ["x", _, int(start), int(), list(items)]:
            yield from (((*path, start + offset), item) for offset, item in enumerate(items))
        case ["t", _, int(), str(suffix)]:
            yield path, suffix
        case _:
            return
