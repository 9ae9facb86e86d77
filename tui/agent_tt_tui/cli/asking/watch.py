"""`agent-tt watch`: expressions that are kept with a run, where they hold, and where they break."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import InvalidExpression, NotFound, UsageError
from agent_tt.querying.checkpoints import find_place
from agent_tt_tui.cli.asking.watch_text import Event, Reached, event_shape, print_event, print_rows, row_shape
from agent_tt_tui.cli.marks import markable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.watches.kept_watches import KeptWatch
    from agent_tt.querying.watches.watchpoints import Watchpoints

_POLL_SECONDS: Final = 0.1


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("expression", required=False, metavar="[WATCH]")
@click.option("--name", help="Give it a name, beside its letter.")
@click.option("--break/--no-break", "breaks", default=None, help="Make it a breakpoint, or only a watch again.")
@click.option("--on/--off", "on", default=None, help="Turn the watch on, or off.")
@click.option("--to", metavar="EXPRESSION", help="Watch this expression instead.")
@click.option("--remove", is_flag=True, help="Remove the watch.")
@click.option("--follow", is_flag=True, help="Write each step at which it holds, until a breakpoint or the run's end.")
@click.option("--after", metavar="STEP", help="Stop at breakpoints after this step; else after the newest there is.")
@common_options
def command(
    options: Options,
    run: str,
    expression: str | None,
    *,
    name: str | None,
    breaks: bool | None,
    on: bool | None,
    to: str | None,
    remove: bool,
    follow: bool,
    after: str | None,
) -> int:
    """Keep WATCH, an expression, with RUN: it marks every step at which it holds; without one, list them.

    WATCH may also be the letter or the name of one that is kept, to change it. A breakpoint stops where an expression
    about the state begins to hold; one that asks about a call, a change or a fact of the step, at each step. What is
    kept with a run of a file that is only read lies in your own store.

    Exit code 1 when nothing that is watched holds anywhere, or holds when the run that was followed has ended; 3 when
    there is no such watch.

    \b
    agent-tt watch flaky-checkout 'state.payment.amount > 1000' --name overcharged --break
    agent-tt watch flaky-checkout overcharged --off
    agent-tt watch flaky-checkout
    --json: {run, watches: [{id, letter, name, where, break, on, count, first, last, now,
            spans, stops, error}]}; with --follow a line for each event:
            {event, step, watch, name, where, values}, an event being begins, ends, holds, breaks
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.querying.watches.watchpoints import last_ended

    changes = {"name": name, "breaks": breaks, "on": on, "to": to}
    is_changed = remove or any(change is not None for change in changes.values())
    if expression is None and is_changed:
        raise UsageError(
            "say which: an expression, or the letter or name of a watch", hint="agent-tt watch RUN A --off"
        )
    if remove and any(change is not None for change in changes.values()):
        raise UsageError("--remove takes no changes", hint="Change it, or remove it.")
    with options.source(run) as source:
        found, number = find_place(source, run, after, option="--after")
        if number is not None and not follow:
            raise UsageError(
                "the step says after which --follow stops at breakpoints, and nothing is followed",
                hint="Add --follow, or leave the step out.",
            )
        if expression is not None:
            kept = _change(source, found, expression, name=name, breaks=breaks, on=on, to=to, remove=remove)
        else:
            kept = None
        if follow:
            passed = last_ended(source, found.id) if number is None else number
            return _follow(options, source, found, None if kept is None else kept.id, passed)
        return _show(options, source, found, None if kept is None else kept.id)


def _change(
    source: RunSource,
    run: Run,
    word: str,
    *,
    name: str | None,
    breaks: bool | None,
    on: bool | None,
    to: str | None,
    remove: bool,
) -> KeptWatch | None:
    """Keep what was said, or change what is kept; what is kept now."""
    from agent_tt.querying.watches.kept_watches import change_watch, find_watch, keep_watch, kept_watches, remove_watch

    known = find_watch(kept_watches(source, run.id), word)
    if known is None:
        if remove or to is not None or _names_one(word):
            hint = f"`agent-tt watch {run.name}` lists them."
            raise NotFound(f"{run.name} has no watch {word}", hint=hint + _as_state(word))
        kept = keep_watch(markable(source), run.id, word, name=name, breaks=bool(breaks))
        return change_watch(markable(source), run.id, replace(kept, on=False)) if on is False else kept
    if remove:
        remove_watch(markable(source), known)
        return None
    changed = replace(
        known,
        name=known.name if name is None else name,
        breaks=known.breaks if breaks is None else breaks,
        on=known.on if on is None else on,
        where=known.where if to is None else to,
    )
    return known if changed == known else change_watch(markable(source), run.id, changed)


def _names_one(word: str) -> bool:
    """Whether a word can only be meant as the letter or name of a watch: nothing that can be asked is called so."""
    from agent_tt.querying.expressions import parse

    try:
        parse(word)
    except InvalidExpression:
        return word.isidentifier()
    return False


def _as_state(word: str) -> str:
    return f" A value of the state is written state.{word}." if word.isidentifier() else ""


def _board(source: RunSource, run: Run, only: int | None) -> Watchpoints:
    """All watches of a run, or one, by its number."""
    from agent_tt.querying.watches.watchpoints import Watchpoints

    board = Watchpoints(source, run.id)
    board.read()
    board.rows = [row for row in board.rows if only in (None, row.watch.id)]
    return board


def _show(options: Options, source: RunSource, run: Run, only: int | None) -> int:

    board = _board(source, run, only)
    while board.look(run):
        pass
    rows = board.rows
    last = source.step_count(run.id)
    if options.as_json:
        write_json({"run": run.id, "watches": [row_shape(row, last) for row in rows]})
    else:
        print_rows(options.terminal(), run, rows, last)
    return 0 if any(row.found for row in rows) or not rows else 1


def _follow(options: Options, source: RunSource, run: Run, only: int | None, passed: int) -> int:
    """Write what is reached until a breakpoint is, or the run is over; the exit code.

    Args:
        options: what the command was told.
        source: where the run is.
        run: the run.
        only: the number of the watch that is followed; None for all.
        passed: the last step at which no breakpoint stops.
    """
    board = _board(source, run, only)
    if not board.rows:
        raise UsageError(f"nothing is watched in {run.name}", hint="agent-tt watch RUN 'state.budget < 0' --follow")
    reached = Reached(board, passed)
    version, count = -1, 0

    def say(event: Event) -> None:
        if options.as_json:
            write_json(event_shape(source, run, event), one_line=True)
        else:
            print_event(options.terminal(), source, run, event)

    while True:
        before, version = version, source.version()
        run = source.run(run.id)
        if version != before or run.status != "running":
            while True:
                goes_on = board.look(run)
                for event in reached.news():
                    count += 1
                    say(event)
                    if event.kind == "breaks":
                        return 0
                if not goes_on:
                    break
            if run.status != "running":
                return 0 if count else 1
        time.sleep(_POLL_SECONDS)
