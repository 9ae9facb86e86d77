"""The steps that fed a step, and those that it fed, in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agent_tt.model.shown import step_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.context.causes import Causes, Fed, StepCauses
    from agent_tt.context.shown import Join
    from agent_tt_tui.glyphs import Glyphs

__all__ = ["CauseMark", "CauseRow", "cause_marks", "cause_rows", "fed_words", "marks_said"]

CauseMark = Literal["fed_by", "feeds", "fed_perhaps", "feeds_perhaps"]
"""What a step is to the one that is shown; the name of its glyph."""

_LEAST_IN_A_ROW: Final = 3
"""Steps in a row from which on a range is shorter than all of them."""


class CauseRow(NamedTuple):
    """One step that fed another, or that it fed.

    Attributes:
        step: The step to go to.
        label: Its mark, number and name.
        why: How that is known.
    """

    step: int
    label: str
    why: str


def cause_marks(causes: StepCauses) -> Mapping[int, CauseMark]:
    """What each step is to one; what it was fed by goes first, where a step is both."""
    marks: dict[int, CauseMark] = {}
    for step in (*causes.fed.inferred, *causes.fed.perhaps):
        marks[step] = "feeds_perhaps"
    for step in causes.fed.recorded:
        marks[step] = "feeds"
    for step in (*causes.sources.inferred, *causes.sources.perhaps):
        marks[step] = "fed_perhaps"
    for step in causes.sources.recorded:
        marks[step] = "fed_by"
    return marks


def marks_said(causes: StepCauses, number: int, glyphs: Glyphs) -> str:
    """What the marks say of a step, in one sentence."""
    if not any((*causes.sources, *causes.fed)):
        return f"step {number}: nothing that was recorded says what fed it, or what it fed"
    fed_by = fed_words(causes.sources, (glyphs.fed_by, glyphs.fed_perhaps), glyphs.span)
    feeds = fed_words(causes.fed, (glyphs.feeds, glyphs.feeds_perhaps), glyphs.span)
    by_text = f"{glyphs.fed_perhaps} {glyphs.feeds_perhaps} by equal texts"
    return f"step {number}: fed by {fed_by}, fed {feeds}; {by_text}"


def cause_rows(causes: Causes, number: int, glyphs: Glyphs, name: Callable[[int], str]) -> Sequence[CauseRow]:
    """The steps that fed one, then those that it fed, each with all that joins them.

    Args:
        causes: What fed each step.
        number: The step.
        glyphs: Signs.
        name: Gives the name of a step.
    """
    found, (sources, fed) = causes.of(number), causes.joins(number)
    sides: tuple[tuple[Fed, Sequence[Join], Callable[[Join], int], CauseMark, CauseMark], ...] = (
        (found.sources, sources, lambda join: join.source[0], "fed_by", "fed_perhaps"),
        (found.fed, fed, lambda join: join.fed[0], "feeds", "feeds_perhaps"),
    )
    rows: list[CauseRow] = []
    for steps, joins, end, recorded, inferred in sides:
        by_step: dict[int, list[Join]] = {}
        for join in joins:
            by_step.setdefault(end(join), []).append(join)
        for step in sorted({*steps.recorded, *steps.inferred, *steps.perhaps}):
            mark = getattr(glyphs, recorded if step in steps.recorded else inferred)
            rows.append(CauseRow(step, f"{mark} {step} {name(step)}".rstrip(), _why(by_step.get(step, ()))))
    return rows


def _others(count: int) -> str:
    return f", as {count} other{'s' if count > 1 else ''} did" if count else ""


def _why(joins: Iterable[Join]) -> str:
    from agent_tt.context.shown import JOINED

    ordered = sorted(joins, key=lambda join: not join.is_recorded)
    said = {
        f"{'' if join.is_recorded else 'inferred: '}{JOINED[join.kind]}{_others(join.one_of - 1)}": None
        for join in ordered
    }
    return "; ".join(said)


def fed_words(fed: Fed, arrows: tuple[str, str], unknown: str) -> str:
    """`← 1–4, 7  ←~ 0, 9?`: recorded ones, then those that are inferred; one of several that may have been has a `?`.

    Args:
        fed: The steps.
        arrows: Stand before those that are recorded, and before those that are inferred.
        unknown: Said where none is known; between the first and the last of a range.
    """
    inferred = ", ".join(
        [
            *step_ranges(fed.inferred, unknown, _LEAST_IN_A_ROW),
            *(f"{each}?" for each in step_ranges(fed.perhaps, unknown, _LEAST_IN_A_ROW)),
        ]
    )
    recorded = ", ".join(step_ranges(fed.recorded, unknown, _LEAST_IN_A_ROW))
    shown = [f"{arrows[0]} {recorded}" if recorded else "", f"{arrows[1]} {inferred}" if inferred else ""]
    return "  ".join(filter(None, shown)) or unknown
