"""What differs between two states in the forms of DeepDiff: its JSON, and a Delta that turns the one into the other.

DeepDiff is handed only what differs, list items side by side by their positions, so it takes time for the differences
alone and never guesses which items belong together. What it takes for equal although it is not (0.0 and -0.0) is added.
A Delta is tried on the old state before it is given: one that does not lead to the new state is refused, because
DeepDiff has no way to write some things (a key with both kinds of quotes in it).

States are wire values here: typed values are the envelopes that `show --json` writes.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from agent_tt.codec.sameness import identical
from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from deepdiff import DeepDiff

    from agent_tt.codec.wire import Path, Wire

__all__ = ["to_deepdiff", "to_delta"]


def to_deepdiff(old: Wire, new: Wire) -> dict[str, Wire]:
    """Give what `DeepDiff(old, new, verbose_level=2).to_json()` holds, exact on types and on the sign of zero.

    Raises:
        UsageError: DeepDiff cannot compare the states, which are nested too deeply for it.
    """
    said, zeros = _difference(old, new)
    found: dict[str, Wire] = json.loads(said.to_json())
    return _with_changed(found, {_path(path): {"new_value": one, "old_value": -one} for path, one in zeros})


def to_delta(old: Wire, new: Wire) -> dict[str, Wire]:
    """Give a Delta as JSON, with `old + Delta == new` in every respect but the order of keys.

    ```python
    delta = deepdiff.Delta(delta_path="delta.json", deserializer=deepdiff.serialization.json_loads)
    assert old + delta == new
    ```

    Raises:
        UsageError: DeepDiff has no Delta for this difference.
    """
    from deepdiff import Delta
    from deepdiff.serialization import json_dumps, json_loads

    said, zeros = _difference(old, new)
    made = Delta(said, serializer=json_dumps, always_include_values=True, log_errors=False)
    found: dict[str, Wire] = json.loads(made.dumps())  # type: ignore[no-untyped-call]
    delta = _with_changed(found, {_path(path): {"new_value": one} for path, one in zeros})
    try:
        loaded = Delta(json.dumps(delta), deserializer=json_loads, raise_errors=True, log_errors=False)
        after = old + loaded
    except Exception as error:  # what a Delta stumbles on has many names
        raise _refusal() from error
    if not identical(after, new):
        raise _refusal()
    return delta


def _difference(old: Wire, new: Wire) -> tuple[DeepDiff, list[tuple[Path, float]]]:
    """DeepDiff's account of two states, and where zeros that it takes for equal differ in their sign."""
    from deepdiff import DeepDiff

    zeros: list[tuple[Path, float]] = []
    try:
        one, other = _differing(old, new, (), zeros)
        said = DeepDiff(
            one,
            other,
            verbose_level=2,  # with the values, not their paths alone
            zip_ordered_iterables=True,  # its alignment of lists takes 1, 1.0 and True for equal
            ignore_private_variables=False,  # which are the keys that begin with two underscores
            threshold_to_diff_deeper=0,  # else dicts with few keys in common would be said as wholes
        )
    except RecursionError as error:
        raise UsageError(
            "the states are nested too deeply for DeepDiff", hint="`--format json-patch` takes states of any depth."
        ) from error
    return said, zeros


def _differing(old: Wire, new: Wire, path: Path, zeros: list[tuple[Path, float]]) -> tuple[Wire, Wire]:
    """Two values without what is the same in both; list items that are the same become None, to keep the positions."""
    if isinstance(old, dict) and isinstance(new, dict):
        one: dict[str, Wire] = {key: value for key, value in old.items() if key not in new}
        other: dict[str, Wire] = {}
        for key, value in new.items():
            if key not in old:
                other[key] = value
            elif not identical(old[key], value):
                one[key], other[key] = _differing(old[key], value, (*path, key), zeros)
        return one, other
    if isinstance(old, list) and isinstance(new, list):
        pairs: list[tuple[Wire, Wire]] = [
            (None, None) if identical(before, after) else _differing(before, after, (*path, at), zeros)
            for at, (before, after) in enumerate(zip(old, new, strict=False))
        ]
        shared = len(pairs)
        return [one for one, _ in pairs] + old[shared:], [other for _, other in pairs] + new[shared:]
    if (
        isinstance(old, float)
        and isinstance(new, float)
        and old == new
        and math.copysign(1, old) != math.copysign(1, new)
    ):
        zeros.append((path, new))
    return old, new


def _path(path: Path) -> str:
    from deepdiff.path import stringify_path

    return str(stringify_path([(step, "GET") for step in path]))  # type: ignore[no-untyped-call]


def _with_changed(found: dict[str, Wire], changed: dict[str, Wire]) -> dict[str, Wire]:
    if changed:
        before = found.get("values_changed")
        found["values_changed"] = {**(before if isinstance(before, dict) else {}), **changed}
    return found


def _refusal() -> UsageError:
    return UsageError(
        "DeepDiff has no Delta that leads from the one state to the other",
        hint="Some keys cannot be written in its paths. `--format json-patch` has no such limits.",
    )
