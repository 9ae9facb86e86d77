"""What the command and the screen of a table of runs both say of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.comparing.steps.outcome import NO_ANSWER
from agent_tt_tui import format as fmt
from agent_tt_tui.text import clean, cut_start, fair_share, width

if TYPE_CHECKING:
    from agent_tt.comparing.runs.table import Table, TableRow
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt.model import Run
    from agent_tt_tui.glyphs import Glyphs

__all__ = [
    "AT_THE_END",
    "NOWHERE",
    "all_changed",
    "change",
    "changed_words",
    "counts_of",
    "effect_counts",
    "label_of",
    "more_steps",
    "only_words",
    "parting",
    "summary_of",
]

_LONGEST: Final = 400

AT_THE_END: Final = "end"
NOWHERE: Final = "none"
"""Words in place of the number of a step; each sign of the table has one meaning, and so these are none."""

_OUT: Final = ("went out", "failed", "unknown")
_HELD: Final = ("held back", "answered instead")


def label_of(row: TableRow, base: Run) -> str:
    """What a row is called: of a fork of the base only what follows the base's name."""
    return row.run.name.removeprefix(f"{base.name}/") or row.run.name


def parting(row: TableRow, glyphs: Glyphs) -> str:
    """The step at which a run parts from the base; `none` where nothing differs, `?` where that is not known.

    `end` where it makes the same moves, and something else differs: a question, the final state, how it ended.
    """
    if row.diverged_at is not None:
        return f"{row.diverged_at}"
    if row.differs is None:
        return glyphs.unknown if row.outcome is not None and row.is_over else ""
    return AT_THE_END if row.differs else NOWHERE


def effect_counts(outcome: Outcome) -> str:
    """`2 out 1 held`: calls that did something to the world, or may have, and those that were kept from it."""
    counts = {title: sum(names.values()) for title, names in outcome.effects.groups()}
    out, held = sum(counts.get(title, 0) for title in _OUT), sum(counts.get(title, 0) for title in _HELD)
    return " ".join([*([f"{out} out"] if out else []), *([f"{held} held"] if held else [])])


def only_words(row: TableRow, glyphs: Glyphs) -> str:
    """`19< 1>`: steps that only the base took, and that only the run did; "" where there are none."""
    parts = [f"{row.only_base}{glyphs.only_a}" if row.only_base else ""]
    parts.append(f"{row.only_run}{glyphs.only_b}" if row.only_run else "")
    return " ".join(part for part in parts if part)


def more_steps(row: TableRow) -> str:
    """`-19`; "" where it took as many as the base."""
    return f"{row.difference.steps:+d}" if row.difference is not None and row.difference.steps else ""


def change(old: float | None, new: float | None, times: str) -> str:
    """`-98 %`: how much more or less a figure is; "" where that is not known, or it is the same."""
    return fmt.change(old, new, times) if old and new is not None and old != new else ""


def changed_words(row: TableRow, columns: int, more: str) -> str:
    """What was changed, each cut from its beginning where it is long: of a path and its value the end says more."""
    shown = _changes(row)
    most = fair_share([width(each) for each in shown], columns - 2 * (len(shown) - 1))
    return "; ".join(cut_start(each, most, more) for each in shown)


def all_changed(row: TableRow) -> str:
    """What was changed, in full."""
    return "; ".join(_changes(row))


def _changes(row: TableRow) -> list[str]:
    return [clean(each[:_LONGEST]) for each in row.changed]


def counts_of(outcome: Outcome) -> tuple[str, str, str]:
    """Tokens, cost and time as people read them; "" for what is not known."""
    duration = outcome.duration_us
    return (
        "" if outcome.tokens is None else fmt.count(outcome.tokens),
        "" if outcome.cost_usd is None else fmt.cost(outcome.cost_usd, outcome.unpriced),
        "" if duration is None else fmt.duration(duration / 1e6),
    )


def summary_of(table: Table) -> list[str]:
    """`5 runs`, `4 differ`, `2 different answers`, `1 cannot be read`: what is to be said of all rows."""
    rows = table.rows
    different = sum(each.is_known and each.text != NO_ANSWER for each in table.answers)
    differ = sum(row.differs is True for row in rows)
    unread = sum(row.error is not None for row in rows)
    parts = [fmt.counted(len(rows), "run")]
    unknown = sum(row.differs is None for row in rows)
    none = "" if unknown else "none differs"
    parts += [f"{fmt.count(differ)} differ{'s' if differ == 1 else ''}" if differ else none] if differ or none else []
    if different:
        parts.append("1 answer" if different == 1 else f"{fmt.count(different)} different answers")
    pending = unknown - unread
    parts += [f"of {fmt.count(pending)} it is not known"] if pending else []
    return [*parts, *([f"{fmt.count(unread)} cannot be read"] if unread else [])]
