"""A state as rows of a tree: what is unfolded, marked with what changed, flattened no further than it is looked at."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import field
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt_tui.viewmodel.values.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt_tui.viewmodel.values.parts import Parts

Mark: TypeAlias = Literal["", "+", "~", "-"]
"""What happened to a value: nothing, added, changed (itself or inside), removed."""

_Kind: TypeAlias = Literal["parts", "unchanged", "removed"]

LEAST_FOLDED: Final = 3
"""Fewer unchanged neighbours than this are not worth folding into a row."""

_MARKS: Final[Mapping[str, Mark]] = {"add": "+", "remove": "-"}


@dataclass(slots=True)
class Folds:
    """What a person unfolded, kept while the state under it changes, and what is unfolded for the state that is shown.

    Attributes:
        open: Paths of values that a person unfolded; the whole state always is.
        unchanged: Paths of values whose unchanged parts are shown although rows are short.
        arrival: Paths of values that are unfolded because of what this state is, until another is shown.
        closed: Paths of those that a person folded again.
    """

    open: set[Path] = field(default_factory=set)
    unchanged: set[Path] = field(default_factory=set)
    arrival: set[Path] = field(default_factory=set)
    closed: set[Path] = field(default_factory=set)

    @property
    def shown(self) -> set[Path]:
        """Paths of all values that are unfolded."""
        return self.open | (self.arrival - self.closed)

    def unfold(self, path: Path) -> None:
        """Unfold a value, in this state and in others."""
        self.open.add(path)
        self.closed.discard(path)

    def fold(self, path: Path) -> None:
        """Fold a value, and forget nothing of what is unfolded inside it."""
        self.open.discard(path)
        self.unchanged.discard(path)
        self.closed.add(path)


class Changes:
    """Changes by where they are, for marks and counts."""

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self.own: dict[Path, Change] = {}
        """By path, what happened to a value itself; what was removed is in `removed`."""
        self.removed: dict[Path, list[Change]] = {}
        """By the path of the container that held it, what is gone."""
        self._inside: dict[Path, Counter[Mark]] = {}
        self._touched: dict[Path, set[str | int]] = {}
        for change in changes:
            mark = _MARKS.get(change.op, "~")
            if mark == "-":
                self.removed.setdefault(change.where[:-1], []).append(change)
            else:
                self.own[change.where] = change
            for depth, step in enumerate(change.where):
                above = change.where[:depth]
                self._inside.setdefault(above, Counter())[mark] += 1
                if mark != "-" or depth < len(change.where) - 1:
                    self._touched.setdefault(above, set()).add(step)

    def mark(self, path: Path) -> Mark:
        """The mark of a value: everything inside what is new is new."""
        if path in self.own:
            return _MARKS.get(self.own[path].op, "~")
        above = (self.own.get(path[:depth]) for depth in range(len(path)))
        if any(change is not None and change.op == "add" for change in above):
            return "+"
        return "~" if path in self._inside else ""

    def inside(self, path: Path) -> Mapping[Mark, int]:
        """How many changes of each kind there are inside a value."""
        return self._inside.get(path, {})

    @property
    def containers(self) -> list[Path]:
        """Where something changed inside, but for the whole state: outer values first, in the order of the changes."""
        return sorted((path for path in self._inside if path), key=len)

    def touched(self, container: Path) -> Iterable[str | int]:
        """The steps from a container to what changed, itself or inside."""
        return self._touched.get(container, ())


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One row.

    Attributes:
        kind: A value, several unchanged ones folded into a row, or a value that is gone.
        path: Where the value is, in wire coordinates; of other kinds, where the value is that holds them.
        depth: How far it is indented; 0 for the parts of the state.
        key: Its name or position, any text.
        value: The value; of one that is gone, the old one.
        mark: What happened to it.
        change: What happened to the value itself; None if nothing.
        inside: How many changes of each kind there are inside it.
        unfolds: Whether it has parts.
        open: Whether they are shown.
        span: Of folded neighbours, the first and the last position.
    """

    kind: Literal["value", "unchanged", "removed"]
    path: Path
    depth: int
    key: str
    value: Wire
    mark: Mark = ""
    change: Change | None = None
    inside: Mapping[Mark, int] = field(default_factory=dict)
    unfolds: bool = False
    open: bool = False
    span: tuple[int, int] = (0, 0)


