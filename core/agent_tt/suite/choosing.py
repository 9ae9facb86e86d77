"""Which recorded runs a suite is made of."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.errors import InvalidExpression, NotFound, RunNotFound
from agent_tt.querying.expecting import judge
from agent_tt.querying.predicates import parse_predicate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["Chosen", "choose_runs"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The runs of a suite.

    Attributes:
        runs: the runs, oldest first.
        forks: how many forks fit too, and are left out: they are no recordings of what happened.
        running: how many runs fit too, and are left out because they have not ended.
    """

    runs: tuple[Run, ...]
    forks: int = 0
    running: int = 0


def choose_runs(source: RunSource, filters: Sequence[str]) -> Chosen:
    """Choose the runs that fit one of the filters; without any, all runs that are not archived.

    Args:
        source: where they are.
        filters: each what names a run, an agent's entry point as `agent-tt runs --json` says it, a name with `*` for
            any letters, or an expression about the last step (`agent_tt.querying.predicates`). A run of which nobody
            knows whether it holds does not fit.

    Raises:
        NotFound: no run fits.
        InvalidExpression: a filter is none of these.
    """
    fits = [_fitting(source, text) for text in filters]
    found = [run for run in reversed(source.runs()) if not fits or any(fit(run) for fit in fits)]
    originals = [run for run in found if run.parent is None]
    ended = tuple(run for run in originals if run.status != "running")
    if not ended:
        what = f"no recorded run that has ended fits {' or '.join(filters)}" if filters else "no recorded run has ended"
        raise NotFound(what, hint="`agent-tt runs` lists them; forks are left out")
    return Chosen(ended, len(found) - len(originals), len(originals) - len(ended))


def _fitting(source: RunSource, text: str) -> Callable[[Run], bool]:
    try:
        named = source.run(text).id
    except RunNotFound:
        pass
    else:
        return lambda run: run.id == named
    if any(run.agent == text for run in source.runs()):
        return lambda run: run.agent == text
    if "*" in text and not any(sign in text for sign in "=<>()'\""):
        return lambda run: fnmatchcase(run.name, text)
    try:
        is_question = parse_predicate(text).compares
    except InvalidExpression as error:
        error.hint = f"{text!r} names no run either. {error.hint}".strip()
        raise
    if not is_question:
        raise RunNotFound(
            f"there is no run {text!r}", hint="a filter is a run, an agent, a name with *, or a question: paid == true"
        )
    return lambda run: judge(source, run, text).came == "came"
