"""What was found: as text while it is found, as a file, and as the tables of the README and of `docs/peers.md`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.benchmarks.refund_peers.trial import FAILED, PAID, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.benchmarks.refund_peers.tools import Tool

FILE: Final = Path(__file__).parents[1] / "refund_peers.json"
"""What `--write` found last."""
COMMAND: Final = "python -m tests.benchmarks.refund_peers"


@dataclass(frozen=True, slots=True)
class Result:
    """What was found of one tool."""

    name: str
    version: str
    docs: str
    forks: bool
    """Whether it goes on from a step with real calls, as in `Tool`."""
    outcomes: tuple[Outcome, ...]
    """One for each way that was tried, the one without options first; none where the tool was not installed."""
    not_installed: str | None = None
    """Why pip could not install it."""

    @classmethod
    def of(cls, tool: Tool, outcomes: Sequence[Outcome], *, not_installed: str | None = None) -> Result:
        return cls(tool.name, tool.version, tool.docs, tool.forks, tuple(outcomes), not_installed)

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def known(self) -> bool:
        """Whether its first way was tried and came to an end, so that it can be counted."""
        return bool(self.outcomes) and self.outcomes[0].result != FAILED


@dataclass(frozen=True, slots=True)
class Report:
    """What was found of all tools on one day."""

    date: str
    """The day, in UTC, as `2026-01-31`."""
    python: str
    results: tuple[Result, ...]

    def write(self) -> None:
        """Write it to `FILE`."""
        FILE.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load() -> Report:
    """Read `FILE`."""
    data: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    results = []
    for row in data.pop("results"):
        outcomes = tuple(Outcome(**{**o, "amounts": tuple(o["amounts"])}) for o in row.pop("outcomes"))
        results.append(Result(**row, outcomes=outcomes))
    return Report(**data, results=tuple(results))


def text(result: Result) -> str:
    """One tool, for the terminal."""
    if result.not_installed is not None:
        return f"{result.title}\n  not installed: {result.not_installed}"
    lines = [f"{result.title}  {result.docs}"]
    for outcome in result.outcomes:
        amounts = f" ({', '.join(map(str, outcome.amounts))})" if outcome.amounts else ""
        lines.append(f"  {outcome.way}\n    {outcome.result}{amounts}" + (f": {outcome.said}" if outcome.said else ""))
    return "\n".join(lines)


def markdown(report: Report) -> str:
    """The README's table: what became of the refund where nobody asked for anything, and with which tools."""
    found: dict[str, list[str]] = {}
    for result in report.results:
        if result.known:
            kind = result.outcomes[0].result
            if not result.forks and kind != PAID:
                kind = "not paid: they replay, and do not go on from a step"
            found.setdefault(kind, []).append(result.title)
    rows = [f"| {what} | {', '.join(titles)} |" for what, titles in found.items()]
    made = (
        f"Found on {report.date} by `{COMMAND}`, each tool used as its own documentation shows, without options.\n"
        "[Some can be told](docs/peers.md#how-far-this-goes) to hold it back."
    )
    return "\n".join(["| the refund was | forked with |", "|---|---|", *rows, "", made]) + "\n"


def details(report: Report) -> str:
    """The table of `docs/peers.md`: every way that was tried."""
    lines = ["| tool | what was done | what became of the refund |", "|---|---|---|"]
    for result in report.results:
        tool = f"[{result.title}]({result.docs.removeprefix('docs/')})"
        if result.not_installed is not None:
            lines.append(f"| {tool} | | not installed |")
        for outcome in result.outcomes:
            said = f": `{outcome.said}`" if outcome.said else ""
            lines.append(f"| {tool} | {outcome.way} | {outcome.result}{said} |")
            tool = ""
    return "\n".join(lines) + f"\n\nFound on {report.date} with Python {report.python}.\n"
