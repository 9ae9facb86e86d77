"""What a person may call a run or a checkpoint, so that the name means that one thing and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.errors import UsageError
from agent_tt.store.rows import ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt.store.tables.asking import Rows

__all__ = [
    "check_checkpoint_name",
    "check_form",
    "check_free",
    "check_name",
    "check_run_name",
    "former_names",
    "renamed",
    "tidy",
]

_FORMER_NAMES_KEPT: Final = 20

LONGEST: Final = 200
"""Characters of a name."""

_BACK: Final = lazy_re(r".*~\d{1,9}", re.DOTALL)
_FORK: Final = lazy_re(r"(?P<parent>.+)/fork-\d+", re.DOTALL)
_SWEEP: Final = lazy_re(r".+/sweep-\d+(/\d+\.\d+(\.\d+)?)?", re.DOTALL)


def tidy(name: str) -> str:
    """A name as it is kept: without space around it.

    Raises:
        UsageError: it is empty, too long, or holds what cannot be seen or typed.
    """
    name = name.strip()
    if not name:
        raise UsageError("a name needs at least one character")
    if len(name) > LONGEST:
        raise UsageError(f"a name has at most {LONGEST} characters; this one has {len(name)}")
    if not name.isprintable():
        raise UsageError(f"{name!r} cannot be a name: it holds characters that cannot be seen")
    if name.startswith("-"):
        raise UsageError(f"{name!r} cannot be a name: in the shell it would be an option")
    return name


def check_run_name(rows: Rows, run: int, name: str, *, parent_name: str | None) -> None:
    """Refuse a name that would not name this run alone.

    Args:
        rows: the store, in the transaction that renames.
        run: the run to be renamed.
        name: its new name, tidied.
        parent_name: what the run that it was forked from is called; None for a root run.

    Raises:
        UsageError: says what else the name means.
    """
    check_form(name, parent_name=parent_name)
    if rows.query("SELECT 1 FROM runs WHERE id IN (?, ?) AND run <> ?", (name, ids.normalise(name), run)):
        raise UsageError(f"{name!r} is the id of another run")
    if rows.query("SELECT 1 FROM runs WHERE name = ? AND run <> ?", (name, run)):
        raise UsageError(f"there is a run called {name!r} already", hint="`agent-tt runs --all` lists them.")


def check_form(name: str, *, parent_name: str | None) -> None:
    """Refuse a name of a run that reads as something else, whatever other runs there are.

    Args:
        name: its new name, tidied.
        parent_name: what the run that it was forked from is called; None for a root run.

    Raises:
        UsageError: says what else the name means.
    """
    if name == ids.LATEST:
        raise UsageError(f"{name!r} is the newest run, whatever it is called")
    if _BACK.fullmatch(name):
        raise UsageError(f"{name!r} reads as a run before another one", hint="Leave out the ~.")
    if "@" in name:
        raise UsageError(f"{name!r} reads as a step of a run", hint="Leave out the @.")
    if _SWEEP.fullmatch(name):
        raise UsageError(f"{name!r} reads as a run of a sweep", hint="Sweeps name their runs themselves.")
    fork = _FORK.fullmatch(name)
    if fork is not None and fork["parent"] != parent_name:
        raise UsageError(f"{name!r} reads as a fork of {fork['parent']}, which this run is not")


def check_checkpoint_name(name: str, others: set[str]) -> None:
    """Refuse the name of a checkpoint that would not name it alone among the steps of its run.

    Args:
        name: the new name, tidied.
        others: the names of the run's other checkpoints.

    Raises:
        UsageError: says what else the name means.
    """
    if name.startswith(("~", "@")) or name.lstrip("+-").isdecimal():
        raise UsageError(f"{name!r} reads as the number of a step", hint="Begin with a letter.")
    if "@" in name:
        raise UsageError(f"{name!r} reads as a step of a run", hint="Leave out the @.")
    if name in others:
        raise UsageError(f"another checkpoint of the run is called {name!r} already")


def check_name(name: str, run: Run, runs: Sequence[Run]) -> None:
    """Refuse a name that would not name this run alone.

    Args:
        name: the new name, tidied.
        run: the run to be renamed.
        runs: all runs.

    Raises:
        UsageError: says what else the name means.
    """
    parent = next((each.name for each in runs if each.id == run.parent), None)
    check_form(name, parent_name=parent)
    check_free(name, run, runs)


def check_free(name: str, run: Run, runs: Sequence[Run]) -> None:
    """Refuse a name that another run has.

    Raises:
        UsageError: another run is called that, or has that id.
    """
    others = [each for each in runs if each.id != run.id]
    if any(name == each.id or ids.normalise(name) == each.id for each in others):
        raise UsageError(f"{name!r} is the id of another run")
    if any(name == each.name for each in others):
        raise UsageError(f"there is a run called {name!r} already", hint="`agent-tt runs --all` lists them.")


def renamed(run: Run, name: str) -> Run:
    """A run by another name; what it was called names it still."""
    return replace(run, name=name, former_names=tuple(former_names(run.former_names, run.name, name)))


def former_names(before: Sequence[str], old: str, new: str) -> list[str]:
    """The names that a run had before, oldest first; of many the last ones."""
    return [*(name for name in before if name not in (old, new)), old][-_FORMER_NAMES_KEPT:]
