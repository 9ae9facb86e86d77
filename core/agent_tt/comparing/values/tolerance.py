"""Comparing two values with the tolerances of DeepDiff, under its names: the verdict is DeepDiff's own.

Without any of them two values are equal when they are the same, exactly as `compare_states` says.
"""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.decode import decode
from agent_tt.codec.paths import format_path
from agent_tt.comparing.values.states import compare_states
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["TYPE_NAMES", "Difference", "Tolerance", "shown"]

_TYPES: Final[Mapping[str, type]] = {
    each.__name__: each
    for each in (int, float, bool, str, bytes, list, tuple, dict, set, frozenset, Decimal, date, datetime, type(None))
}
TYPE_NAMES: Final = tuple(_TYPES)
"""The types that `ignore_type_in_groups` can name."""

_MOST_SHOWN: Final = 200
"""Characters of a value that are shown of it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two values differ.

    Attributes:
        path: as people write it; "" for the value itself.
        old: the expected value as text, shortened; None where none was expected.
        new: the value that came; None where none did.
    """

    path: str
    old: str | None
    new: str | None

    def to_json(self) -> dict[str, Wire]:
        """`{path, old, new}`, the values as text."""
        return {"path": self.path, "old": self.old, "new": self.new}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What does not count when two values are compared; each field is DeepDiff's parameter of that name.

    Attributes:
        ignore_order: the order of the items of lists.
        exclude_paths: places, as DeepDiff writes them: `root['id']`.
        exclude_regex_paths: the same as regular expressions, searched for in such a path.
        significant_digits: digits behind the point of numbers that count.
        ignore_type_in_groups: groups of types, by `TYPE_NAMES`, between which the type does not count.
    """

    ignore_order: bool = False
    exclude_paths: tuple[str, ...] = ()
    exclude_regex_paths: tuple[str, ...] = ()
    significant_digits: int | None = None
    ignore_type_in_groups: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        """Check what a file or a person may have written.

        Raises:
            UsageError: a pattern or a type cannot be used.
        """
        for pattern in self.exclude_regex_paths:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(f"exclude_regex_paths: {pattern!r} is not a regular expression: {error}") from error
        for name in (name for group in self.ignore_type_in_groups for name in group):
            if name not in _TYPES:
                raise UsageError(f"ignore_type_in_groups: {name!r} is none of {', '.join(_TYPES)}")
        if self.significant_digits is not None and self.significant_digits < 0:
            raise UsageError("significant_digits: a number from 0 on is needed")

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) != field.default for field in fields(self))

    def differences(self, old: Wire, new: Wire) -> list[Difference]:
        """List where two values differ; nothing where they are equal under these tolerances.

        Args:
            old: the expected value, a wire value.
            new: the value that came.

        Raises:
            UsageError: DeepDiff cannot compare them: they are nested too deeply for it.
        """
        if not self:
            return [
                Difference(
                    change.path,
                    None if change.op == "add" else shown(change.old),
                    None if change.op == "remove" else shown(change.new),
                )
                for change in compare_states(old, new)
                if change.makes_a_difference
            ]
        try:
            return list(self._found_by_deepdiff(decode(old, lenient=True), decode(new, lenient=True)))
        except RecursionError as error:
            raise UsageError("the values are nested too deeply for DeepDiff") from error

    def _found_by_deepdiff(self, old: object, new: object) -> Iterator[Difference]:
        from deepdiff import DeepDiff
        from deepdiff.helper import notpresent

        found = DeepDiff(old, new, view="tree", **self.options())
        for levels in found.values():
            for level in levels:
                path = format_path(tuple(step for step in level.path(output_format="list") if type(step) in (str, int)))
                old_text, new_text = (None if side is notpresent else shown(side) for side in (level.t1, level.t2))
                yield Difference(path, old_text, new_text)

    def options(self) -> dict[str, Any]:
        """The parameters of DeepDiff that say this."""
        said: dict[str, Any] = {"ignore_private_variables": False}  # keys that begin with two underscores count too
        if self.ignore_order:
            said["ignore_order"] = True
        if self.exclude_paths:
            said["exclude_paths"] = list(self.exclude_paths)
        if self.exclude_regex_paths:
            said["exclude_regex_paths"] = list(self.exclude_regex_paths)
        if self.significant_digits is not None:
            said["significant_digits"] = self.significant_digits
        if self.ignore_type_in_groups:
            groups = self.ignore_type_in_groups
            said["ignore_type_in_groups"] = [tuple(_TYPES[name] for name in group) for group in groups]
        return said


def shown(value: object) -> str:
    """A value as text that fits on a line or two."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
