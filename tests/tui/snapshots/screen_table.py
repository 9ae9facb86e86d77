"""Every screen in its main states: what it opens with, and the keys to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.tui.replay_reports import finding, near, report
from tests.tui.snapshots.recorded_runs import ask, begin_live, record_talk
from tests.tui.snapshots.still_world import MONDAY
from textual.keys import _character_to_key

from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.ran import Ran
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.screens.compare.table import TableScreen
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.screens.dialogs.log import LogDialog
from agent_tt_tui.screens.golden.kept import GoldensScreen
from agent_tt_tui.screens.running.replayed import ReplayedDialog
from agent_tt_tui.screens.runs.empty import EmptyScreen
from agent_tt_tui.screens.runs.screen import RunsScreen
from agent_tt_tui.screens.statistics.screen import StatisticsScreen
from agent_tt_tui.screens.sweep.screen import SweepScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.tui.snapshots.still_world import HandClock
    from textual.screen import Screen

    from agent_tt.store import SqliteStore


@dataclass(frozen=True)
class World:
    """What a screen is opened with."""

    store: SqliteStore
    clock: HandClock


@dataclass(frozen=True)
class Shown:
    """One screen in one state.

    Attributes:
        name: of its pictures.
        opens: makes the screen to begin with.
        keys: pressed then, one after the other.
        says: words that stand on the screen once it is there.
        over: makes a dialog that is opened after the keys.
        sizes: further sizes than the three of all screens.
        look: how it is drawn, where that is not as usual.
        env: environment variables.
    """

    name: str
    opens: Callable[[World], Screen[None]]
    keys: tuple[str, ...] = ()
    says: str = ""
    over: Callable[[World], Screen[object]] | None = None
    sizes: tuple[tuple[int, int], ...] = ()
    look: dict[str, object] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)


NARROW = (60, 18)


def runs(world: World) -> RunsScreen:
    return RunsScreen(world.store)


def at(name: str, step: int | None = None) -> Callable[[World], DebuggerScreen]:
    return lambda world: DebuggerScreen(world.store, world.store.run(name), step)


def compare(a: str, b: str) -> Callable[[World], CompareScreen]:
    return lambda world: CompareScreen(world.store, world.store.run(a), world.store, world.store.run(b))


def live(*, asks: bool = False) -> Callable[[World], DebuggerScreen]:
    def opens(world: World) -> DebuggerScreen:
        writer = begin_live(world.store, world.clock)
        if asks:
            ask(writer, world.clock)
        return DebuggerScreen(world.store, world.store.run(writer.run_id))

    return opens


def talk(world: World) -> DebuggerScreen:
    return DebuggerScreen(world.store, world.store.run(record_talk(world.store, world.clock)), 1)


def typed(text: str) -> tuple[str, ...]:
    return tuple(_character_to_key(character) for character in text)


def log(world: World) -> LogDialog:
    """A fork that ran, and a replay before it."""
    command = f"agent-tt fork {LOOP} --at 2 --set budget.max_searches=3 --policy search_docs=live"
    run_id = world.store.run(f"{LOOP}/fork-2").id
    ran = (
        Ran("fork", f"{LOOP}, from step 2", command, "", world.store, run_id, MONDAY + 3.98 * 3_600),
        Ran("replay", LOOP, f"agent-tt replay {LOOP}", at=MONDAY + 3.95 * 3_600),
    )
    return LogDialog((), ran)


REPORT = report(finding(nearest=(near(4), near(6, 0.3))), output="searching\nsearching again\n")
LOOP, TEAM, TRIP, SHOPPING = "refund-loop", "research-team", "trip-planner", "flaky-checkout"

SCREENS = (
    # The list of runs.
    Shown("runs", runs, says="not ended: 2 charge", sizes=(NARROW,)),
    Shown("runs-failed", runs, ("j",), says="ANSWER"),
    Shown("runs-filtered", runs, ("/", *"refund", "enter"), says="4 of 22"),
    Shown("runs-none-match", runs, ("/", *"zebra", "enter")),
    Shown("runs-find-all", runs, ("ctrl+f", *"refund"), says="hits"),
    Shown("runs-empty", lambda _: EmptyScreen(Path("none.db")), says="sample", sizes=(NARROW,)),
    Shown("runs-about", runs, ("j", "A"), says="Reported by"),
    # The debugger and its tabs.
    Shown("debugger", at(LOOP, 3), says="attempts", sizes=(NARROW,)),
    Shown("debugger-error", at(LOOP), says="gave up", sizes=(NARROW,)),
    Shown("debugger-input", at(TRIP, 0)),
    Shown("debugger-team", at(TEAM, 7), says="read"),
    Shown("debugger-call", at(LOOP, 3), ("2",), says="search_docs"),
    Shown("debugger-context", at(LOOP, 9), ("3",), says="step 8 or 1 or 2"),
    Shown("debugger-messages", at(LOOP, 9), ("4",), says="assistant"),
    Shown("debugger-raw", at(LOOP, 3), ("5",), says='"messages"'),
    Shown("debugger-diff", at(TRIP, 6), ("d",)),
    Shown("debugger-zoom", at(TRIP, 6), ("tab", "z")),
    Shown("debugger-ascii", at(LOOP, 3), look={"glyphs": ASCII}),
    Shown("debugger-no-colour", at(LOOP, 3), env={"NO_COLOR": "1"}),
    Shown("debugger-16-colours", at(LOOP, 3), look={"theme": "ansi-dark"}),
    # What is asked of a run.
    Shown("find", at(TEAM), ("/", *"heat"), says="hits"),
    Shown("filter", at(TEAM), ("/", *"kind:model", "enter"), says="kind:model"),
    Shown("blame", at(SHOPPING, 10), ("b",), says="WHO WROTE"),
    Shown("causes", at(TEAM, 7), ("&",)),
    Shown("causes-list", at(TEAM, 7), ("*",)),
    Shown("oddities", at(LOOP, 3), ("O",)),
    Shown(
        "watches",
        at(LOOP, 3),
        (
            "B",
            "a",
            *typed("state.attempts >= 18"),
            "enter",
            "a",
            *typed("state.budget.tokens_left < 30000"),
            "enter",
            "b",
        ),
        says="tokens_left < 30000",
    ),
    Shown("range", at(LOOP, 3), ("|", "right", "right", "right", "right")),
    Shown("columns", at(LOOP, 3), ("C",), sizes=(NARROW,)),
    Shown("go-to", at(LOOP, 3), (":", *"errors"), says="errors"),
    Shown("ending", at(LOOP), ("i",), says="TimeoutError"),
    # Edits, and what is run from them.
    Shown("edit-in-row", at(LOOP, 3), ("tab", "G", "k", "e"), says="still an int"),
    Shown("edit-dialog", at(TRIP, 3), ("tab", "e")),
    Shown("edits-pending", at(LOOP, 3), ("tab", "G", "k", "e", "up", "enter")),
    Shown("fork", at(TRIP, 3), ("f",), says="WRITES", sizes=(NARROW,)),
    Shown("fork-more", at(TRIP, 3), ("f", "m")),
    Shown("replayed", at(LOOP, 3), over=lambda _: ReplayedDialog(REPORT), says="diverged"),
    Shown("replay", at(LOOP), ("r",), sizes=(NARROW,)),
    Shown("resume", at("shop"), ("R",)),
    Shown("ask", live(asks=True), says="waits for you", sizes=(NARROW,)),
    Shown("hold", live(), ("Z",)),
    Shown("live", live()),
    Shown("ask-again", talk, ("Q", "right", "right"), says="67 tok each", env={"OPENAI_API_KEY": "sk-made-up"}),
    Shown("ask-again-refused", at(LOOP, 3), ("Q",), says="cannot be sent again"),
    Shown("log", at(LOOP, 3), over=log, says="search_docs=live"),
    # Runs beside each other.
    Shown("compare", compare(LOOP, LOOP + "/fork-1"), says="fork-1", sizes=(NARROW,)),
    Shown("compare-fork-edit", compare(LOOP, LOOP + "/fork-2"), says="fork-2"),
    Shown("table", lambda world: TableScreen(world.store, world.store.run(LOOP)), says="fork-2"),
    Shown("sweep", lambda world: SweepScreen(world.store, world.store.sweeps()[0].id), says="3/3"),
    Shown("sweeps", at(TRIP, 3), ("V",), says="new sweep"),
    Shown(
        "sweep-form",
        at(TRIP, 3),
        ("V", "enter", "enter", "ctrl+a", "ctrl+k", *typed("trip.budget_euros=400,800"), "enter"),
        says="trip.budget_euros",
    ),
    Shown("golden-keep", at(TRIP), ("t",)),
    Shown("goldens", lambda _: GoldensScreen(), says="refund-mended", sizes=(NARROW,)),
    Shown("statistics", lambda world: StatisticsScreen(world.store), says="HOW THEY ENDED"),
    # Everywhere.
    Shown("palette", at(LOOP, 3), ("ctrl+p",)),
    Shown("palette-found", at(LOOP, 3), ("ctrl+p", *"fork")),
    Shown("help", at(LOOP, 3), ("?",)),
    Shown("themes", at(LOOP, 3), ("f4",)),
    Shown("tour", at(LOOP, 3), ("f2",)),
)
