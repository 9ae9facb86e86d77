"""The arguments of a call: what a function did to them, and what goes out where a person changed them.

A function may change what it is given. Of its arguments is kept what they were when it was called, and, where that
differs, what they were when it ended.

A person sees arguments as JSON, with marks in place of secrets and text in place of what JSON cannot say. So only what
differs is made anew; beside it the agent's own objects go out, and no mark in place of a secret ever does.
"""

from __future__ import annotations

import copy
import json
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypeVar, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.decode import decode as decoded
from agent_tt.codec.encode import encode
from agent_tt.codec.sameness import common_ends, identical
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.errors import UsageError
from agent_tt.model.facts import CallFacts
from agent_tt.redaction.keyed import keyed_marks_in
from agent_tt.redaction.marks import MARK, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.calls.signature import CallSpec, Parameters


__all__ = [
    "FunctionCall",
    "Given",
    "GivenArguments",
    "bring_to",
    "edited_value",
    "given_arguments",
    "going_out",
    "sent_with",
]

Decode = Callable[["Wire"], object]
P = ParamSpec("P")
R = TypeVar("R")

_WITH_FIELDS: Final = frozenset({"dataclass", "pydantic"})


class GivenArguments:
    """The arguments of one call while it is made."""

    def __init__(
        self, parameters: Parameters, before: Mapping[str, Wire], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> None:
        self._parameters = parameters
        self._before = before
        self._args = args
        self._kwargs = kwargs

    def settled(self, served: Served | None) -> dict[str, Wire]:
        """What the function did to them, for the facts of the call; what `served` in its place did, is done here."""
        if served is None:
            return self.changes()
        self.change_again(served.call.meta, served.value)
        return {}

    def changes(self) -> dict[str, Wire]:
        """What the function did to them, for the facts of the call."""
        objects = self._parameters.objects(self._args, self._kwargs)
        # Most are as they were, and hold no secret. Texts are compared because that is fast, and tells 1 from True.
        if json.dumps(self._before) == json.dumps({name: encode(value) for name, value in objects.items()}):
            return {}
        now = self._parameters.bind(self._args, self._kwargs)
        after = {name: value for name, value in now.items() if not _is_same(self._before.get(name), value)}
        return CallFacts.args_after.entry(after) if after else {}

    def change_again(self, facts: Mapping[str, Wire], decode: Decode) -> None:
        """Do to them what the facts of the recorded call say."""
        after = CallFacts.args_after.of(facts)
        if after:
            objects = self._parameters.objects(self._args, self._kwargs)
            now = self._parameters.bind(self._args, self._kwargs)
            for name in after.keys() & now.keys():
                bring_to(objects[name], now[name], after[name], decode)


def given_arguments(
    parameters: Parameters, named: Mapping[str, Wire], args: Sequence[object], kwargs: Mapping[str, object]
) -> GivenArguments | None:
    """The arguments of a call that begins; None where none of them can be changed.

    Args:
        parameters: those of the function.
        named: the arguments as they are now, by name.
        args: the arguments.
        kwargs: those that were given by name.
    """
    can_change = any(isinstance(value, (list, dict)) for value in named.values())
    return GivenArguments(parameters, named, args, kwargs) if can_change else None


def bring_to(live: object, now: Wire, after: Wire, decode: Decode) -> bool:
    """Change an object in place.

    Args:
        live: the object.
        now: its wire value.
        after: the wire value that it is to have.
        decode: makes Python values of wire values.

    Returns:
        Whether it now is as it should be; False for what cannot be changed in place.
    """
    if _is_same(now, after):
        return True
    if type(live) is list and isinstance(now, list) and isinstance(after, list):
        _bring_list(live, now, after, decode)
        return True
    if not isinstance(now, dict) or not isinstance(after, dict) or now.get(TYPE) != after.get(TYPE):
        return False
    if TYPE not in now:
        return _bring_fields(_Items(live), now, after, decode) if type(live) is dict else False
    if now.get("class") != after.get("class"):
        return False
    if now[TYPE] in _WITH_FIELDS:
        first, last = now.get(VALUE), after.get(VALUE)
        is_whole = isinstance(first, dict) and isinstance(last, dict) and first.keys() == last.keys()
        return is_whole and _bring_fields(_Attributes(live), first, last, decode)  # type: ignore[arg-type]
    return _refill(live, after, decode)


def _bring_list(live: list[Any], now: list[Wire], after: list[Wire], decode: Decode) -> None:
    shorter = min(len(now), len(after))
    start, end = common_ends(now, after, _is_same)
    for index in range(start, shorter - end):
        if not bring_to(live[index], now[index], after[index], decode):
            live[index] = decode(after[index])
    live[shorter - end : len(now) - end] = [decode(item) for item in after[shorter - end : len(after) - end]]


class _Items:
    """A dict, as something with fields."""

    def __init__(self, live: Any) -> None:
        self._live = live

    def get(self, name: str) -> object:
        return self._live.get(name)

    def set(self, name: str, value: object) -> None:
        self._live[name] = value

    def drop(self, name: str) -> None:
        self._live.pop(name, None)


class _Attributes:
    """A dataclass or pydantic object, as something with fields. Nothing of its class runs."""

    def __init__(self, live: object) -> None:
        self._live = live

    def get(self, name: str) -> object:
        return object.__getattribute__(self._live, name)

    def set(self, name: str, value: object) -> None:
        object.__setattr__(self._live, name, value)

    def drop(self, name: str) -> None:
        object.__delattr__(self._live, name)


def _bring_fields(
    live: _Items | _Attributes, now: Mapping[str, Wire], after: Mapping[str, Wire], decode: Decode
) -> bool:
    for name in now:
        if name not in after:
            live.drop(name)
    for name, value in after.items():
        if name not in now or not bring_to(live.get(name), now[name], value, decode):
            live.set(name, decode(value))
    return True


def _refill(live: Any, after: Wire, decode: Decode) -> bool:
    """Give a container that JSON does not know another content; whether it is one that can be refilled."""
    for kind, fill in _REFILLED:
        if isinstance(live, kind):
            wanted = decode(after)
            fill(live, wanted)
            return True
    return False


def _refill_dict(live: dict[object, object], wanted: dict[object, object]) -> None:
    native: Any = OrderedDict if isinstance(live, OrderedDict) else dict
    native.clear(live)
    for key, value in wanted.items():
        native.__setitem__(live, key, value)


def _refill_list(live: list[object], wanted: Sequence[object]) -> None:
    list.__setitem__(live, slice(None), wanted)


def _refill_set(live: set[object], wanted: set[object]) -> None:
    set.clear(live)
    set.update(live, wanted)


def _refill_deque(live: deque[object], wanted: deque[object]) -> None:
    deque.clear(live)
    deque.extend(live, wanted)


_REFILLED: Final[tuple[tuple[type, Callable[[Any, Any], object]], ...]] = (
    (dict, _refill_dict),
    (list, _refill_list),
    (set, _refill_set),
    (deque, _refill_deque),
    (bytearray, lambda live, wanted: bytearray.__setitem__(live, slice(None), wanted)),
)


def _is_same(a: Wire, b: Wire) -> bool:
    """Whether two wire values say the same: `1`, `1.0` and `True` do not; what is recorded only as text does."""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.get(TYPE) == "opaque" == b.get(TYPE):
            return a.get("class") == b.get("class")
        return a.keys() == b.keys() and all(_is_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_is_same, a, b))
    return type(a) is type(b) and a == b


