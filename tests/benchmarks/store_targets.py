"""What `bench_store` found: judged by what must be reached, and as tables."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.store_long import MOST

__all__ = ["Row", "judged", "kept", "load", "markdown", "shown"]

PATH: Final = Path(__file__).with_name("store.json")
OURS: Final = ("agent-tt", "agent-tt, tracked", "agent-tt, with a tool call")
COLUMNS: Final = {"p50": "p50", "p99": "p99", "cpu": "processor", "size": "MB"}


@dataclass(frozen=True)
class Row:
    """A figure of ours beside what it is compared with.

    Attributes:
        name: what it is.
        ours: our figure.
        other: the other one.
        most: what ours may be, as a multiple of the other one.
        reached: whether it is no more.
    """

    name: str
    ours: float
    other: float
    most: float
    reached: bool

    def __str__(self) -> str:
        told = "reached" if self.reached else "missed"
        figures = f"{self.ours:10.3f}{self.other:10.3f}{ratio(self.ours, self.other):>9}{_most(self.most):>9}"
        return f"{self.name:58}{figures}  {told}"


def ratio(ours: float, other: float) -> str:
    """How many times less ours is, or how many times more."""
    if ours <= other:
        return f"÷ {other / ours:,.4g}" if ours else "÷ ∞"
    return f"× {ours / other:,.3g}"


def _most(most: float) -> str:
    return f"÷ {1 / most:,.4g}" if most < 1 else f"× {most:.3g}"


_TARGETS: Final = (
    ("chat 1,000", "agent-tt", "p50", "SqliteSaver", 1 / 12),
    ("chat 1,000", "agent-tt", "p99", "SqliteSaver", 1 / 12),
    ("chat 1,000", "agent-tt", "cpu", "SqliteSaver", 1 / 10),
    ("chat 1,000", "agent-tt", "size", "SqliteSaver", 1 / 600),
    ("chat 1,000", "agent-tt, tracked", "p50", "SqliteSaver", 1 / 20),
    ("chat 1,000", "agent-tt, with a tool call", "p50", "SqliteSaver", 1 / 12),
    ("chat 1,000", "agent-tt, with a tool call", "p99", "SqliteSaver", 1 / 12),
    ("chat 1,000", "agent-tt, with a tool call", "cpu", "SqliteSaver", 1 / 10),
    ("5,000 keys", "agent-tt", "p50", "orjson in SQLite", 1.2),
    ("5,000 keys", "agent-tt", "p99", "orjson in SQLite", 1),
    ("5,000 keys", "agent-tt, tracked", "p50", "orjson in SQLite", 1),
    ("5,000 keys", "agent-tt, tracked", "p99", "orjson in SQLite", 1),
    ("documents", "agent-tt", "p99", "SqliteSaver", 1),
)


def judged(found: dict[str, Any]) -> list[Row]:
    """What must be reached, of what was measured."""
    rows: list[Row] = []

    def judge(name: str, ours: float, other: float, most: float) -> None:
        rows.append(Row(name, ours, other, most, ours <= most * other))

    recording = found["recording"]
    for load_name, way, column, other, most in _TARGETS:
        by_way = recording.get(load_name, {})
        if way in by_way and other in by_way:
            judge(f"{load_name}, {way}: {COLUMNS[column]} / {other}", by_way[way][column], by_way[other][column], most)
    long = recording.get("chat 5,000", {}).get("agent-tt, tracked")
    if long:
        judge("chat 5,000, tracked: its last tenth / its first steps", long["last"], long["first"], 1.2)
        if not found["in_memory"]:
            judge("chat 5,000, tracked: its last tenth / the disk's commit", long["last"], found["disk"], 3)
    read = found["reading"]
    for name, other, most in (
        ("read any state", "SqliteSaver", 2),
        ("diff of neighbours", "DeepDiff", 1 / 500),
        ("list all steps", "SqliteSaver", 1 / 1000),
    ):
        if name in read:
            judge(f"{name} / {other}", read[name], read[f"{name}, {other}"], most)
    for name, figure in found["long"].items():
        judge(f"10,000 steps: {name}", figure, MOST[name], 1)
    rates = found["processes"]
    if rates:
        judge("steps a second: one process / 16 processes", rates["1"], rates["16"], 1 / 0.9)
    graph = found["graph"]
    for ours, other in (("ours", "SqliteSaver"), ("ours", "SqliteSaver, DeltaChannel")):
        for column in ("cpu", "size"):
            if graph:
                judge(f"graph, {COLUMNS[column]} / {other}", graph[ours][column], graph[other][column], 1)
    return rows


def shown(found: dict[str, Any], rows: list[Row]) -> str:
    """The tables as text."""
    lines = [f"medians of {found['rounds']} rounds; a commit of 1.5 KB takes {found['disk']:.3f} ms", ""]
    for name, by_way in found["recording"].items():
        lines.append(f"{name:30}{'p50 ms':>10}{'p99 ms':>10}{'CPU ms':>10}{'first':>10}{'last':>10}{'MB':>12}")
        for way, row in by_way.items():
            figures = "".join(f"{row[column]:10.3f}" for column in ("p50", "p99", "cpu", "first", "last"))
            lines.append(f"  {way:28}{figures}{row['size']:12.2f}")
    for name, row in found["graph"].items():
        lines.append(f"graph, {name:40}{row['cpu']:10.3f} ms CPU a superstep{row['size']:10.2f} MB")
    lines += [f"{name:40}{value:10.3f} ms" for name, value in found["reading"].items()]
    lines += [f"{count + ' processes, steps a second':40}{rate:10.0f}" for count, rate in found["processes"].items()]
    if rows:
        lines += ["", f"{'':58}{'ours':>10}{'other':>10}{'ratio':>9}{'at most':>9}", *map(str, rows)]
    return "\n".join(lines)


def kept(found: dict[str, Any]) -> None:
    """Keep what was found, for the README."""
    said = {"found": dt.datetime.now(dt.UTC).date().isoformat(), **found}
    PATH.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load() -> dict[str, Any]:
    """What was kept."""
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


_TABLE: Final = {
    "agent-tt": "agent-tt",
    "agent-tt, tracked": "[tracked](docs/record.md#a-large-state)",
    "SqliteSaver": "SqliteSaver",
    "orjson in SQLite": "orjson",
    "orjson + zstd in SQLite": "orjson + zstd",
    "agentrr": "agentrr",
    "clearstone-sdk": "clearstone-sdk",
}
"""The ways that the README shows, and what they are called there."""


def markdown(found: dict[str, Any]) -> str:
    """What a step takes in each way, for people; what is better than ours is bold."""
    named = {"ours": "agent-tt", "SqliteSaver": "SqliteSaver"}
    every = dict(found["recording"])
    lines = [f"| states | {' | '.join(_TABLE.values())} |", "|---" * (len(_TABLE) + 1) + "|"]
    for name, by_way in every.items():
        best = {
            column: min(by_way[way][column] for way in OURS[:2] if way in by_way) for column in ("p50", "cpu", "size")
        }
        cells = [_cell(way, by_way.get(way), best) for way in _TABLE]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    graph = found["graph"]
    place = " --memory` in a file system in memory" if found["in_memory"] else "`"
    said_how = (
        "Milliseconds of most steps by the clock, milliseconds of the processor on average, and megabytes; "
        f"medians of {found['rounds']} rounds, found on {found['found']} "
        f"by `python tests/benchmarks/bench_store.py{place}, "
        f"where a commit of 1.5 KB took {found['disk']:.2g} ms. **Bold** is less than ours; – was not measured."
        f"{' The slowest steps are not compared: others worked on the machine.' if found['in_memory'] else ''}"
    )
    lines += ["", said_how]
    if graph:
        said = [
            f"{called} {graph[name]['cpu']:.2g} ms of the processor and {graph[name]['size']:.2g} MB"
            for name, called in {**named, "SqliteSaver, DeltaChannel": "SqliteSaver with DeltaChannel"}.items()
        ]
        lines.append(f"A graph of LangGraph of 200 turns took a superstep and all in all: {'; '.join(said)}.")
    missed = [
        row for row in found["judged"] if not row["reached"] and not (found["in_memory"] and "p99" in row["name"])
    ]
    if missed:
        lines.append(
            "Of what we ask of it, missed were: "
            + "; ".join(
                f"{row['name']} ({ratio(row['ours'], row['other'])}, at most {_most(row['most'])})" for row in missed
            )
            + "."
        )
    return "\n".join(lines) + "\n"


def _cell(way: str, row: dict[str, float] | None, best: dict[str, float]) -> str:
    if row is None:
        return "–"
    return " · ".join(
        f"**{_figure(row[column])}**" if way not in OURS and row[column] < least else _figure(row[column])
        for column, least in best.items()
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
