"""Tests that are watched while the app is open: how they stand after each event, and the line that says it."""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.golden.watching import Began, Ended, Saved, Unread
from agent_tt.model.usage import NO_USAGE
from agent_tt_tui.format import cost, counted, short_path, total_tokens
from agent_tt_tui.status import verdict_glyph
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.golden.kept_tests import VERDICT_ROLES, standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from agent_tt.golden.rule import Verdict
    from agent_tt.golden.watching import Event
    from agent_tt.replaying.report import LivePart
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece

__all__ = ["Watched", "asked_and_saved"]


@dataclass(frozen=True, slots=True)
class Watched:
    """How the tests stand that are watched.

    Attributes:
        live: Whether calls that nothing recorded answers are made for real, as far as the policy lets them.
        latest: What happened last; None where nothing has yet.
        saved: The files that were saved last.
        due: How many tests run because of that.
        running: The name of the test that runs; "" where none does.
        outcomes: What came of each test last, by its file.
        round: What happened to tests since files were saved last, in order.
    """

    live: bool = False
    latest: Event | None = None
    saved: tuple[Path, ...] = ()
    due: int = 0
    running: str = ""
    outcomes: Mapping[Path, Verdict] = field(default_factory=dict)
    round: tuple[Ended | Unread, ...] = ()

    def after(self, event: Event) -> Watched:
        """How they stand after an event."""
        match event:
            case Saved():
                return replace(self, latest=event, saved=event.files, due=len(event.goldens), round=())
            case Began():
                return replace(self, latest=event, running=event.golden.name)
            case Ended():
                path, outcome = event.result.golden.path, event.result.outcome
            case Unread():
                path, outcome = event.path, "unknown"
        known = {**self.outcomes, path: outcome}
        return replace(self, latest=event, running="", outcomes=known, round=(*self.round, event))

    def pieces(self, glyphs: Glyphs) -> Iterator[Piece]:
        """The line at the foot: what was saved, what broke and was mended, how all stand, what was asked and saved."""
        yield "watching", "muted"
        if self.live:
            yield ", calls for real", "note"
        if self.saved:
            verb = "was" if len(self.saved) == 1 else "were"
            yield f"  {clean(', '.join(map(short_path, self.saved)))} {verb} saved", "text"
        if self.running:
            yield f"  {glyphs.still} {clean(self.running)} runs", "note"
        ended = [each for each in self.round if isinstance(each, Ended)]
        changes: tuple[tuple[str, Verdict], ...] = (("broke", "failed"), ("mended", "passed"))
        for change, verdict in changes:
            if names := ", ".join(each.result.golden.name for each in ended if each.change == change):
                said = f"{names} {'broke' if change == 'broke' else 'is mended'}"
                yield f"  {verdict_glyph(verdict, glyphs)} {clean(said)}", VERDICT_ROLES[verdict]
        if not self.running and len(self.round) >= self.due:  # else what is known of some is not so any more
            for verdict, words in standing([*self.outcomes.values()]):
                yield f"  {words}", VERDICT_ROLES[verdict]
        lives = [each.result.live for each in ended if each.result.live is not None]
        if lives:
            yield f"  {clean(asked_and_saved(lives, glyphs.times))}", "muted"
        if reason := next(filter(None, map(_reason, self.round)), ""):
            yield f"  {clean(reason)}", "text"


def _reason(event: Ended | Unread) -> str:
    """Why a test did not pass, with its name; "" where it did."""
    if isinstance(event, Unread):
        return f"{event.path.stem}: could not run: {event.problem}"
    result = event.result
    return "" if result.outcome == "passed" else f"{result.golden.name}: {result.first}"


def asked_and_saved(lives: Iterable[LivePart], times: str) -> str:
    """What was made for real, and what was not: `asked search_docs 2×; saved 4 calls, 1,204 tokens, $0.002`.

    Args:
        lives: What of each test was.
        times: The sign behind how often a call was made.
    """
    lives = tuple(lives)
    names = Counter(call.name for live in lives for call in live.made)
    asked = ", ".join(f"{name} {number}{times}" if number > 1 else name for name, number in names.items()) or "nothing"
    cheaper = sum((live.saved for live in lives), NO_USAGE)
    saved = [counted(sum(live.answered for live in lives), "call")]
    if (total := total_tokens(cheaper.tokens_in, cheaper.tokens_out)) is not None:
        saved.append(f"{total:,} tokens")
    if cheaper.cost_usd is not None:
        saved.append(cost(cheaper.cost_usd))
    return f"asked {asked}; saved {', '.join(saved)}"
