"""Which run a word names where runs were renamed or archived elsewhere than in their file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt.errors import RunNotFound, UsageError
from agent_tt.store import ids, naming

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["check_free", "check_name", "find_run"]

_BACK: Final = re.compile(r"(?P<name>.+)~(?P<back>\d{1,9})", re.DOTALL)


def find_run(source: RunSource, runs: Sequence[Run], ref: str) -> Run:
    """The run that a word names: a whole id, what runs are called now, what the source says, old names.

    Args:
        source: the file.
        runs: all its runs as they are shown, newest first.
        ref: the word.

    Raises:
        RunNotFound: nothing, or several, fit.
    """
    shown = {run.id: run for run in runs}
    if ref in shown:
        return shown[ref]
    back = _BACK.fullmatch(ref)
    name, count = (back["name"], int(back["back"])) if back is not None else (ref, 0)
    if name == ids.LATEST:
        called = [run for run in runs if not run.archived]
    elif name in shown:  # an id, of which the source knows what came before
        called = []
    else:
        called = [run for run in runs if run.name == name]
        called.sort(key=lambda run: (run.parent is not None, run.archived))
    if count < len(called):
        return called[count]
    try:
        found = source.run(f"{called[0].id}~{count}" if called and name != ids.LATEST else ref)
    except RunNotFound:
        former = [run for run in runs if name in run.former_names]
        if count or not former:
            raise
        return former[0]
    return shown.get(found.id, found)


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
    naming.check_form(name, parent_name=parent)
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
