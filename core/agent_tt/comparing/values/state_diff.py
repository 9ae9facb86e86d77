"""Comparing two states under rules that let some differences pass.

The states are compared once. What the rules let pass is set back to what it was in the old state (`setting_back`), and
every format is made of the old state and that one: so all of them leave out the same, and a patch still applies. What
was let pass is listed beside, so that nobody takes it for equal.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.collector import collector_paused
from agent_tt.codec.paths import format_path
from agent_tt.comparing.values.masking import set_back
from agent_tt.comparing.values.states import Change, compare_states
from agent_tt.errors import CorruptDelta

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.values.ignoring import Ignoring, Why
    from agent_tt.comparing.values.masking import Positions

__all__ = ["Ignored", "StateDiff", "diff_states"]


@dataclass(frozen=True, slots=True)
class Ignored:
    """One difference that was let pass.

    Attributes:
        path: Where it is in the new state, as people write it; in the old one where it is not in the new one.
        why: The rule that let it pass.
    """

    path: str
    why: Why

    def to_json(self) -> dict[str, Wire]:
        """`{path, why}`."""
        return {"path": self.path, "why": self.why}


class StateDiff(list[Change]):
    """What differs between two states: a list of changes, and beside it what was let pass.

    Attributes:
        old: The old state, a wire value.
        kept: The new state with all that was let pass as it is in the old one: what the changes lead to.
        ignored: What was let pass, in the order in which it was met.
        unknown: Lists without order, by their paths, of whose items it was not found out in bounded time whether they
            are equal within the tolerance; they are among the changes.
        unmatched: Paths to ignore at which neither state holds anything.
    """

    __slots__ = ("ignored", "kept", "old", "unknown", "unmatched")

    def __init__(
        self,
        changes: Iterable[Change],
        old: Wire,
        kept: Wire,
        ignored: tuple[Ignored, ...] = (),
        unknown: tuple[str, ...] = (),
        unmatched: tuple[str, ...] = (),
    ) -> None:
        super().__init__(changes)
        self.old, self.kept = old, kept
        self.ignored, self.unknown, self.unmatched = ignored, unknown, unmatched

    @property
    def differ(self) -> bool:
        """Whether anything is left that makes the states different."""
        return any(change.makes_a_difference for change in self)

    def to_deepdiff(self) -> dict[str, Wire]:
        """Give the changes as DeepDiff's JSON.

        Raises:
            UsageError: See `deepdiff_format.to_deepdiff`.
        """
        from agent_tt.comparing.values.deepdiff_format import to_deepdiff

        return to_deepdiff(self.old, self.kept)

    def to_delta(self) -> dict[str, Wire]:
        """Give the changes as the JSON of a `deepdiff.Delta`, with `old + Delta == kept`.

        Raises:
            UsageError: DeepDiff has no Delta for them.
        """
        from agent_tt.comparing.values.deepdiff_format import to_delta

        return to_delta(self.old, self.kept)

    def remarks(self) -> list[str]:
        """What has to be said beside the changes, in sentences: what was let pass, and what is not known."""
        said = []
        if self.ignored:
            counts = Counter(one.why for one in self.ignored)
            parts = [f"{counts[why]:,} {words[counts[why] > 1]}" for why, words in _WORDS.items() if counts[why]]
            said.append(f"ignored: {', '.join(parts)}")
        if self.unknown:
            named = ", ".join(path or "the state itself" for path in self.unknown[:_MOST_NAMED])
            more = f" and {len(self.unknown) - _MOST_NAMED:,} more" if len(self.unknown) > _MOST_NAMED else ""
            said.append(
                f"unknown: whether more items are equal within the tolerance in {named}{more}. There are too many to"
                " try all pairs; they are shown as different"
            )
        return said + [f"there is nothing to ignore at {path}, in neither state" for path in self.unmatched]


_MOST_NAMED: Final = 5
_WORDS: Final[dict[Why, tuple[str, str]]] = {
    "path": ("difference at an ignored path", "differences at ignored paths"),
    "order": ("place in another order", "places in another order"),
    "tolerance": ("number within the tolerance", "numbers within the tolerance"),
    "type": ("value of another type", "values of other types"),
}


def diff_states(old: Wire, new: Wire, ignoring: Ignoring | None = None) -> StateDiff:
    """Say what differs between two states, under rules.

    Args:
        old: The old state, a wire value.
        new: The new state.
        ignoring: What does not count; None where everything does.

    Returns:
        The changes as `compare_states` gives them, at their paths in the states that were given.

    Raises:
        CorruptDelta: A value is nested deeper than anything that is ever recorded.
    """
    if not ignoring:
        return StateDiff(compare_states(old, new), old, new)
    try:
        with collector_paused():
            result = set_back(old, new, ignoring)
    except RecursionError as error:
        raise CorruptDelta("the states are nested too deeply to be ones that were recorded") from error
    changes = [_in_new(change, result.positions) for change in compare_states(old, result.kept)]
    ignored = tuple(Ignored(format_path(path), why) for path, why in result.passed)
    given_up = set(result.unknown)
    outermost = [path for path in result.unknown if not any(path[:at] in given_up for at in range(len(path)))]
    unknown = tuple(dict.fromkeys(map(format_path, outermost)))
    return StateDiff(changes, old, result.kept, ignored, unknown, tuple(result.unmatched))


def _in_new(change: Change, positions: Positions) -> Change:
    """A change at its place in the new state: where order does not count, lists were put into that of the old one."""
    if change.op == "remove" or not positions:
        return change
    before: Path = ()
    where: list[str | int] = []
    for step in change.where:
        news = positions.get(before)
        at = news[step] if news is not None and isinstance(step, int) else step
        where.append(step if at is None else at)
        before = (*before, step)
    path = format_path(tuple(where))
    if path == change.path:
        return change
    old_path = None if change.op == "add" else change.old_path or change.path
    return replace(change, path=path, where=tuple(where), old_path=None if old_path == path else old_path)
