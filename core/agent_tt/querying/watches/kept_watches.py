"""Expressions that are kept with a run, under a letter: bookmarks by what holds, and breakpoints.

They are notes of kind `watch` on the run, so that they lie in its store or, of a run that is only read, in the user's
own. What a file holds there was perhaps written by somebody else: it is read with care, never trusted, and a letter
that is odd or taken becomes the next free one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import NotFound, UsageError
from agent_tt.querying.expressions import parse, tree
from agent_tt.querying.expressions.lexer import MOST_CHARACTERS
from agent_tt.store.rows.columns import mapping_from_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Note
    from agent_tt.protocols import MarkedRuns, RunSource
    from agent_tt.querying.expressions import Expression

__all__ = [
    "KeptWatch",
    "asks_moments",
    "change_watch",
    "find_watch",
    "hand_down_watches",
    "keep_watch",
    "kept_watches",
    "remove_watch",
]

_KIND: Final = "watch"
_MOST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class KeptWatch:
    """An expression that is kept with a run.

    Attributes:
        id: the number of its note.
        letter: `A` to `Z`, by which it is shown at its steps; no two of a run have the same.
        where: the expression, as it was written.
        name: what people call it; None where the letter does.
        breaks: whether it is a breakpoint too.
        on: whether it is watched.
    """

    id: int
    letter: str
    where: str
    name: str | None = None
    breaks: bool = False
    on: bool = True

    @property
    def label(self) -> str:
        """Its name, else its letter."""
        return self.name or self.letter


def asks_moments(expression: Expression) -> bool:
    """Whether each step at which it holds is an event: it asks about a call, a change, or a fact of the step itself.

    What asks the state alone goes on to hold until something changes: there the event is that it begins to.
    """
    return (
        expression.asks_calls
        or bool(expression.compared)
        or any(root in tree.STEP_NAMES for root, _ in tree.facts(expression.root))
    )


# ---------------------------------------------------------------- reading


def kept_watches(source: RunSource, run_id: str) -> list[KeptWatch]:
    """The watches of a run, in the order in which they were kept; at most one for each letter.

    Raises:
        RunNotFound: there is no such run.
    """
    found: list[KeptWatch] = []
    for note in source.notes(run_id):
        if note.kind == _KIND and len(found) < len(ascii_uppercase):
            found += _read(note, {each.letter for each in found})
    return found


def _read(note: Note, taken: set[str]) -> list[KeptWatch]:
    facts = mapping_from_text(note.body)
    where, letter, name = facts.get("where"), facts.get("letter"), facts.get("name")
    if not isinstance(where, str):
        return []
    if not isinstance(letter, str) or letter not in ascii_uppercase or len(letter) != 1 or letter in taken:
        letter = _free(taken)
    shown = name if isinstance(name, str) and 0 < len(name) <= _MOST_NAME else None
    text = where[: MOST_CHARACTERS + 1]  # one more than can be read: it is refused, and not read as something else
    return [KeptWatch(note.id, letter, text, shown, facts.get("break") is True, facts.get("off") is not True)]


def find_watch(watches: Sequence[KeptWatch], word: str) -> KeptWatch | None:
    """The watch that a word names: its letter, its name, or its expression as it was written."""
    for told in (
        [watch for watch in watches if watch.letter == word],
        [watch for watch in watches if watch.name == word],
        [watch for watch in watches if watch.where.strip() == word.strip()],
    ):
        if told:
            return told[0]
    return None


# ---------------------------------------------------------------- changing


def keep_watch(
    marks: MarkedRuns, run_id: str, where: str, *, name: str | None = None, breaks: bool = False
) -> KeptWatch:
    """Keep an expression with a run, under the next free letter.

    Raises:
        InvalidExpression: it cannot be read.
        UsageError: all letters are taken, or the name is.
        RunNotFound: there is no such run.
    """
    known = kept_watches(marks, run_id)
    taken = {watch.letter for watch in known}
    if len(taken) == len(ascii_uppercase):
        raise UsageError(f"{len(taken)} watches are kept with this run already", hint="remove one first")
    made = _checked(KeptWatch(0, _free(taken), where.strip(), _tidy(name), breaks), known)
    return replace(made, id=marks.add_note(run_id, None, _KIND, _body(made)).id)


def change_watch(marks: MarkedRuns, run_id: str, changed: KeptWatch) -> KeptWatch:
    """Write a watch that was changed in place of what is kept under its number.

    Raises:
        InvalidExpression: its expression cannot be read.
        UsageError: another one has its name.
        ReadOnlySource: it lies in a file that is only read.
        NotFound: it is gone.
    """
    others = [watch for watch in kept_watches(marks, run_id) if watch.id != changed.id]
    tidied = replace(changed, where=changed.where.strip(), name=_tidy(changed.name))
    before = [watch for watch in kept_watches(marks, run_id) if watch.id == changed.id]
    if not before:
        raise NotFound(f"watch {changed.label} is gone", hint="Somebody removed it meanwhile.")
    # One that cannot be read may still be renamed, or no longer be watched.
    made = _checked(tidied, others, reads=before[0].where != tidied.where or (tidied.on and not before[0].on))
    marks.change_note(made.id, _body(made))
    return made


def remove_watch(marks: MarkedRuns, watch: KeptWatch) -> None:
    """Take a watch away; one that is gone already stays gone.

    Raises:
        ReadOnlySource: it lies in a file that is only read.
    """
    marks.delete_note(watch.id)


def hand_down_watches(marks: MarkedRuns, parent: str, run_id: str) -> None:
    """Keep what is watched in a run with a fork of it too, under the same letters; from then on each has its own.

    Raises:
        RunNotFound: there is no such run.
    """
    for watch in kept_watches(marks, parent):
        marks.add_note(run_id, None, _KIND, _body(watch))


def _checked(watch: KeptWatch, others: Sequence[KeptWatch], *, reads: bool = True) -> KeptWatch:
    if reads:
        parse(watch.where)
    if watch.name is not None:
        if len(watch.name) > _MOST_NAME:
            raise UsageError(f"the name of a watch has at most {_MOST_NAME} characters")
        if any(watch.name in (other.name, other.letter) for other in others):
            raise UsageError(f"another watch of this run is called {watch.name!r}")
    return watch


def _body(watch: KeptWatch) -> str:
    facts: dict[str, Wire] = {"letter": watch.letter, "where": watch.where}
    if watch.name is not None:
        facts["name"] = watch.name
    if watch.breaks:
        facts["break"] = True
    if not watch.on:
        facts["off"] = True
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def _free(taken: set[str]) -> str:
    return next(letter for letter in ascii_uppercase if letter not in taken)


def _tidy(name: str | None) -> str | None:
    return " ".join((name or "").split()) or None
