"""What the debugger says about the whole run: in the header how it ended and why, and beside the timeline's title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Fact, HeaderState
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.status import run_glyph, run_tone
from agent_tt_tui.text import clean, width
from agent_tt_tui.viewmodel.debugger.marked_steps import MADE_UP_WORDS, why_stopped

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.look import Look
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel


_TITLE_COLUMNS: Final = 14
"""What the timeline's title and the space after it need."""

_TITLE_COLUMNS_BEFORE_ODD: Final = 12
"""The same, where the hint ends in what is odd."""


def run_header(model: RunModel, glyphs: Glyphs, *, waits: bool = False) -> HeaderState:
    """Put together the header.

    Args:
        model: The run; only what is at hand of it is looked at.
        glyphs: The glyphs to use.
        waits: Whether one of its calls waits for a decision.
    """
    run = model.run
    chip = f"{glyphs.edited} {model.pending.words}" if model.pending is not None else ""
    cause, step = _cause(model)
    if waits:
        return HeaderState(run.name, glyphs.person, "waits for you", "yours", cause, step, chip, _facts(model, run))
    if run.damaged is not None:  # how it ended is not known either
        return HeaderState(run.name, glyphs.unknown, "damaged", "failed", cause, step, chip, _facts(model, run))
    return HeaderState(
        run.name, run_glyph(run.status, glyphs), run.status, run_tone(run.status), cause, step, chip, _facts(model, run)
    )


def timeline_hint(model: RunModel, number: int, columns: int, look: Look) -> str:
    """Say beside the timeline's title how many steps there are or which lanes, and what is odd.

    Args:
        model: The run; only what is at hand of it is looked at.
        number: The step that is shown.
        columns: The width of the timeline.
        look: Glyphs and keys.
    """
    hint = _lanes_or_steps(model, number, columns - _TITLE_COLUMNS, look.glyphs)
    if not model.oddities:
        return hint
    key = look.key(DEBUGGER.command("odd.open"))
    kinds = ", ".join(dict.fromkeys(oddity.kind for oddity in model.oddities))
    dot, counted = f" {look.glyphs.dot} ", f"{len(model.oddities)} odd"
    hints = (f"{hint}{dot}{key} {kinds}", f"{hint}{dot}{key} {counted}", f"{key} {counted}")
    return next((text for text in hints if width(text) <= columns - _TITLE_COLUMNS_BEFORE_ODD), hints[-1])


def _lanes_or_steps(model: RunModel, number: int, room: int, glyphs: Glyphs) -> str:
    lanes, last = model.overview.lanes, model.last
    if len(lanes) < 2:
        return fmt.counted(last, "step")
    names = f" {glyphs.dot} ".join(clean(lane) for lane in lanes)
    if width(names) <= room:
        return names
    here = model.overview.lane_index(number) if number else None
    return f"{len(lanes)} lanes" if here is None else f"lane {clean(lanes[here])}"


def _cause(model: RunModel) -> tuple[str, int | None]:
    """Why the run ended as it did, and at which step."""
    run, errors = model.run, model.overview.errors
    last = errors[-1] if errors else None
    if run.damaged is not None:
        return run.damaged, None
    if run.incomplete is not None:
        return run.incomplete, None
    if run.status == "crashed":
        # Of another system's file nobody knows whether something still writes to it.
        gone = "it did not come to an end" if run.read_only else "its process is gone"
        return why_stopped(run) or gone, model.last or None
    if run.status == "interrupted" and (limit := why_stopped(run)):
        return limit, None
    if run.standing is not None:
        return run.standing, None
    if run.status != "failed":
        survived = f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
        return (survived if run.status == "running" else f"{survived}, survived", None) if errors else ("", None)
    if len(errors) > 1:
        return f"{len(errors)} errors, last", last
    text = run.error.message.partition("\n")[0] or run.error.short if run.error is not None else ""
    return text, last


def _facts(model: RunModel, run: Run) -> tuple[Fact, ...]:
    facts = [Fact(fmt.counted(model.last, "step"), 1)]
    if run.ended_us is not None:
        facts.append(Fact(fmt.duration((run.ended_us - run.started_us) / 1_000_000)))
    tokens = (run.tokens_in or 0) + (run.tokens_out or 0)
    if tokens:
        facts.append(Fact(fmt.tokens(tokens), 4))
    if run.cost_usd:
        facts.append(Fact(fmt.cost(run.cost_usd, run.unpriced), 3))
    if run.agent:
        version = f" v{run.code.version}" if run.code.version else ""
        facts.append(Fact(f"{run.agent}{version}", 2))
    made_up = _is_made_up(run)
    known = (
        ("incomplete", run.incomplete is not None),
        (f"models {MADE_UP_WORDS}", made_up),
        ("pinned", run.pinned),
        ("archived", run.archived),
    )
    marks = [word for word, holds in known if holds]
    if model.noted:
        marks.append(fmt.counted(model.noted, "note"))
    return (*facts, *(Fact(mark, 0) for mark in marks))


def _is_made_up(run: Run) -> bool:
    """Whether the answers of its models were made up."""
    if run.facts.fork_terms.executor is None:
        return False
    from agent_tt.forking.terms import terms_of

    return terms_of(run).is_mock
