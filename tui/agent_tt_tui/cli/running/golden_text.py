"""What commands say of goldens."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tt_tui.cli.terminal import Cell, Role, Terminal
from agent_tt_tui.format import cost, counted, total_tokens

if TYPE_CHECKING:
    from agent_tt.golden.rule import Verdict
    from agent_tt.golden.running import GoldenResult
    from agent_tt.replaying.report import LivePart

__all__ = ["FOLDER", "asked_and_saved", "mark", "result_line", "tell_result"]

FOLDER: Final = Path("tests/agents")
"""Where goldens are kept unless something else is said."""

_ROLES: Final[dict[Verdict, Role]] = {"passed": "well", "failed": "failed", "unknown": "changed"}


def mark(terminal: Terminal, verdict: Verdict) -> Cell:
    """The sign of a verdict."""
    glyphs = terminal.glyphs
    return Cell({"passed": glyphs.well, "failed": glyphs.failed, "unknown": glyphs.unknown}[verdict], _ROLES[verdict])


def result_line(terminal: Terminal, verdict: Verdict, name: str, *said: str) -> None:
    """Say in one line what came of a golden."""
    words = [part for each in said if each for part in ("  ", terminal.safe(each))]
    terminal.line(mark(terminal, verdict), "  ", Cell(terminal.safe(name), "strong"), *words)


def tell_result(terminal: Terminal, result: GoldenResult, change: str = "") -> None:
    """Say what came of a golden; `change` is what that means after the time before."""
    result_line(terminal, result.outcome, result.golden.name, change, result.first)
    for remark in result.remarks:
        terminal.line("  ", Cell(terminal.safe(remark), "muted"))
    if result.outcome == "passed":
        return
    for line in result.lines()[1:]:
        terminal.line("  ", line[: len(line) - len(line.lstrip())], terminal.safe(line.lstrip()))


def asked_and_saved(live: LivePart) -> str:
    """What was made for real, and what was not: `asked search_docs 2×; saved 4 calls, 1,204 tokens, $0.002`."""
    names = Counter(call.name for call in live.made)
    asked = ", ".join(f"{name} {number}×" if number > 1 else name for name, number in names.items()) or "nothing"
    saved = [counted(live.answered, "call")]
    if (total := total_tokens(live.saved.tokens_in, live.saved.tokens_out)) is not None:
        saved.append(f"{total:,} tokens")
    if live.saved.cost_usd is not None:
        saved.append(cost(live.saved.cost_usd))
    return f"asked {asked}; saved {', '.join(saved)}"
