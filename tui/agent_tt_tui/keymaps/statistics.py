"""The keys of the statistics."""

from __future__ import annotations

from dataclasses import replace

from agent_tt_tui.commands import Command, Context, Group
from agent_tt_tui.keymaps.shared import CHOOSE, EVERYWHERE, MOVES

STATISTICS_OPEN = Command(
    "stats.open",
    "statistics",
    ("I",),
    "Show statistics: how runs ended, what they took and cost, by day and agent",
    footer="statistics",
    rank=89,
)

STATISTICS = Context(
    "Statistics",
    (
        EVERYWHERE,
        Group(
            "Statistics",
            (
                *MOVES,
                replace(CHOOSE, help="Count only this agent, or open the run at this step", footer="open", rank=10),
                Command("stats.by", "by(1)", ("b",), "Group by the next: agent, day, model", footer="by", rank=20),
                Command("stats.by_back", "by(-1)", ("B",), "Group by the previous"),
                Command("stats.period", "period", ("p",), "Count a shorter time, or all", footer="since", rank=30),
                Command("stats.agent", "agent", ("a",), "Count one agent, or all", footer="agent", rank=40),
                Command("stats.read", "read_again", ("r",), "Count again", footer="count again", rank=60),
                Command("stats.copy", "copy", ("y",), "Copy the command that counts the same", footer="copy", rank=50),
            ),
        ),
    ),
)