class Tree:
    """The rows of a state. Rows are made when they are asked for; only unfolded values cost anything before."""

    def __init__(
        self, state: Wire, changes: Changes, folds: Folds, *, fold_from: int | None = None, keep: Path | None = None
    ) -> None:
        """Flatten a state.

        Args:
            state: The state.
            changes: What changed in it.
            folds: What is unfolded.
            fold_from: Unchanged neighbours of a change are folded when there are more rows than this; None for never.
            keep: A path that is not folded away with its unchanged neighbours.
        """
        self._changes, self._folds, self._keep = changes, folds, keep
        self._open = folds.shown
        self._fold_unchanged = False
        self._root = self._whole(state)
        if fold_from is not None and len(self) > fold_from:
            self._fold_unchanged = True
            self._root = self._whole(state)

    def __len__(self) -> int:
        return self._root.rows if self._root is not None else 0

    def row(self, index: int) -> TreeRow:
        """Make a row.

        Raises:
            IndexError: There is no such row.
        """
        if self._root is None or not 0 <= index < self._root.rows:
            raise IndexError(index)
        return self._row(self._root, index)

    def find(self, path: Path) -> tuple[int, bool]:
        """Find the row of a path.

        Returns:
            The row, or that of the nearest value above it that has one, and whether it is the path's own. Where the
            nearest is the whole state, which has no row, -1.
        """
        row, branch = -1, self._root
        while branch is not None:
            if len(path) <= len(branch.path):
                return row, False  # a place inside an envelope, or the whole state, which has no row
            part = branch.parts.find(path[len(branch.path) :])
            if part is None:
                return row, False
            segment_number = branch.segment_of(part)
            segment = branch.segments[segment_number]
            row += 1 + branch.starts[segment_number]
            if segment.kind == "unchanged":
                return row, False
            if segment.branch is None:
                return row + part - segment.first, path == branch.child(part)
            if path == segment.branch.path:
                return row, True
            branch = segment.branch
        return row, False

    def _whole(self, state: Wire) -> _Branch | None:
        parts = parts_of(state)
        return None if parts is None else self._branch((), parts, 0, list(self._open))

    def _branch(self, path: Path, parts: Parts, depth: int, open_below: Sequence[Path]) -> _Branch:
        """Lay out an unfolded value.

        Args:
            path: Where it is.
            parts: Its parts.
            depth: Indentation of its parts.
            open_below: Paths of unfolded values, among them all that are inside it.
        """
        inside: dict[int, list[Path]] = {}
        for candidate in open_below:
            if len(candidate) > len(path) and candidate[: len(path)] == path:
                part = parts.find(candidate[len(path) :])
                if part is not None:
                    inside.setdefault(part, []).append(candidate)
        branches: dict[int, _Branch] = {}
        for part, candidates in inside.items():
            child = path + parts.steps(part)
            child_parts = parts_of(parts.value(part)) if child in self._open else None
            if child_parts is not None:
                branches[part] = self._branch(child, child_parts, depth + 1, candidates)
        container = path + parts.inside
        touched = {parts.position(step) for step in self._changes.touched(container)} - {None}
        segments: list[_Segment] = []
        at = 0
        stops = sorted({part for part in touched if part is not None} | set(branches) | self._kept(path, parts))
        folds = self._fold_unchanged and parts.numbered and bool(touched) and path not in self._folds.unchanged
        for stop in [*stops, len(parts)]:
            if stop > at:
                kind: _Kind = "unchanged" if folds and stop - at >= LEAST_FOLDED else "parts"
                segments.append(_Segment(kind, at, stop - at))
            if stop < len(parts):
                segments.append(_Segment("parts", stop, 1, branches.get(stop)))
            at = stop + 1
        gone = self._changes.removed.get(container, ())
        if gone:
            segments.append(_Segment("removed", len(parts), len(gone), gone=tuple(gone)))
        return _Branch(path, parts, depth, segments)

    def _kept(self, path: Path, parts: Parts) -> set[int]:
        keep = self._keep
        part = parts.find(keep[len(path) :]) if keep is not None and keep[: len(path)] == path else None
        return set() if part is None else {part}

    def _row(self, branch: _Branch, index: int) -> TreeRow:
        number = bisect_right(branch.starts, index) - 1
        segment, offset = branch.segments[number], index - branch.starts[number]
        if segment.kind == "unchanged":
            last = segment.first + segment.count - 1
            return TreeRow("unchanged", branch.path, branch.depth, "", None, span=(segment.first, last))
        if segment.kind == "removed":
            change = segment.gone[offset]
            key = str(change.where[-1])
            return TreeRow("removed", branch.path, branch.depth, key, change.old, mark="-", change=change)
        if segment.branch is not None and offset:
            return self._row(segment.branch, offset - 1)
        part = segment.first + (0 if segment.branch is not None else offset)
        path, value = branch.child(part), branch.parts.value(part)
        return TreeRow(
            "value",
            path,
            branch.depth,
            branch.parts.label(part),
            value,
            mark=self._changes.mark(path),
            change=self._changes.own.get(path),
            inside=self._changes.inside(path),
            unfolds=parts_of(value) is not None,
            open=segment.branch is not None,
        )


@dataclass(frozen=True, slots=True)
class _Segment:
    """Consecutive rows of a value's parts: folded parts of a row each, one unfolded part, or one row for several.

    Attributes:
        kind: Which of these; an unfolded part is one of the `parts` and has a `branch`.
        first: Position of the first part.
        count: How many parts.
        branch: What the part is unfolded into.
        gone: What was removed.
    """

    kind: _Kind
    first: int
    count: int
    branch: _Branch | None = None
    gone: tuple[Change, ...] = ()

    @property
    def rows(self) -> int:
        if self.branch is not None:
            return 1 + self.branch.rows
        return 1 if self.kind == "unchanged" else self.count


class _Branch:
    """An unfolded value."""

    __slots__ = ("depth", "firsts", "parts", "path", "rows", "segments", "starts")

    def __init__(self, path: Path, parts: Parts, depth: int, segments: list[_Segment]) -> None:
        self.path, self.parts, self.depth, self.segments = path, parts, depth, segments
        ends = list(accumulate(segment.rows for segment in segments))
        self.rows = ends[-1] if ends else 0
        self.starts = [0, *ends[:-1]]
        self.firsts = [segment.first for segment in segments]

    def child(self, part: int) -> Path:
        """The path of a part."""
        return self.path + self.parts.steps(part)

    def segment_of(self, part: int) -> int:
        """Which segment a part is in."""
        return bisect_right(self.firsts, part) - 1
