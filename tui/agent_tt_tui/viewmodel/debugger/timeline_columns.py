"""The columns of the timeline, one declaration each: what it is called, what it means, its width, its cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt_tui import format as fmt
from agent_tt_tui.text import show, width
from agent_tt_tui.viewmodel.debugger.overview import lane_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.model import Step
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.debugger.overview import Overview

__all__ = [
    "AGENT",
    "ASKED",
    "COLUMNS",
    "NAME",
    "WATERFALL",
    "Column",
    "Piece",
    "Room",
    "StepFacts",
    "bar_length",
    "columns_by_default",
    "read_names",
]

Tone: TypeAlias = Literal["text", "muted", "faint", "model", "failed", "yours"]
"""One of the roles of the palette."""

AGENT: Final = "agent"

NAME: Final = "name"
"""The column with the name of the step: it is always shown, and takes the width that the others leave."""

ASKED: Final = "asked"
"""The column with what the step's tool was asked, which stands behind the name."""

WATERFALL: Final = "waterfall"
"""The column with the run's clock."""

_AGENTS_FROM: Final = 44
_WATERFALL_FROM: Final = 60
_TOKENS_FROM: Final = 76
_BARS_FROM: Final = 42
"""Columns of the whole timeline from which on agents, what was asked, and bars are shown unasked."""
_DEEP: Final = 3


class Piece(NamedTuple):
    """Some text of a cell, and the role that it is drawn in."""

    text: str
    tone: Tone = "muted"


class StepFacts(NamedTuple):
    """What the cells of a row are made from.

    Attributes:
        step: The step.
        overview: What is known of all steps.
        began_us: When the run began; 0 where nobody knows.
        ended_us: When it ended; 0 where nobody knows, or it goes on.
        waits: Whether one of its calls waits for a decision.
        is_live: Whether it runs now.
        glyphs: The glyphs to use.
        asked: What its first tool was asked; "" where there is nothing to say, None where that is damaged.
    """

    step: Step
    overview: Overview
    began_us: int
    ended_us: int
    waits: bool
    is_live: bool
    glyphs: Glyphs
    asked: str | None = ""


