"""Full-text search in one run, by reading it: each text is looked at in the step that brought it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt.codec.paths import format_path
from agent_tt.comparing.states import path_after
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.history.ops import op_path
from agent_tt.querying.texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.ops import Op
    from agent_tt.model import Call, ErrorInfo, Step
    from agent_tt.protocols import RunSource

Where: TypeAlias = Literal["name", "agent", "decision", "error", "call", "arguments", "result", "state"]

_PAGE = 200
"""Steps read at once."""

_BEFORE, _AFTER = 24, 56
"""Characters of an excerpt before and after the beginning of what was found."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One text in which something was found.

    Attributes:
        step: Number of the step that brought the text; 0 is the initial input.
        where: What kind of text it is.
        path: Where in the state, arguments or result, as people write it; empty for other texts.
        excerpt: The text around the first place where it was found; raw, so it must be made safe before it is drawn.
        start: Index into `excerpt` at which the found words begin.
        length: Number of characters found.
        call: Number of the call, for `call`, `arguments`, `result` and an `error` of a call.
    """

    step: int
    where: Where
    path: str
    excerpt: str
    start: int
    length: int
    call: int | None = None


def find(source: RunSource, run_id: str, text: str, *, cancelled: Callable[[], bool] = lambda: False) -> Iterator[Hit]:
    """Search everything a run recorded, lazily and in order of its steps.

    Of the state (and of the messages that a model is sent) only what a step newly brought is searched, so that a text
    is found where it came from and not in every step after that. Upper and lower case are told apart only if `text` has
    upper case.

    Args:
        source: Where the run is.
        run_id: Its id.
        text: What to look for, as it stands.
        cancelled: Asked once a step; the search ends when it says yes.

    Returns:
        One hit for each text that holds it, however often it does.

    Raises:
        UsageError: There is nothing to look for.
    """
    if not text:
        raise UsageError("there is nothing to look for", hint="Give a text of at least one character.")
    flags = re.NOFLAG if any(character.isupper() for character in text) else re.IGNORECASE
    return _search(source, run_id, re.compile(re.escape(text), flags), cancelled)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text to be searched, and what a hit in it is called."""

    where: Where
    text: str
    path: Path = ()
    call: int | None = None


def _search(source: RunSource, run_id: str, pattern: re.Pattern[str], cancelled: Callable[[], bool]) -> Iterator[Hit]:
    yield from _hits(0, pattern, _state_texts(source, run_id, 0))
    start = 1
    asked: dict[str, Wire] = {}
    while steps := source.steps(run_id, start, start + _PAGE):
        for step in steps:
            if cancelled():
                return
            yield from _hits(step.number, pattern, _step_texts(source, run_id, step, asked))
        start = steps[-1].number + 1


def _hits(step: int, pattern: re.Pattern[str], found: Iterable[_Text]) -> Iterator[Hit]:
    for item in found:
        match = pattern.search(item.text)
        if match is None:
            continue
        begin = max(0, match.start() - _BEFORE)
        excerpt = item.text[begin : max(match.start() + _AFTER, match.end())]
        yield Hit(
            step=step,
            where=item.where,
            path=format_path(item.path),
            excerpt=excerpt,
            start=match.start() - begin,
            length=match.end() - match.start(),
            call=item.call,
        )


def _step_texts(source: RunSource, run_id: str, step: Step, asked: dict[str, Wire]) -> Iterator[_Text]:
    """Everything that a step brought.

    Args:
        source: Where the run is.
        run_id: Its id.
        step: The step.
        asked: By lane and name, what a model was asked last; kept up to date.
    """
    yield _Text("name", step.name)
    if step.agent:
        yield _Text("agent", step.agent)
    if step.decision:
        yield _Text("decision", step.decision)
    if step.calls:
        for call in source.calls(run_id, step.number):
            yield from _call_texts(call, asked)
    yield from _error_texts(step.error, None)
    if step.seq is not None:
        yield from _state_texts(source, run_id, step.number)


def _call_texts(call: Call, asked: dict[str, Wire]) -> Iterator[_Text]:
    yield _Text("call", call.name, call=call.number)
    before: Wire = None
    if call.kind == "llm":
        key = f"{call.lane} {call.name}"
        before, asked[key] = asked.get(key), call.args
    for path, text in _new_texts(before, call.args):
        yield _Text("arguments", text, path, call.number)
    for path, text in texts(call.result):
        yield _Text("result", text, path, call.number)
    yield from _error_texts(call.error, call.number)


def _new_texts(before: Wire, now: Wire) -> Iterator[tuple[Path, str]]:
    """The texts of a request, without the entries and leading messages that the request before it had as well."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        yield from texts(now)
        return
    for name, value in now.items():
        old = before.get(name)
        if isinstance(value, list) and isinstance(old, list):
            known = 0
            while known < min(len(old), len(value)) and old[known] == value[known]:
                known += 1
            for index in range(known, len(value)):
                yield from texts(value[index], (name, index))
        elif name not in before or old != value:
            yield from texts(value, (name,))


def _error_texts(error: ErrorInfo | None, call: int | None) -> Iterator[_Text]:
    if error is not None:
        yield _Text("error", f"{error.short}\n{error.message}" if "\n" in error.message else error.short, call=call)


def _state_texts(source: RunSource, run_id: str, step: int) -> Iterator[_Text]:
    """The texts that came into the state with a step; nothing for a checkpoint that cannot be read."""
    try:
        whole = source.state(run_id, step) if source.base_step(run_id, step) is None else None
        ops = [] if whole is not None else source.changes(run_id, step)
    except AgentTTError:  # one damaged checkpoint must not end the search; the timeline flags it
        return
    for path, text in texts(whole):
        yield _Text("state", text, path)
    yield from _op_texts(ops)


def _op_texts(ops: Sequence[Op]) -> Iterator[_Text]:
    for number, op in enumerate(ops):
        for path, value in _brought(op):
            settled = reduce(lambda place, later: path_after(later, place), ops[number + 1 :], path)
            for inner, text in texts(value, settled):
                yield _Text("state", text, inner)


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