class Given(Protocol):
    """What a call goes out with, where a person may change that."""

    def editable(self, named: Mapping[str, Wire]) -> tuple[str, ...]:
        """Names of the arguments that may be changed."""

    def edited(self, named: Mapping[str, Wire], changed: Mapping[str, Wire], decode: Decode) -> object:
        """What goes out in its place; a `(args, kwargs)` where a function is called.

        Args:
            named: all arguments by name, as the person saw them.
            changed: those that are others now.
            decode: makes Python values.

        Raises:
            NotRebuildable: a value cannot become a Python object.
            UsageError: it cannot go out like this.
        """


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """What a function is called with.

    Attributes:
        parameters: those of the function.
        args, kwargs: the arguments.
    """

    parameters: Parameters
    args: Sequence[object]
    kwargs: Mapping[str, object]

    def editable(self, named: Mapping[str, Wire]) -> tuple[str, ...]:
        """All of its arguments, where its parameters are known."""
        return self.parameters.editable(named)

    def edited(
        self, named: Mapping[str, Wire], changed: Mapping[str, Wire], decode: Decode
    ) -> tuple[Sequence[object], Mapping[str, object]]:
        """What it is called with where a person changed something."""
        args, kwargs = self.args, self.kwargs
        objects = self.parameters.objects(args, kwargs)
        for name, value in changed.items():
            live = edited_value(objects[name], named[name], value, decode, name)
            args, kwargs = self.parameters.replace(args, kwargs, name, live)
        return args, kwargs


