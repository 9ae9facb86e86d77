"""A difference between two states as a JSON Patch (RFC 6902), for other programs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from agent_tt.history.diff import diff
from agent_tt.history.ops import apply, op_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.ops import Op


def to_json_patch(a: Wire, b: Wire) -> list[dict[str, Wire]]:
    """Give the patch that turns `a` into `b`.

    Args:
        a: The old state, a wire value; typed values are patched inside their envelopes.
        b: The new state.

    Returns:
        Operations `add`, `remove`, `replace` and `move`. JSON objects have no order: a dict that differs only in the
        order of its keys needs no operation.
    """
    patch: list[dict[str, Wire]] = []
    state = copy.deepcopy(a)
    for op in diff(a, b):
        if op[0] == "t":
            # There is no operation for a longer string: it is replaced by what it has become.
            state = apply(state, [op])
            patch.append({"op": "replace", "path": pointer(op_path(op)), "value": _at(state, op_path(op))})
        else:
            patch += _translate(op, state)
            state = apply(state, [copy.deepcopy(op)])
    return patch


def pointer(path: Path) -> str:
    """Write a path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _translate(op: Op, state: Wire) -> Iterator[dict[str, Wire]]:
    """One operation, given the state before it."""
    path = op_path(op)
    where = pointer(path)
    match op:
        case ["s", _, value]:
            yield {"op": "replace" if _exists(state, path) else "add", "path": where, "value": value}
        case ["d", _]:
            yield {"op": "remove", "path": where}
        case ["a", _, _, list(items)]:
            yield from ({"op": "add", "path": f"{where}/-", "value": item} for item in items)
        case ["x", _, int(start), int(removed), list(items)]:
            replaced = min(removed, len(items))
            for index in range(start, start + replaced):
                yield {"op": "replace", "path": f"{where}/{index}", "value": items[index - start]}
            for _ in range(removed - replaced):
                yield {"op": "remove", "path": f"{where}/{start + replaced}"}
            for index in range(replaced, len(items)):
                yield {"op": "add", "path": f"{where}/{start + index}", "value": items[index]}
        case ["m", _, list(target)]:
            steps = tuple(step for step in target if isinstance(step, (str, int)))
            yield {"op": "move", "from": where, "path": pointer(steps)}
        case _:
            return


def _at(root: Wire, path: Path) -> Wire:
    """The value at a place that is known to be there."""
    for step in path:
        root = _child(root, step)
    return root


def _child(node: Wire, step: str | int) -> Wire:
    if isinstance(node, dict) and isinstance(step, str):
        return node[step]
    return node[step] if isinstance(node, list) and isinstance(step, int) else None


def _exists(root: Wire, path: Path) -> bool:
    if not path:
        return True
    parent = _at(root, path[:-1])
    return not isinstance(parent, dict) or path[-1] in parent
