"""What is kept of a state object: a tree of values as it is, what `get_state()` gives, else its attributes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final, Protocol, TypeGuard

from agent_tt.codec.looking import seen
from agent_tt.codec.parts import take_apart
from agent_tt.codec.tracked import TRACKED

if TYPE_CHECKING:
    from collections.abc import Iterator

_TREES: Final = frozenset({dict, list, tuple, str, int, float, bool, bytes, set, type(None), *TRACKED})


class _GivesState(Protocol):
    def get_state(self) -> object: ...


def snapshot(state: object, *, is_agent: bool = False) -> object:
    """The value that stands for `state` in its history.

    Dicts, lists and every other value that can be rebuilt stand for themselves. Any other object is asked for
    `get_state()`; one without it is the dict of its attributes, without those that are no data (clients, locks,
    functions): a restore could not make them again.

    Args:
        state: the state object.
        is_agent: it is the agent itself, which a restore makes anew and gives these attributes: even a dataclass is
            then kept as its attributes.

    Raises:
        Exception: whatever `get_state` raises.
    """
    if type(state) in _TREES:
        return state
    if gives_state(state):
        return state.get_state()
    if not is_agent and (_is_data(state) or inspect.isroutine(state) or isinstance(state, type)):
        return state
    return {name: value for name, value in _attributes(state) if _is_data(value)}


def gives_state(state: object) -> TypeGuard[_GivesState]:
    """Whether an object says itself what its state is."""
    return callable(getattr(type(state), "get_state", None))


def _is_data(value: object) -> bool:
    """Whether the codec has a rule for a value itself, whatever it holds inside."""
    return type(value) in _TREES or seen(lambda: take_apart(value) is not None, otherwise=False)


def _attributes(state: object) -> Iterator[tuple[str, object]]:
    own: dict[str, object] = dict(getattr(state, "__dict__", {}))
    yield from own.items()
    for cls in type(state).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in own and not name.startswith("__") and hasattr(state, name):
                yield name, getattr(state, name)
