"""The options of `fork` that say what it does with calls, and how what was chosen is shown before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt_tui.cli.terminal import Cell, Role, Terminal

__all__ = ["policy_options", "print_boundary", "what_is_known"]

F = TypeVar("F", bound="Callable[..., Any]")

_ROLES: dict[str, Role] = {"live": "well", "deny": "failed", "ask": "running"}
_LONGEST = 40

_OPTIONS = (
    click.option("--allow", multiple=True, metavar="TOOL", help="Let this tool write: short for --policy TOOL=live."),
    click.option(
        "--policy",
        "policies",
        multiple=True,
        metavar="NAME=WORD",
        help="What becomes of a tool's calls, of a pattern's or *llm, *read, *write, *http, *subprocess, *socket: live,"
        " recorded, recorded-or-ask, stub:JSON, error:TEXT, ask, deny.",
    ),
)


def policy_options(command: F) -> F:
    """Give a command both; see `fork_request`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def print_boundary(terminal: Terminal, plan: ForkPlan) -> None:
    """Write what the run called, and what the fork does with each of it."""
    from agent_tt_tui.cli.terminal import Cell, Column

    columns = (
        Column("BOUNDARY", flexible=True),
        Column("SEEN", "right"),
        Column("EXPECT", "right"),
        Column("POLICY"),
        Column("FROM"),
    )
    rows = [
        [
            Cell(f"{row.name} ({what_is_known(row)})"),
            Cell(str(row.seen)),
            Cell(str(row.expected)),
            _word(terminal, plan, row),
            Cell("" if row.follows_caller else _where(row), "muted"),
        ]
        for row in plan.boundary
    ]
    terminal.table(columns, rows)


def what_is_known(row: Boundary) -> str:
    """What it does, as far as that is known."""
    if not row.is_held:
        return "not all its calls are seen" if row.kept_by else "nothing records it"
    return "writes" if row.effect == "write" else row.kind


def _word(terminal: Terminal, plan: ForkPlan, row: Boundary) -> Cell:
    from agent_tt_tui.cli.terminal import Cell

    if plan.terms.is_mock and row.kind == "llm":
        return Cell("mock", "muted")
    if row.follows_caller:
        return Cell("as its caller", "muted")
    return Cell(terminal.short(row.rule.text, _LONGEST), _ROLES.get(row.policy, "changed"))


def _where(row: Boundary) -> str:
    """Who says so: `default`, `you`, a variable, or a file."""
    return place_words(row.rule.where)


def place_words(place: str) -> str:
    """A file as one would write it from here; any other word as it is."""
    path = Path(place)
    if not path.is_absolute():
        return place
    for folder, shown in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(folder):
            return shown + path.relative_to(folder).as_posix()
    return place
