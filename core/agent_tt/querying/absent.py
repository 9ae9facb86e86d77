"""What is said of a path at which there is nothing: when there was something, or which paths are like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.errors import AgentTTError, InvalidPath, PathNotFound
from agent_tt.querying.expressions import Expression, tree
from agent_tt.querying.unread import is_closed
from agent_tt.querying.watches.step_search import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Step
    from agent_tt.protocols import RunSource

__all__ = ["not_there"]

_MOST_PATHS: Final = 5_000
_MOST_KEYS: Final = 12
_MOST_STEPS: Final = 20_000
"""Steps of a run whose states are not searched for a path that one of them does not have."""


def not_there(
    source: RunSource, run_id: str, state: Wire, text: str, step: int, error: InvalidPath | PathNotFound
) -> AgentTTError:
    """What to say of a path that leads nowhere in a checkpoint, or that cannot be read.

    Args:
        source: where the run is.
        run_id: the run.
        state: the checkpoint's state.
        text: the path as it was typed.
        step: the checkpoint.
        error: what was wrong with it.
    """
    quoted = _quoted(state, text)
    if quoted is not None:
        hint = f"Did you mean {quoted}?"
        if isinstance(error, InvalidPath):
            return InvalidPath(error.message, text=error.text, position=error.position, hint=hint)
        return PathNotFound(error.message, hint=hint, nearest=[quoted])
    if isinstance(error, InvalidPath):
        return error
    path = _read(text)
    if path is not None and _is_closed_on(state, path):
        return PathNotFound(
            f"whether there is {text} after step {step} is not known: values there are encrypted or pickled",
            hint="agent-tt never decrypts or unpickles what it reads.",
        )
    when = None if path is None else _when(source, run_id, path, step)
    if when is not None:
        return PathNotFound(f"there is no {text} after step {step}: {when[0]}", hint=when[1])
    if error.hint or not path:
        return error
    near = _like(state, path)
    if near:
        return PathNotFound(error.message, hint=f"Did you mean {' or '.join(near)}?", nearest=near)
    return PathNotFound(error.message, hint=_keys_above(state, path))


def _is_closed_on(state: Wire, path: Path) -> bool:
    """Whether the way along a path ends at a value that stays closed."""
    value = state
    for part in path:
        is_in_list = isinstance(value, list) and isinstance(part, int) and -len(value) <= part < len(value)
        if not is_in_list and (not isinstance(value, dict) or is_closed(value) or part not in value):
            break
        value = value[part]  # type: ignore[index]  # as was looked
    return is_closed(value)


def _read(text: str) -> Path | None:
    """A path as it was typed; of one that counts from the end nothing can be said at other steps."""
    try:
        return parse_path(text.removeprefix("state."))
    except InvalidPath:
        return None


def _quoted(state: Wire, text: str) -> str | None:
    """The path with its odd keys in quotes, where these are what was meant: `odd key.x` is `["odd key"].x`."""
    keys = tuple(text.split("."))
    for path in (keys, (text,)):
        try:
            to_wire_path(state, path)
        except AgentTTError:
            continue
        written = format_path(path)
        return None if written == text else written
    return None


def _when(source: RunSource, run_id: str, path: Path, step: int) -> tuple[str, str] | None:
    """When there was something at a path: what happened, and what to ask instead."""
    if not path or source.step_count(run_id) > _MOST_STEPS:
        return None
    fact = tree.Applied("exists", tree.Fact("state", path))
    watch = Watch(source, run_id, Expression(format_path(path), fact, frozenset({path}), frozenset(), asks_calls=False))
    earlier = watch.previous(step)
    if earlier is not None:
        gone = _took_away(source, run_id, earlier)
        if gone is None:
            return f"it was there after step {earlier}", f"Ask about it at {earlier}."
        said = f"step {gone.number} ({gone.name}) took it away"
        return said, f"It is there up to step {earlier}: ask about it at {earlier}."
    later = watch.next(step)
    if later is None:
        return None
    damaged = {*source.damaged_steps(run_id)}
    is_first = not any(each.is_unkept or each.number in damaged for each in source.steps(run_id, step + 1, later))
    said = f"step {later} is the first after which it is there" if is_first else f"it is there after step {later}"
    return said, f"Ask about it at {later}."


def _took_away(source: RunSource, run_id: str, last: int) -> Step | None:
    """The step that took away what was there last after another one; None where nobody knows which it was.

    That is the next one, where its state is kept, and goes on from that of the other: of one with a state of its own
    that is not so.
    """
    (step,) = source.steps(run_id, last + 1, last + 2)
    is_read = not step.is_unkept and step.number not in source.damaged_steps(run_id)
    return step if is_read and source.base_step(run_id, step.number) == last else None


def _like(state: Wire, path: Path) -> list[str]:
    """Paths elsewhere in the state that end with the same key, or with one that is much like it."""
    import difflib

    wanted = path[_depth_of(state, path)]
    if not isinstance(wanted, str):
        return []
    known: dict[str, list[str]] = {}
    for each in _paths(state):
        known.setdefault(str(each[-1]), []).append(format_path(each))
    names = [wanted] if wanted in known else difflib.get_close_matches(wanted, known, n=2, cutoff=0.7)
    return [written for name in names for written in known[name][:2]][:3]


def _paths(state: Wire) -> Iterator[Path]:
    """The paths of all keys, as people write them."""
    waiting: list[tuple[Path, Wire]] = [((), state)]
    for _ in range(_MOST_PATHS):
        if not waiting:
            return
        where, node = waiting.pop(0)
        if isinstance(node, dict) and TYPE in node:
            inside = node.get(VALUE)
            if isinstance(inside, list) and node[TYPE] == "dict":
                inside = {pair[0]: pair[1] for pair in inside if isinstance(pair, list) and isinstance(pair[0], str)}
            waiting.append((where, inside))
        elif isinstance(node, dict):
            for key, item in node.items():
                yield (*where, key)
                waiting.append(((*where, key), item))
        elif isinstance(node, list):
            waiting += [((*where, position), item) for position, item in enumerate(node[:50])]


def _depth_of(state: Wire, path: Path) -> int:
    """How many steps of a path lead somewhere."""
    for depth in range(len(path) - 1, 0, -1):
        try:
            to_wire_path(state, path[:depth])
        except AgentTTError:
            continue
        return depth
    return 0


def _keys_above(state: Wire, path: Path) -> str:
    """What there is where a path ends."""
    depth = _depth_of(state, path)
    part = get(state, to_wire_path(state, path[:depth]))
    part = part.get(VALUE) if isinstance(part, dict) and TYPE in part else part
    if isinstance(part, list) and part and all(isinstance(pair, list) and len(pair) == 2 for pair in part):
        part = {pair[0]: None for pair in part if isinstance(pair, list) and isinstance(pair[0], str)}
    if not isinstance(part, dict) or not part:
        return ""
    keys = [format_path((key,)) for key in part][:_MOST_KEYS]
    more = f" and {len(part) - _MOST_KEYS} more" if len(part) > _MOST_KEYS else ""
    return f"{format_path(path[:depth]) or 'The state'} has {', '.join(keys)}{more}."
