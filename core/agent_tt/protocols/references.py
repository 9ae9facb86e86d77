"""How a person names a run or a step: what a reference means among all the runs of a source."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.errors import RunNotFound, StepNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Run, Sweep

__all__ = ["LATEST", "find_run", "find_sweep", "id_of", "new_id", "normalise", "resolve_run", "resolve_step"]

_BACK: Final = lazy_re(r"(?P<name>.+)~(?P<back>\d{1,9})", re.DOTALL)
_NEAREST: Final = 5

LATEST: Final = "latest"
"""The word for the newest run."""

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGITS: Final = 10
_LENGTH: Final = 12
_LOOKALIKES: Final = str.maketrans("ilo", "110")


def find_run(runs: Sequence[Run], ref: str, otherwise: Callable[[str], Run]) -> Run:
    """Find the run that a word names: a whole id, what runs are called now, what else is known, old names.

    Args:
        runs: all runs as they are shown, newest first.
        ref: the word.
        otherwise: gives the run of a word that is not a name: the beginning of an id, `ID~2`.

    Raises:
        RunNotFound: nothing, or several, fit.
    """
    shown = {run.id: run for run in runs}
    if ref in shown:
        return shown[ref]
    back = _BACK.fullmatch(ref)
    name, count = (back["name"], int(back["back"])) if back is not None else (ref, 0)
    if name == LATEST:
        called = [run for run in runs if not run.archived]
    elif name in shown:  # an id, of which the source knows what came before
        called = []
    else:
        called = [run for run in runs if run.name == name]
        called.sort(key=lambda run: (run.parent is not None, run.archived))
    if count < len(called):
        return called[count]
    try:
        found = otherwise(f"{called[0].id}~{count}" if called and name != LATEST else ref)
    except RunNotFound:
        former = [run for run in runs if name in run.former_names]
        if count or not former:
            raise
        return former[0]
    return shown.get(found.id, found)


def resolve_run(ref: str, ids: Sequence[str], where: str) -> str:
    """Find the run id that `ref` names: a whole id, `latest`, `ID~2` (two before), or a unique prefix.

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
    if ref == LATEST and ids:
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
    import difflib

    nearest = difflib.get_close_matches(ref, ids, n=_NEAREST, cutoff=0.4) or list(ids[:_NEAREST])
    hint = f"Did you mean {', '.join(nearest)}?" if nearest else "It holds no runs."
    raise RunNotFound(f"no run {ref!r} in {where}", hint=hint, nearest=nearest)


def resolve_step(ref: str, count: int, first_error: Callable[[], int | None]) -> int:
    """Find the step number that `ref` names: a number, `~1` (last but one), or `@error` (the first failed).

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
        f"there is no step {ref if digits.isdigit() else repr(ref)}",
        hint=f"Steps go from 0 to {count}; ~1 is the last but one, @error the first failed one.",
    )


def find_sweep(known: Sequence[Sweep], ref: str, run_id_of: Callable[[str], str]) -> Sweep:
    """Find the sweep that `ref` names: its id or the unique beginning of it, `RUN/sweep-1`, or `latest`.

    Args:
        known: all sweeps, newest first.
        ref: what the person wrote.
        run_id_of: gives the id of the run that a word names; a run that was renamed is known by its old name too.

    Raises:
        RunNotFound: nothing, or several, fit.
    """
    if ref == LATEST and known:
        return known[0]
    typed = normalise(ref)
    for fits in (
        [sweep for sweep in known if typed == sweep.id],
        [sweep for sweep in known if ref == sweep.name],
        [sweep for sweep in known if ref == f"{sweep.run}/sweep-{sweep.number}"],
        _by_former_name(known, ref, run_id_of),
        [sweep for sweep in known if typed and sweep.id.startswith(typed)],
    ):
        if len(fits) == 1 or (fits and ref == fits[0].name):
            return fits[0]
        if fits:
            names = ", ".join(sweep.id for sweep in fits[:5])
            raise RunNotFound(f"{ref!r} is the beginning of several sweeps: {names}", hint="type one more character")
    nearest = [sweep.name for sweep in known[:3]]
    hint = (
        "`agent-tt sweep --list` lists them." if known else "`agent-tt sweep RUN --at STEP --set PATH=V,V` begins one."
    )
    raise RunNotFound(f"no sweep {ref!r}" + ("" if known else ": there is none yet"), hint=hint, nearest=nearest)


def _by_former_name(known: Sequence[Sweep], ref: str, run_id_of: Callable[[str], str]) -> list[Sweep]:
    """Those of a run that was renamed, by what they were called then."""
    name, _, number = ref.rpartition("/sweep-")
    if not name:
        return []
    try:
        run_id = run_id_of(name)
    except RunNotFound:
        return []
    return [sweep for sweep in known if sweep.run == run_id and number == str(sweep.number)]


def new_id() -> str:
    """Draw a random id of a run or a sweep: 12 characters of Crockford base 32, the first a letter."""
    import secrets

    first = secrets.choice(_ALPHABET[_DIGITS:])
    return first + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH - 1))


def id_of(*words: str) -> str:
    """Give the id, of the same form, that always stands for these words."""
    number = int.from_bytes(blake2b("\0".join(words).encode("utf-8", "surrogatepass")).digest())
    found = ""
    for choices in (_ALPHABET[_DIGITS:], *[_ALPHABET] * (_LENGTH - 1)):
        number, at = divmod(number, len(choices))
        found += choices[at]
    return found


def normalise(typed: str) -> str:
    """Write a typed id as it would be stored: lower case, with `o` read as 0 and `i`, `l` as 1."""
    return typed.strip().lower().translate(_LOOKALIKES)
