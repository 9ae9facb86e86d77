"""What a run did to the world, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.steps.effects import EffectRow, Effects
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.shapes.records import Shape

__all__ = ["effects_shape", "unrecorded_tools"]


def unrecorded_tools(source: RunSource, run: Run) -> tuple[str, ...]:
    """The tools that ran in the process of a run, as its conversations show, and of which it recorded no call."""
    from agent_tt.comparing.steps.asked_tools import read_asked_tools
    from agent_tt.replaying.tape.full_history import course_of

    return tuple(read_asked_tools(source, run, first=course_of(source, run)[0].first).answered)


def effects_shape(effects: Effects, unrecorded: Sequence[str] = ()) -> Shape:
    """`{effects: [{step, call, where, kind, name, happened, …}], held_back, reads, models, summary, unrecorded}`."""
    return {
        "effects": [_row_shape(row) for row in effects.rows],
        "held_back": [_row_shape(row) for row in effects.held_back],
        "reads": dict(effects.reads),
        "models": dict(effects.models),
        "summary": effects.summary(),
        "unrecorded": list(unrecorded),
    }


def _row_shape(row: EffectRow) -> Wire:
    return {
        "step": row.step or None,
        "call": row.call or None,
        "where": row.where or None,
        "lane": row.lane,
        "kind": row.kind,
        "name": row.name,
        "effect": row.effect,
        "happened": row.happened,
        "because": row.because,
        "args": row.args,
        "asked": dict(row.asked),
        "result": row.result,
        "error": row.error or None,
        "file": row.site.get("file"),
        "line": row.site.get("line"),
        "inside": row.inside,
    }