def sent_with(function: Callable[P, R], spec: CallSpec, sent: object, key: Wire) -> Callable[P, R]:
    """What to call in place of a function whose arguments are not to go out as the agent gave them.

    Args:
        function: what the agent calls.
        spec: what is known of it.
        sent: the `(args, kwargs)` that a link gives in place of the agent's; None where it gives none.
        key: the idempotency key of an earlier try of this very call; None where there was none.
    """
    if sent is not None:
        args, kwargs = cast("tuple[Sequence[object], Mapping[str, object]]", sent)
        return lambda *_args, **_kwargs: cast("Callable[..., R]", function)(*args, **kwargs)
    if key is None or spec.idempotency_key is None:
        return function
    parameters, name, value = spec.parameters, spec.idempotency_key, decoded(key)

    def send(*args: P.args, **kwargs: P.kwargs) -> R:
        positional, named = parameters.replace(args, kwargs, name, value)
        return cast("Callable[..., R]", function)(*positional, **named)

    return send


def going_out(given: Given | None, spec: CallSpec, sent: object, key: Wire) -> dict[str, object]:
    """The arguments by name with which a function is called; none where no function is.

    Args:
        given: what the agent called it with.
        spec: what is known of the function.
        sent: as of `sent_with`.
        key: as of `sent_with`.
    """
    if not isinstance(given, FunctionCall):
        return {}
    args, kwargs = cast("tuple[Sequence[object], Mapping[str, object]]", sent or (given.args, given.kwargs))
    named = given.parameters.objects(args, kwargs)
    if sent is None and key is not None and spec.idempotency_key is not None:
        named[spec.idempotency_key] = decoded(key)
    return named


def edited_value(live: Any, before: Wire, after: Wire, decode: Decode, path: str) -> object:
    """A value that a person changed.

    Args:
        live: the agent's own; it is left as it is.
        before: how the person saw it.
        after: what that was made.
        decode: makes Python values.
        path: where it stands, for messages.

    Raises:
        NotRebuildable: a value cannot become a Python object.
        UsageError: a mark in place of a secret would go out.
    """
    if identical(before, after):
        return live
    if isinstance(before, list) and isinstance(after, list) and type(live) is list and len(live) == len(before):
        return _edited_list(live, before, after, decode, path)
    if isinstance(before, dict) and isinstance(after, dict) and before.get(TYPE) == after.get(TYPE):
        if TYPE not in before and type(live) is dict:
            return {
                key: edited_value(live[key], before[key], value, decode, f"{path}.{key}")
                if key in before and key in live
                else _made(value, decode, f"{path}.{key}")
                for key, value in after.items()
            }
        first, last = before.get(VALUE), after.get(VALUE)
        is_same_class = before.get(TYPE) in _WITH_FIELDS and before.get("class") == after.get("class")
        if is_same_class and isinstance(first, dict) and isinstance(last, dict) and first.keys() == last.keys():
            return _edited_fields(live, first, last, decode, path)
    return _made(after, decode, path)


def _edited_list(live: list[object], before: list[Wire], after: list[Wire], decode: Decode, path: str) -> list[object]:
    """A list, of which the items at its beginning and end that stayed the same are the agent's own."""
    start, end = common_ends(before, after)
    is_as_long = len(before) == len(after)
    middle = [
        edited_value(live[index], before[index], after[index], decode, f"{path}[{index}]")
        if is_as_long
        else _made(after[index], decode, f"{path}[{index}]")
        for index in range(start, len(after) - end)
    ]
    return [*live[:start], *middle, *live[len(live) - end :]]


def _edited_fields(
    live: object, before: Mapping[str, Wire], after: Mapping[str, Wire], decode: Decode, path: str
) -> object:
    """A copy of an object with some fields changed. Nothing of its class runs but what `copy` asks."""
    changed = copy.copy(live)
    for name, value in after.items():
        if not identical(before[name], value):
            was = object.__getattribute__(live, name)
            object.__setattr__(changed, name, edited_value(was, before[name], value, decode, f"{path}.{name}"))
    return changed


def _made(wire: Wire, decode: Decode, path: str) -> object:
    where = _mark_in(wire, path)
    if where is not None:
        raise UsageError(
            f"{where} is a mark in place of a secret", hint="write the secret itself, or leave it unchanged"
        )
    return decode(wire)


def _mark_in(wire: Wire, path: str) -> str | None:
    """Where a mark stands in a value; None where none does."""
    if isinstance(wire, str):
        return path if MARK in canonical(wire) or keyed_marks_in(wire) else None
    items: Sequence[tuple[str, Wire]] = ()
    if isinstance(wire, list):
        items = [(f"{path}[{index}]", item) for index, item in enumerate(wire)]
    elif isinstance(wire, dict):
        items = [(f"{path}.{key}", item) for key, item in wire.items()]
    return next((found for below, item in items if (found := _mark_in(item, below)) is not None), None)
