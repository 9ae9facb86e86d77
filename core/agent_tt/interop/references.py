"""How a person names a run or a step of a source that keeps no names of its own."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

from agent_tt.errors import RunNotFound, StepNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["resolve_run", "resolve_step"]

_BACK: Final = re.compile(r"(?P<name>.+)~(?P<back>\d{1,9})", re.DOTALL)
_NEAREST: Final = 5


def resolve_run(ref: str, ids: Sequence[str], where: str) -> str:
    """The run id that `ref` names: a whole id, `latest`, `ID~2` for the one before the one before, or a unique prefix.

    Args:
        ref: what the person wrote.
        ids: all run ids, the newest first.
        where: the file, for messages.

    Raises:
        RunNotFound: nothing, or several, fit.
    """
    known = set(ids)
    if ref in known:
        return ref
    back = _BACK.fullmatch(ref)
    if back is not None:
        start = ids.index(resolve_run(back["name"], ids, where))
        if start + int(back["back"]) < len(ids):
            return ids[start + int(back["back"])]
        before = len(ids) - 1 - start
        raise RunNotFound(
            f"no run {ref!r} in {where}: there are only {before} before {back['name']}",
            hint=f"The oldest is {ids[-1]}.",
            nearest=ids[-1:],
        )
    if ref == "latest" and ids:
        return ids[0]
    thread, _, step = ref.rpartition("@")
    # `THREAD@12` is step 12, also where a branch happens to be called `THREAD@12ab34cd`.
    fitting = [] if thread in known and step.isdigit() else [run for run in ids if ref and run.startswith(ref)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise RunNotFound(
            f"{len(fitting)} runs begin with {ref!r} in {where}",
            hint=f"Write more of it: {', '.join(fitting[:_NEAREST])}.",
            nearest=fitting[:_NEAREST],
        )
    if thread in known:
        hint = f"{ref} names a step of {thread}, and a whole run is meant here: {thread}"
        raise RunNotFound(f"no run {ref!r} in {where}", hint=hint, nearest=[thread])
    nearest = difflib.get_close_matches(ref, ids, n=_NEAREST, cutoff=0.4) or list(ids[:_NEAREST])
    hint = f"Did you mean {', '.join(nearest)}?" if nearest else "It holds no runs."
    raise RunNotFound(f"no run {ref!r} in {where}", hint=hint, nearest=nearest)


def resolve_step(ref: str, count: int, first_error: Callable[[], int | None]) -> int:
    """The step number that `ref` names: a number, `~1` for the last but one, or `@error` for the first failed step.

    Raises:
        StepNotFound: out of range, or no step failed.
    """
    if ref == "@error":
        failed = first_error()
        if failed is None:
            raise StepNotFound("no step of this run failed", hint=f"Steps go from 0 to {count}.")
        return failed
    digits = ref.removeprefix("~")
    if digits.isascii() and digits.isdigit() and len(digits) < 10:  # no run has a billion steps
        number = count - int(digits) if ref.startswith("~") else int(digits)
        if 0 <= number <= count:
            return number
    raise StepNotFound(
        f"there is no step {ref!r}",
        hint=f"Steps go from 0 to {count}; ~1 is the last but one, @error the first failed one.",
    )
