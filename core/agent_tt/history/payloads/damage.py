"""Values that cannot be read: what stands in their place, and how later operations get around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import get
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.errors import PathNotFound
from agent_tt.history.changes.ops import apply, op_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.carried import Carried
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op

__all__ = ["apply_around", "find_placeholder", "is_placeholder", "placeholder"]


def placeholder(why: str) -> dict[str, Wire]:
    """What is shown where a value cannot be read. No recorded value looks like it: dicts with `$type` are enveloped."""
    return {TYPE: "damaged", "why": why, VALUE: None}


def is_placeholder(value: Wire) -> bool:
    """Whether `value` stands for one that cannot be read."""
    return isinstance(value, dict) and value.get(TYPE) == "damaged"


def find_placeholder(value: Wire, whole: Carried[bool] | None = None) -> Path | None:
    """The path of something in `value` that cannot be read; None if all can. Visits all of it.

    Args:
        value: any value.
        whole: objects and lists of which all can be read, and which are not visited again; more are added.
    """
    pending: list[tuple[Path, Wire]] = [((), value)]
    objects: list[dict[str, Wire]] = []
    lists: list[list[Wire]] = []
    while pending:
        path, item = pending.pop()
        if isinstance(item, dict):
            if whole is not None:
                if whole.get(item):
                    continue
                objects.append(item)
            if is_placeholder(item):
                return path
            pending.extend(((*path, key), child) for key, child in item.items() if isinstance(child, dict | list))
        elif isinstance(item, list):
            start = 0
            if whole is not None:
                start, _ = whole.begun(item)
                lists.append(item)
            pending.extend(
                ((*path, at), child) for at, child in enumerate(item[start:], start) if isinstance(child, dict | list)
            )
    if whole is not None:
        for each in objects:
            whole.keep(each, found=True)
        for items in lists:
            whole.keep_list(items, found=True)
    return None


def apply_around(root: Wire, ops: Iterable[Op]) -> Wire:
    """Like `apply`, for a state that holds placeholders: what was done inside a damaged value is left out.

    A value moved out of a damaged one is damaged too.

    Raises:
        CorruptDelta: an operation on readable parts does not fit.
    """
    for op in ops:
        path = op_path(op)
        inside = op[0] not in ("s", "d", "m")  # these replace or take what is at the path, the others reach into it
        if not _through_damage(root, path if inside else path[:-1]):
            root = apply(root, [op])
        elif op[0] == "m":
            root = apply(root, [["s", op[2], placeholder("it was moved out of a damaged value")]])
    return root


def _through_damage(root: Wire, path: Path) -> bool:
    for step in path:
        if is_placeholder(root):
            return True
        try:
            root = get(root, (step,))
        except PathNotFound:
            return False
    return is_placeholder(root)
