"""What stands below the steps of two runs: why they parted, what was edited, what is the same, where time went."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

from agent_tt.comparing.runs.without_effect import edits_without_effect
from agent_tt.comparing.values.edit_leaves import edit_changes
from agent_tt_tui import format as fmt
from agent_tt_tui.format import counted
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import clean, fit, width
from agent_tt_tui.viewmodel.runs.comparison import parting_lane
from agent_tt_tui.viewmodel.values.blocks import Block
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap
from agent_tt_tui.viewmodel.values.sides import side_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.runs.comparison import CompareView, Spent
    from agent_tt_tui.viewmodel.values.pieces import Piece

_MOST_SPENT: Final = 8
_NAME_COLUMNS: Final = 24
_CALLS_COLUMNS: Final = 6
_TIME_COLUMNS: Final = 9
_BLANK: Final = TextLine()


def why_blocks(view: CompareView, columns: int, glyphs: Glyphs) -> Iterator[Block]:
    """Lay out what is known of two runs as wholes.

    Args:
        view: Both runs, compared.
        columns: Columns there are for a row.
        glyphs: The glyphs to use.
    """
    yield from _why(view, columns, glyphs)
    for letter, run in (("A", view.comparison.a), ("B", view.comparison.b)):
        yield from _edited(letter, run, columns, glyphs)
    yield from _same(view, columns, glyphs)
    yield from _where_it_went(view, glyphs)


def _why(view: CompareView, columns: int, glyphs: Glyphs) -> Iterator[Block]:
    comparison = view.comparison
    reasons = comparison.reasons
    parted = comparison.diverged_at is not None
    if reasons or comparison.unread:
        yield Block([TextLine((("WHY THEY PARTED" if parted else "WHAT DIFFERS", "title"),))])
    for reason in reasons:
        glyph = glyphs.edited if reason.kind == "edit" else glyphs.differs
        yield _wrapped([(clean(reason.text), "text")], ((f" {glyph} ", "yours"),), columns)
    lane = parting_lane(comparison)
    if lane:
        yield _wrapped([(clean(lane), "muted")], (("   ", "muted"),), columns)
    for what in comparison.unread:
        yield _wrapped([(clean(f"cannot be read: {what}"), "note")], ((f" {glyphs.unknown} ", "failed"),), columns)


def _edited(letter: str, run: Run, columns: int, glyphs: Glyphs) -> Iterator[Block]:
    """What a person edited in a fork, each value as it was and as it is."""
    if not run.edits or run.fork_step is None:
        return
    yield _title(f"edited in {letter}", f"after step {run.fork_step}")
    unmade = {id(each.edit): each.reason for each in edits_without_effect(run)}
    for edit in run.edits:
        for change in edit_changes(edit):
            before: list[Piece] = [(f"{clean(change.path or 'the whole state')}  ", "strong")]
            both = [*side_pieces(change, "a", None, glyphs), (f" {glyphs.to} ", "muted")]
            yield _wrapped(
                [*before, *both, *side_pieces(change, "b", None, glyphs)],
                ((f" {glyphs.edited} ", "yours"),),
                columns,
                1,
            )
        if id(edit) in unmade:
            said = f"no effect: {clean(unmade[id(edit)])}"
            yield _wrapped([(said, "failed_text")], (("   ", "muted"),), columns)


def _same(view: CompareView, columns: int, glyphs: Glyphs) -> Iterator[Block]:
    """What both have in common; nothing is said to be where that is not known."""
    comparison = view.comparison
    a, b = comparison.a, comparison.b
    begun = len(list(takewhile(lambda row: row.kind == "same", comparison.rows)))
    recorded = sum(cell.step.inherited for cell in view.cells_b.values())
    known: list[str] = []
    if begun:
        said = (
            "step 1: the same move and result"
            if begun == 1
            else f"steps 1{glyphs.span}{begun}: the same moves and results"
        )
        if begun == len(comparison.rows):
            said = f"all {counted(begun, 'step')}: the same moves and results"
        known.append(f"{said}{_recorded(recorded, begun)}")
    if comparison.shared:
        known.append("input")
    if (
        a.code.entry
        and a.code.entry == b.code.entry
        and a.code.fingerprint
        and a.code.fingerprint == b.code.fingerprint
    ):
        known.append(f"program: {a.code.entry}")
    if a.model is not None and a.model == b.model:
        names = ("temperature", "max_tokens", "seed")
        set_to = [f"{name} {value}" for name in names if (value := getattr(a.model, name)) is not None]
        known.append(", ".join([f"model {a.model.model}" if a.model.model else "settings of the model", *set_to]))
    if known:
        yield _title("same")
    for each in known:
        yield _wrapped([(clean(each), "muted")], ((f" {glyphs.same} ", "well"),), columns)


def _recorded(steps: int, begun: int) -> str:
    """That a fork did not run its first steps."""
    if not steps:
        return ""
    if steps < begun:
        which = "the first is" if steps == 1 else f"the first {steps} are"
    else:
        which = "they are" if begun > 1 else "it is"
    return f"; in B {which} from the recording"


def _where_it_went(view: CompareView, glyphs: Glyphs) -> Iterator[Block]:
    """How often each model and tool was called in either run, and how long that took."""
    both = {**view.spent_a, **view.spent_b}
    if not both:
        return

    def took(key: tuple[str, str]) -> int:
        return sum(spent[key].duration_us or 0 for spent in (view.spent_a, view.spent_b) if key in spent)

    head = fit("where it went".upper(), _NAME_COLUMNS + 3, glyphs.cut)
    sides = "".join(fit(letter, _CALLS_COLUMNS + _TIME_COLUMNS, glyphs.cut, "right") for letter in "AB")
    yield Block([_BLANK, TextLine(((head, "title"), (sides, "muted")))])
    keys = sorted(both, key=lambda key: (-took(key), key))
    for key in keys[:_MOST_SPENT]:
        kind, name = key
        pieces: list[Piece] = [(fit(clean(name), _NAME_COLUMNS, glyphs.cut), "text")]
        for spent in (view.spent_a.get(key), view.spent_b.get(key)):
            pieces += _figures(spent, glyphs)
        yield Block(
            [TextLine(tuple(pieces), ((f" {kind_glyph(kind, glyphs)} ", "model" if kind == "llm" else "text"),))]
        )
    if len(keys) > _MOST_SPENT:
        yield Block([TextLine(((f"   {len(keys) - _MOST_SPENT:,} more", "note"),))])


def _figures(spent: Spent | None, glyphs: Glyphs) -> Sequence[Piece]:
    calls = glyphs.interrupted if spent is None else f"{fmt.count(spent.calls)}{glyphs.times}"
    time = "" if spent is None else glyphs.interrupted
    if spent is not None and spent.duration_us is not None:
        time = fmt.duration(spent.duration_us / 1e6)
    return [
        (fit(calls, _CALLS_COLUMNS, glyphs.cut, "right"), "text"),
        (fit(time, _TIME_COLUMNS, glyphs.cut, "right"), "muted"),
    ]


def _title(title: str, detail: str = "") -> Block:
    return Block([_BLANK, TextLine(((title.upper(), "title"), (f"  {detail}" if detail else "", "muted")))])


def _wrapped(pieces: Sequence[Piece], lead: tuple[Piece, ...], columns: int, least: int | None = None) -> Block:
    lines, wide = [], sum(width(text) for text, _ in lead)
    for row in wrap(pieces, columns - wide):
        lines.append(TextLine(row, lead))
        lead = ((" " * wide, "muted"),)
    return Block(lines, least)
