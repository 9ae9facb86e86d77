"""Which recorded calls are those of a tool as models know it: by name, by what it was given, by what it gave.

The tool `lookup` may be recorded as `my_app.tools.lookup`, `lookup.call` or `server lookup`, and models may know it as
`server_lookup`. A function through which a framework calls all of its tools is known by its arguments, or its result.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.codec.wire import is_envelope
from agent_tt.providers.chat_form import text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt.providers.shapes import Asked, Json

__all__ = ["ToolCalls", "is_named"]

_DRAWN: Final = frozenset({"clock", "rng", "id", "env"})
_NO_WORD: Final = lazy_re(r"[^0-9a-z]+")
_BETWEEN_NAMES: Final = lazy_re(r"[.\s/:]+")
_ADDRESS: Final = "://"
_LEAST_TEXT: Final = 12
"""Characters from which on two results that are the same are no accident."""


class ToolCalls:
    """The recorded calls of a run that may be those of tools, by their positions among all calls.

    Args:
        calls: positions and calls, in order.
        tools: the names of all tools that models know. A call by such a name is that tool's, whatever it was given.
    """

    def __init__(self, calls: Iterable[tuple[int, Call]], tools: Collection[str]) -> None:
        self._named: dict[str, list[int]] = defaultdict(list)
        self._last: dict[str, list[int]] = defaultdict(list)
        self._given: dict[str, list[int]] = defaultdict(list)
        self._results: dict[str, list[int]] = defaultdict(list)
        self._tools = {_plain(tool) for tool in tools}
        for at, call in calls:
            if call.kind in _DRAWN or _ADDRESS in call.name:
                continue
            names = [_plain(part) for part in _BETWEEN_NAMES.split(call.name)]
            for name in dict.fromkeys(names):
                self._named[name].append(at)
            self._last[names[-1]].append(at)
            if self._tools.isdisjoint(names):
                _note(self._given, _arguments_in(call.args), at)
                _note(self._results, _texts_in(call.result), at)

    def has(self, tool: str) -> bool:
        """Whether any call is the tool's, by its name."""
        return any(places for places in self._by_name(tool))

    def after(self, asked: Asked, at: int) -> int | None:
        """The position of the first call after another one that is the tool's, by name or arguments; None for none."""
        by_arguments = () if not asked.arguments else self._given.get(_text(asked.arguments), ())
        found = [_first_after(places, at) for places in (*self._by_name(asked.name), by_arguments)]
        return min((place for place in found if place is not None), default=None)

    def gave(self, answer: str, at: int) -> bool:
        """Whether a call after a position, that is no other tool's by its name, gave an answer."""
        wanted = answer.strip()
        return len(wanted) >= _LEAST_TEXT and _first_after(self._results.get(wanted, ()), at) is not None

    def _by_name(self, tool: str) -> Iterator[Sequence[int]]:
        wanted = _plain(tool)
        yield self._named.get(wanted, ())
        parts = wanted.split("_")
        for begin in range(1, len(parts)):  # a framework may put the server's name before it
            name = "_".join(parts[begin:])
            if name not in self._tools:
                yield self._last.get(name, ())


def is_named(tool: str, call: str) -> bool:
    """Whether calls of that name are those of a tool as models know it."""
    wanted, names = _plain(tool), [_plain(part) for part in _BETWEEN_NAMES.split(call)]
    return wanted in names or (bool(names[-1]) and wanted.endswith(f"_{names[-1]}"))


def _first_after(places: Sequence[int], at: int) -> int | None:
    index = bisect_right(places, at)
    return places[index] if index < len(places) else None


def _note(places: Mapping[str, list[int]], keys: Iterable[str], at: int) -> None:
    for key in dict.fromkeys(keys):
        if key:
            places[key].append(at)


def _arguments_in(args: Wire) -> Iterator[str]:
    """What may be the arguments that a model gave: all that a call was given, one of them, or one of those in it."""
    if not isinstance(args, dict):
        return
    inner = args.get("params")
    for value in (args, *args.values(), *(inner.values() if isinstance(inner, dict) else ())):
        found = _parsed(value) if isinstance(value, str) and value[:1] == "{" else value
        if isinstance(found, dict) and found and not is_envelope(found):
            yield _text(found)


def _texts_in(result: Wire) -> Iterator[str]:
    """What a model may be told of a result."""
    if isinstance(result, str):
        yield result.strip()
    elif result is not None:
        yield _text(result)
        yield _text(result, in_order=False)
        yield text_of(result.get("content") if isinstance(result, dict) else result).strip()


def _text(value: Wire | Json, *, in_order: bool = True) -> str:
    """A value as JSON, by default blind to the order of its keys; "" of one that is nested too deeply."""
    try:
        return json.dumps(value, sort_keys=in_order, ensure_ascii=False)
    except RecursionError:
        return ""


def _parsed(value: str) -> Wire:
    try:
        found: Wire = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found


def _plain(name: str) -> str:
    return _NO_WORD.sub("_", name.lower()).strip("_")