class Room(NamedTuple):
    """What decides which columns are there by default.

    Attributes:
        columns: Columns of the whole timeline.
        lanes: How many lanes the run has.
        depth: How deep its steps are nested.
        has_tokens: Whether it is known what models were sent.
        has_asked: Whether what tools were asked is read quickly.
    """

    columns: int
    lanes: int
    depth: int
    has_tokens: bool = False
    has_asked: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: What the settings call it.
        title: What the list of columns calls it.
        head: What stands above it.
        means: What it means, for help.
        width: Columns that it takes at least, without the free one beside it.
        most: Columns that it grows to where names leave room.
        keep: The columns with the smallest numbers stay longest where not all fit.
        cell: Makes the cell of a step for so many columns.
        is_default: Tells whether it is there when nobody has chosen.
        align: At which side of its column a shorter cell stands.
        gives_way: Whether it is left out, where nobody has chosen it, before a name is cut.
    """

    name: str
    title: str
    head: str
    means: str
    width: int
    most: int
    keep: int
    cell: Callable[[StepFacts, int], Sequence[Piece]]
    is_default: Callable[[Room], bool] = lambda _room: False
    align: Literal["left", "right"] = "right"
    gives_way: bool = False


def bar_length(amount: int | None, full: int, columns: int) -> tuple[int, bool]:
    """How long a bar is.

    Args:
        amount: What it stands for.
        full: What a full bar stands for.
        columns: The length of a full bar.

    Returns:
        The length, at least 1 for anything that was measured, and whether it is too long to be shown in full.
    """
    if not amount or full <= 0 or columns < 1:
        return 0, False
    if amount > full:
        return columns, True
    return max(1, round(amount / full * (columns - 1))), False


def _duration(us: int | None, columns: int) -> str:
    """A duration, rounded more where that does not fit: `14 s`, `0.2 s`; last without its blank."""
    text = "" if us is None else fmt.duration(us / 1_000_000)
    if us is None or len(text) <= columns:
        return text
    number, _, unit = text.partition(" ")
    rounded = f"{us / 1_000_000:.1f} s" if unit == "ms" else f"{float(number):.0f} {unit}"
    return rounded if len(rounded) <= columns else rounded.replace(" ", "")


def _unknown(at: StepFacts, *, applies: bool) -> Sequence[Piece]:
    """Say that something is not known; nothing where there is nothing to know."""
    return [Piece(at.glyphs.span, "faint")] if applies and not at.is_live else []


def _agent(at: StepFacts, columns: int) -> Sequence[Piece]:
    return [Piece(show(lane_name(at.step), columns, at.glyphs.cut))]


def _asked(at: StepFacts, columns: int) -> Sequence[Piece]:
    return _unknown(at, applies=True) if at.asked is None else [Piece(show(at.asked, columns, at.glyphs.cut), "faint")]


def _took(at: StepFacts, columns: int) -> Sequence[Piece]:
    step = at.step
    if at.waits:
        return [Piece("waits", "yours")]
    if step.duration_us is None:
        return _unknown(at, applies=True)
    return [Piece(_duration(step.duration_us, columns), "failed" if step.status == "error" else "muted")]


def _took_bar(at: StepFacts, columns: int) -> Sequence[Piece]:
    glyphs = at.glyphs
    length, is_cut = bar_length(at.step.duration_us, at.overview.long_duration_us, columns)
    bar = glyphs.busy * (length - 1) + glyphs.to if is_cut else glyphs.busy * length
    return [Piece(bar, "failed" if at.step.status == "error" else "muted")]


def _began(at: StepFacts, columns: int) -> Sequence[Piece]:
    started = at.step.started_us
    if not started or not at.began_us:
        return _unknown(at, applies=True)
    return [Piece(_duration(max(0, started - at.began_us), columns))]


def _gap(at: StepFacts, columns: int) -> Sequence[Piece]:
    """The time between the end of the step before in the lane and the beginning of this one."""
    before = at.overview.in_lane(at.step.number, -1)
    if before is None:
        return []
    ended, began = at.overview.times_us(before)[1], at.step.started_us
    if at.overview.is_running(before) or (ended and began and began < ended):
        return []  # nothing lies between them: they ran at the same time
    if not ended or not began:
        return _unknown(at, applies=True)
    return [Piece(_duration(began - ended, columns), "text" if began - ended >= _LONG_GAP_US else "muted")]


_LONG_GAP_US: Final = 1_000_000


def _waterfall(at: StepFacts, columns: int) -> Sequence[Piece]:
    """When the step ran, on the run's clock, over its ticks."""
    step, glyphs = at.step, at.glyphs
    axis = at.overview.axis(at.began_us, at.ended_us, columns)
    if axis is None or not step.started_us:
        return _unknown(at, applies=True)
    first = axis.column(step.started_us)
    last = axis.column(step.ended_us) if step.ended_us else axis.columns - 1 if at.is_live else first
    tone: Tone = "failed" if step.status == "error" else "model"
    behind = "".join(glyphs.tick if column in axis.behind else " " for column in range(columns))
    bar = Piece(glyphs.busy * (last - first + 1), tone)
    return [Piece(behind[:first], "faint"), bar, Piece(behind[last + 1 :], "faint")]


def _tokens(at: StepFacts, _columns: int) -> Sequence[Piece]:
    total = fmt.total_tokens(at.step.tokens_in, at.step.tokens_out)
    return _unknown(at, applies=at.step.kind == "llm") if total is None else [Piece(fmt.short(total))]


def _tokens_bar(at: StepFacts, columns: int) -> Sequence[Piece]:
    """What was sent, as a thin line, and beside it what came back."""
    step, glyphs = at.step, at.glyphs
    total = fmt.total_tokens(step.tokens_in, step.tokens_out)
    if total is None:
        return _unknown(at, applies=step.kind == "llm")
    length, _ = bar_length(total, at.overview.most_tokens, columns + 1)
    came_back = min(length, max(1, round(length * (step.tokens_out or 0) / total)) if step.tokens_out else 0)
    return [Piece(glyphs.line * (length - came_back), "muted"), Piece(glyphs.busy * came_back, "model")]


def _context(at: StepFacts, columns: int) -> Sequence[Piece]:
    """What models were sent, as a thin line; the heavy end of it is more than was sent before in the lane."""
    sent, glyphs = at.step.tokens_in, at.glyphs
    if sent is None:
        return _unknown(at, applies=at.step.kind == "llm")
    length, _ = bar_length(sent, at.overview.most_context, columns + 1)
    before = at.overview.context_before(at.step.number)
    new = sent - before if before is not None and sent > before else sent if before is None else 0
    grown = min(length, max(1, round(length * new / sent))) if new and sent else 0
    return [Piece(glyphs.line * (length - grown), "muted"), Piece(glyphs.busy * grown, "model")]


def _cost(at: StepFacts, columns: int) -> Sequence[Piece]:
    step = at.step
    if step.cost_usd is None:
        return _unknown(at, applies=step.kind == "llm")
    text = fmt.cost(step.cost_usd, step.unpriced)
    return [Piece(text if len(text) <= columns else f"${step.cost_usd:,.0f}{'+' if step.unpriced else ''}")]


