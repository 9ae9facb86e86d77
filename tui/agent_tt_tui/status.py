"""How the status of a run and the kind of a step are said on every screen: glyph, word and tone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.style import Style

    from agent_tt.golden.rule import Verdict
    from agent_tt.model import RunStatus, Step
    from agent_tt.sweeping.matrix import SampleStatus
    from agent_tt_tui.chrome import Tone
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette


def run_glyph(status: RunStatus, glyphs: Glyphs) -> str:
    """The glyph of a run's status."""
    return {
        "running": glyphs.still,
        "succeeded": glyphs.well,
        "failed": glyphs.failed,
        "interrupted": glyphs.interrupted,
        "crashed": glyphs.crashed,
        "unknown": glyphs.unknown,
    }[status]


def run_tone(status: RunStatus) -> Tone:
    """The tone that the header says a run's status in."""
    tones: dict[RunStatus, Tone] = {
        "running": "running",
        "succeeded": "well",
        "failed": "failed",
        "interrupted": "muted",
        "crashed": "failed",
        "unknown": "muted",
    }
    return tones[status]


def run_style(status: RunStatus, styles: Palette) -> Style:
    """The style of a run's status."""
    tones: dict[Tone, Style] = {
        "running": styles.running,
        "well": styles.well,
        "failed": styles.failed,
        "muted": styles.muted,
        "yours": styles.yours,
    }
    return tones[run_tone(status)]


def sample_glyph(status: SampleStatus, glyphs: Glyphs) -> str:
    """The glyph of what became of a sample of a sweep; one that broke off is to be taken again."""
    return {
        "waiting": glyphs.ambient,
        "running": glyphs.still,
        "succeeded": glyphs.well,
        "failed": glyphs.failed,
        "stopped": glyphs.interrupted,
        "crashed": glyphs.crashed,
        "broken": glyphs.unknown,
    }[status]


def verdict_glyph(verdict: Verdict, glyphs: Glyphs) -> str:
    """The glyph of what a rule of a test says of a run, and of what came of a test."""
    return {"passed": glyphs.well, "failed": glyphs.failed, "unknown": glyphs.unknown}[verdict]


def verdict_style(verdict: Verdict, styles: Palette) -> Style:
    """The style of such a glyph."""
    return {"passed": styles.well, "failed": styles.failed, "unknown": styles.changed_mark}[verdict]


_KIND_SIGNS: Final = {
    "write": "writes",
    "read": "reads",
    "http": "http",
    "llm": "model",
    "human": "person",
    "other": "ambient",
}


def kind_glyph(kind: str | None, glyphs: Glyphs) -> str:
    """The glyph of a step's kind: its strongest call."""
    glyph: str = getattr(glyphs, kind_sign(kind))
    return glyph


def kind_sign(kind: str | None) -> str:
    """The name of that glyph."""
    return _KIND_SIGNS.get(kind or "", "code")


def step_style(step: Step, styles: Palette) -> Style:
    """The style of a step's glyph: failed, by a model, or plain."""
    if step.status == "error":
        return styles.failed
    return styles.model if step.kind == "llm" else styles.text
