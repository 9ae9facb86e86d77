"""What commands say of goldens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.cli.terminal import Cell, Role, Terminal

if TYPE_CHECKING:
    from agent_tt.golden.rule import Verdict
    from agent_tt.golden.running import GoldenResult

__all__ = ["mark", "result_line", "tell_result"]

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
