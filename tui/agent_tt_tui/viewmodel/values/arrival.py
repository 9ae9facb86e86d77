"""What of a state is unfolded when it comes on screen: what changed in it, then whatever there are rows for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt_tui.viewmodel.values.parts import parts_of
from agent_tt_tui.viewmodel.values.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt_tui.viewmodel.values.tree import Changes, Folds

MOST_TRIED: Final = 24
"""How many values are tried of each kind: each takes a layout of the tree."""


def unfold_changes(state: Wire, changes: Changes, folds: Folds, rows: int) -> None:
    """Unfold what changed and what is new, as far as there are rows; `folds.arrival` is made anew.

    Args:
        state: the state.
        changes: what changed in it.
        folds: what a person unfolded.
        rows: how many rows there are.
    """
    folds.arrival = set()
    room = rows - len(_tree(state, changes, folds, rows))
    if room <= 0:
        return
    changed = changes.containers
    folds.arrival = set(changed) if len(changed) <= room else set()  # each takes a row at least
    if len(changed) > room or len(_tree(state, changes, folds, rows)) > rows:
        folds.arrival = set()
        _take(state, changes, folds, rows, changed[:MOST_TRIED])
    new = (path for path, change in changes.own.items() if change.op == "add" and parts_of(change.new) is not None)
    _take(state, changes, folds, rows, _first(new))


def unfold_rest(state: Wire, changes: Changes, folds: Folds, rows: int) -> None:
    """Unfold values in which nothing changed, the smallest first, as far as there are rows left."""
    parts = parts_of(state)
    if parts is None or len(parts) > rows:
        return
    sizes: list[tuple[int, Path]] = []
    for index in range(len(parts)):
        inner, path = parts_of(parts.value(index)), parts.steps(index)
        if inner is not None and path not in folds.arrival and len(inner) <= rows:
            sizes.append((len(inner), path))
    _take(state, changes, folds, rows, (path for _, path in sorted(sizes, key=lambda size: size[0])[:MOST_TRIED]))


def _take(state: Wire, changes: Changes, folds: Folds, rows: int, paths: Iterable[Path]) -> None:
    for path in paths:
        tried = replace(folds, arrival={*folds.arrival, path})
        if len(_tree(state, changes, tried, rows)) <= rows:
            folds.arrival.add(path)


def _tree(state: Wire, changes: Changes, folds: Folds, rows: int) -> Tree:
    return Tree(state, changes, folds, fold_from=rows)


def _first(paths: Iterator[Path]) -> Iterator[Path]:
    for _, path in zip(range(MOST_TRIED), paths, strict=False):
        yield path
