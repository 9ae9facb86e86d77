"""What several runs came to, for people: equal answers under letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.cli.terminal import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.runs.equal_answers import Answer
    from agent_tt_tui.cli.terminal import Terminal

__all__ = ["print_answers"]

_MOST: Final = 12


def print_answers(terminal: Terminal, about: str, groups: Sequence[Answer], different: int, succeeded: int) -> None:
    """Write each answer on a line, with its letter and how often it came; nothing where there is none.

    Args:
        terminal: Where to.
        about: What they answer.
        groups: The answers.
        different: How many different ones there are.
        succeeded: Among how many runs.
    """
    if not groups:
        return
    terminal.line()
    said = f"{different} different in {succeeded}" if succeeded else "no run succeeded"
    terminal.line(Cell(terminal.safe(about).upper() + "  ", "muted"), Cell(said, "muted"))
    for answer in groups[:_MOST]:
        head = f"{answer.letter} {answer.count:>4}{terminal.glyphs.times}  "
        text = terminal.short(answer.text, terminal.columns - len(head))
        terminal.line(Cell(head, "muted"), Cell(text, "failed" if answer.failed else "text"))
    if len(groups) > _MOST:
        terminal.line(Cell(f"{terminal.glyphs.cut} {len(groups) - _MOST} more", "muted"))
