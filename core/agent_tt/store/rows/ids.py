"""Run ids, and what a person may type instead of one.

An id is 12 characters of Crockford base 32 in lower case, the first always a letter: 59.5 random bits, so that four or
five characters name a run among a few hundred.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.errors import RunNotFound
from agent_tt.model.facts.stored import RunMeta
from agent_tt.protocols.references import LATEST, normalise
from agent_tt.protocols.references import new_id as new_run_id

if TYPE_CHECKING:
    from agent_tt.store.tables.asking import Rows

__all__ = ["LATEST", "fork_name", "name_after", "new_run_id", "normalise", "resolve"]

_BACK: Final = re.compile(r"(?P<name>.+)~(?P<back>\d{1,9})", re.DOTALL)
_MOST_LISTED: Final = 5
_FORMER: Final = f"""SELECT run FROM runs r WHERE instr(meta, '"{RunMeta.former_names.key}"') AND EXISTS (
  SELECT 1 FROM json_each(CASE WHEN typeof(r.meta) = 'text' THEN CASE WHEN json_valid(r.meta) THEN r.meta END END,
    '$.{RunMeta.former_names.key}') WHERE value = ?)
  ORDER BY hidden, started_us DESC, run DESC LIMIT 1"""  # noqa: S608  # our own


def resolve(rows: Rows, ref: str) -> int:
    """The row number of the run that `ref` names.

    In this order: a whole id, `latest`, the newest run of that name, `NAME~2` (the one before the one before; also
    `latest~2`), the newest run that had that name before it was renamed, a unique beginning of an id. Archived runs
    come after the others of their name, and are not `latest`.

    Raises:
        RunNotFound: nothing, or several runs, fit.
    """
    for whole in (ref, normalise(ref)):
        found = rows.query("SELECT run FROM runs WHERE id = ?", (whole,))
        if found:
            return int(found[0][0])
    by_age = _by_age(rows, ref, 0)
    back = _BACK.fullmatch(ref)
    if by_age is None and back is not None:
        by_age = _by_age(rows, back["name"], int(back["back"]))
    if by_age is None:
        by_age = _by_former_name(rows, ref)
    if by_age is not None:
        return by_age
    start = normalise(ref)
    found = rows.query(
        "SELECT run, id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
        (start, start + "~", _MOST_LISTED + 1),
    )
    if start and len(found) == 1:
        return int(found[0][0])
    if start and found:
        ids = [run_id for _, run_id in found[:_MOST_LISTED]]
        more = ", …" if len(found) > _MOST_LISTED else ""
        message = f"{ref!r} is the beginning of several runs: {', '.join(ids)}{more}"
        raise RunNotFound(message, hint="Type one more character.", nearest=ids)
    if back is not None and (count := _count(rows, back["name"])):
        raise _too_far(ref, back["name"], count)
    raise _not_found(rows, ref)


def _count(rows: Rows, name: str) -> int:
    """How many runs have a name; all that are listed for `latest`."""
    if name == LATEST:
        ((count,),) = rows.query("SELECT count(*) FROM runs WHERE NOT hidden")
    else:
        ((count,),) = rows.query("SELECT count(*) FROM runs WHERE name = ?", (name,))
    return int(count)


def _too_far(ref: str, name: str, count: int) -> RunNotFound:
    runs = "run" if count == 1 else "runs"
    called = "in the store" if name == LATEST else f"called {name}"
    oldest = f"{name}~{count - 1}" if count > 1 else name
    return RunNotFound(
        f"no run {ref!r}: there {'is' if count == 1 else 'are'} only {count} {runs} {called}",
        hint=f"The oldest is {oldest}.",
        nearest=[oldest],
    )


def _by_age(rows: Rows, name: str, back: int) -> int | None:
    """The newest run of a name (or of all names), or the one `back` before it."""
    if name == LATEST:
        sql = "SELECT run FROM runs WHERE NOT hidden ORDER BY started_us DESC, run DESC LIMIT 1 OFFSET ?"
        found = rows.query(sql, (back,))
    else:
        sql = "SELECT run FROM runs WHERE name = ? ORDER BY hidden, started_us DESC, run DESC LIMIT 1 OFFSET ?"
        found = rows.query(sql, (name, back))
    return int(found[0][0]) if found else None


def _by_former_name(rows: Rows, name: str) -> int | None:
    """The newest run that had a name before it was renamed."""
    found = rows.query(_FORMER, (name,))
    return int(found[0][0]) if found else None


def _not_found(rows: Rows, ref: str) -> RunNotFound:
    known = [text for row in rows.query("SELECT DISTINCT name FROM runs LIMIT 10000") for text in row]
    known += [text for row in rows.query("SELECT id FROM runs LIMIT 10000") for text in row]
    if not known:
        return RunNotFound(f"no run {ref!r}: the store is empty", hint="Record one first.")
    if ref == LATEST:
        return RunNotFound("no run 'latest': every run is archived", hint="`agent-tt runs --all` lists them.")
    whole, is_step, step = ref.rpartition("@")
    if is_step and step and (whole == LATEST or whole in known):
        hint = f"{ref} names a step of {whole}, and a whole run is meant here: {whole}"
        return RunNotFound(f"no run {ref!r}", hint=hint, nearest=[whole])
    import difflib

    nearest = difflib.get_close_matches(ref, known, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(nearest)}?" if nearest else "`agent-tt runs` lists what there is."
    return RunNotFound(f"no run {ref!r}", hint=hint, nearest=nearest)


def fork_name(rows: Rows, parent_name: str) -> str:
    """The next free `PARENT/fork-N`."""
    prefix = f"{parent_name}/fork-"
    taken = {
        name[len(prefix) :]
        for (name,) in rows.query("SELECT name FROM runs WHERE name >= ? AND name < ?", (prefix, prefix + ":"))
    }
    number = 1 + max((int(text) for text in taken if text.isascii() and text.isdigit()), default=0)
    return f"{prefix}{number}"


def name_after(named: str) -> str:
    """The name that follows one which `fork_name` gave, where nobody else has named a fork since."""
    prefix, _, number = named.rpartition("-")
    return f"{prefix}-{int(number) + 1}"