_EFFECTS: Final[Mapping[str, str]] = {
    "write": "writes",
    "read": "reads",
    "http": "sends",
    "llm": "model",
    "human": "person",
    "other": "clock",
}


def _effect(at: StepFacts, _columns: int) -> Sequence[Piece]:
    kind = at.step.kind or ""
    return [Piece(_EFFECTS.get(kind, "code"), "text" if kind == "write" else "muted")]


_TABLE: Final = (
    Column(
        name=AGENT,
        title="agent",
        head="agent",
        means="the agent, or the lane, that took the step",
        width=7,
        most=18,
        keep=2,
        cell=_agent,
        is_default=lambda room: room.lanes > 1 and room.columns >= _AGENTS_FROM,
        align="left",
    ),
    Column(
        name=NAME,
        title="name",
        head="step",
        means="what the step is called; it gets the room that the others leave",
        width=6,
        most=6,
        keep=0,
        cell=lambda _at, _columns: (),
        is_default=lambda _room: True,
        align="left",
    ),
    Column(
        name=ASKED,
        title="what it asked",
        head="asked",
        means="the first argument of the step's tool",
        width=8,
        most=22,
        keep=3,
        cell=_asked,
        is_default=lambda room: room.has_asked and room.columns >= _BARS_FROM,
        align="left",
        gives_way=True,
    ),
    Column(
        name="effect",
        title="effect",
        head="does",
        means="what the step did: reads, writes, model, sends, person, clock; code alone",
        width=6,
        most=6,
        keep=3,
        cell=_effect,
        align="left",
    ),
    Column(
        name="began",
        title="began",
        head="at",
        means="how long after the run began the step did",
        width=5,
        most=7,
        keep=5,
        cell=_began,
    ),
    Column(
        name="gap",
        title="gap",
        head="gap",
        means="the time between the end of the step before in its lane and its beginning",
        width=5,
        most=7,
        keep=6,
        cell=_gap,
    ),
    Column(
        name="bar",
        title="took as a bar",
        head="took",
        means="how long the step took, beside the others",
        width=6,
        most=14,
        keep=10,
        cell=_took_bar,
        is_default=lambda room: (
            not room.has_asked
            and _BARS_FROM <= room.columns < _WATERFALL_FROM
            and room.lanes < 2
            and room.depth < _DEEP
        ),
        align="left",
        gives_way=True,
    ),
    Column(
        name=WATERFALL,
        title="waterfall",
        head="",
        means="when the step ran, on the run's clock",
        width=14,
        most=22,
        keep=8,
        cell=_waterfall,
        is_default=lambda room: room.columns >= _WATERFALL_FROM,
        align="left",
        gives_way=True,
    ),
    Column(
        name="took",
        title="took",
        head="took",
        means="how long the step took",
        width=5,
        most=6,
        keep=1,
        cell=_took,
        is_default=lambda _room: True,
    ),
    Column(
        name="tokens",
        title="tokens",
        head="tok",
        means="tokens that models were sent and gave back",
        width=6,
        most=6,
        keep=4,
        cell=_tokens,
        is_default=lambda room: room.columns >= _TOKENS_FROM and room.has_tokens,
        gives_way=True,
    ),
    Column(
        name="tokens-bar",
        title="tokens as a bar",
        head="tokens",
        means="thin: tokens that models were sent; heavy: those that came back",
        width=6,
        most=10,
        keep=8,
        cell=_tokens_bar,
        align="left",
    ),
    Column(
        name="context",
        title="context as a bar",
        head="context",
        means="tokens that models were sent; heavy: more than before in its lane",
        width=7,
        most=10,
        keep=9,
        cell=_context,
        is_default=lambda room: room.columns >= _TOKENS_FROM and room.has_tokens,
        gives_way=True,
        align="left",
    ),
    Column(
        name="cost",
        title="cost",
        head="cost",
        means="what the step cost; + where some calls have no known price",
        width=7,
        most=7,
        keep=4,
        cell=_cost,
    ),
)

COLUMNS: Final[Mapping[str, Column]] = {column.name: column for column in _TABLE}
"""Every column by its name, in the order in which they stand where nobody has chosen another."""


def columns_by_default(room: Room) -> tuple[str, ...]:
    """The columns that are there where nobody has chosen."""
    return tuple(name for name, column in COLUMNS.items() if column.is_default(room))


def read_names(names: Iterable[str]) -> tuple[str, ...]:
    """The columns of some names in their order, each once; the name is always among them."""
    found = tuple(dict.fromkeys(name for name in names if name in COLUMNS))
    return found if NAME in found else (NAME, *found)


def cells_of(pieces: Iterable[Piece]) -> int:
    """How many columns a cell takes."""
    return sum(width(piece.text) for piece in pieces)
