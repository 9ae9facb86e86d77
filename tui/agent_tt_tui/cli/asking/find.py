"""`agent-tt find`: search everything that runs recorded."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

import click

from agent_tt.errors import UsageError
from agent_tt.querying.search.fields import FIELDS
from agent_tt.shapes.answers import find_answer, where_answer
from agent_tt_tui.cli.errors import INTERRUPTED
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.progress import counter, stoppable
from agent_tt_tui.cli.terminal import Cell, Terminal
from agent_tt_tui.cli.wording import step_line
from agent_tt_tui.format import counted
from agent_tt_tui.text import cut_start, fit, width

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.hits import By, Hit, Hits
    from agent_tt.querying.search.query import Query

_UNKNOWN: Final = 2
_SECONDS: Final = 6.5
"""How long a search of all runs of another program's file takes at most, where nothing else is said."""
_MOST_UNREAD: Final = 3
_MOST_NAMED: Final = 100
_SHARES = 100
_STEP, _WHERE, _RUN, _GAPS = 5, 26, 18, 4


@click.command()
@click.argument("words", nargs=-1, metavar="[RUN…] TEXT", shell_complete=complete_runs)
@click.option("--all", "in_all", is_flag=True, help="Search the whole store.")
@click.option("--run", "more_runs", multiple=True, metavar="RUN", help="Search this run; may be given again.")
@click.option("--regex", is_flag=True, help="TEXT is a pattern.")
@click.option("--in", "fields", multiple=True, type=click.Choice(FIELDS), help="Search this only; may be given again.")
@click.option("--by", type=click.Choice(["rank", "step"]), default="rank", show_default=True, help="Order of the hits.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Hits that are listed.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=_SECONDS,
    show_default=True,
    help="With --all, of another program's file: search no longer than this; 0 for as long as it takes.",
)
@click.option("--where", metavar="EXPRESSION", help="List the steps at which this holds, instead of a text.")
@common_options
def command(
    options: Options,
    words: tuple[str, ...],
    *,
    in_all: bool,
    more_runs: tuple[str, ...],
    regex: bool,
    fields: tuple[str, ...],
    by: By,
    limit: int,
    seconds: float,
    where: str | None,
) -> int:
    """Search runs for TEXT: names, messages, arguments, results, errors, state.

    All words of TEXT have to stand in one text, in any order; "words in quotes" as they stand. A text of the state is
    found in the step that brought it, one of a request to a model in each request that has it. Upper and lower case
    are told apart only if TEXT has upper case. TEXT may also say in:result, tool:NAME, agent:NAME and step:10-20. The
    best hits come first, and equal texts are one, with how often they stand and the last step; with --by step each
    place is a hit. Exit code 1 when there is none.

    An index is kept in the user's cache folder; search_index = false in the settings turns that off. Ctrl-C ends a long
    search with what it found, and says how much was searched (exit code 130); with an index the next one goes on there.
    A search of all of another program's file ends by itself after --seconds, and says so; where it found nothing by
    then, the exit code is 2: nobody knows.

    \b
    agent-tt find flaky-checkout refused
    agent-tt find --all '"not found" in:result,error'
    agent-tt find refund-loop trip-planner --regex 'refund(s|ed)?' --by step
    agent-tt find flaky-checkout --where 'tool == "charge_card" and args.amount > 100'
    --json: {hits: [{run, step, where, path, excerpt, start, length, call, score, times, last}], total, complete};
            with searched: 0.43 where it was ended before its end, and seconds: 6.5 where --seconds did that; with
            newest: 250, of: 9000 where only so many of the runs that may hold it were looked at;
            with --where {steps: [3, 4, 9], spans: [[3, 4], [9, 9]]}; where nothing was found, also
            {unread: ["step 3 cannot be read whole"]} of what could not be looked at
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    import time

    from agent_tt.querying.search.query import parse

    end = time.monotonic() + (seconds or float("inf"))
    if where is not None:
        asked = [*words, *more_runs]
        if len(asked) != 1 or in_all:
            raise UsageError("name one run, and the question with --where", hint="agent-tt find RUN --where 'error'")
        return _find_steps(options, asked[0], where)
    runs, text = _runs_and_text(words, more_runs, in_all=in_all)
    query = parse(text, regex=regex, fields=fields)
    with options.source(*runs or ()) as source, _unhindered(source, end):
        ids = None if runs is None else list(dict.fromkeys(source.run(run).id for run in runs))
        found, unread = _search(options, source, query, ids, by, limit, end)
        if options.as_json:
            write_json(find_answer(found, unread))
        else:
            names = {} if ids is not None and len(ids) == 1 else _names(source, {hit.run for hit in found.hits})
            _print(options.terminal(), found, names, text, unread)
    if found.searched < 1 and (found.seconds is None or not found.hits):
        return INTERRUPTED if found.seconds is None else _UNKNOWN
    return 0 if found.hits else 1


def _unhindered(source: RunSource, end: float) -> AbstractContextManager[None]:
    """Leave the collector of cycles off for a search that ends soon: with a large file it would take a third of it."""
    from agent_tt.codec.collector import collector_paused

    is_short = end < float("inf") and not source.capabilities.redacted
    return collector_paused() if is_short else nullcontext()


def _names(source: RunSource, runs: set[str]) -> dict[str, str]:
    """What some runs are called, by their ids; asked one by one where they are few: there may be many others."""
    if len(runs) > _MOST_NAMED:
        return {run.id: run.name for run in source.runs(archived=True)}
    return {run: source.run(run).name for run in runs}


def _runs_and_text(
    words: tuple[str, ...], more_runs: tuple[str, ...], *, in_all: bool
) -> tuple[tuple[str, ...] | None, str]:
    """The runs that are named, None for all; and what is searched for."""
    if not words:
        raise UsageError("name a text, or a question with --where", hint="agent-tt find RUN TEXT")
    runs = (*words[:-1], *more_runs)
    if in_all and runs:
        raise UsageError("--all searches all runs", hint="Name runs, or add --all, and quote a text of several words.")
    if not (in_all or runs):
        raise UsageError("name a run as well, or add --all", hint=f"agent-tt find --all {words[0]!r}")
    return None if in_all else runs, words[-1]


def _search(
    options: Options,
    source: RunSource,
    query: Query,
    runs: Sequence[str] | None,
    by: By,
    limit: int,
    end: float,
) -> tuple[Hits, tuple[str, ...]]:
    """Search, until Ctrl-C at most; also say what could not be looked at, where nothing was found in all there is."""
    import time
    from contextlib import closing

    from agent_tt.querying.search.finder import Finder

    left = max(0.0, end - time.monotonic())
    with (
        closing(Finder(source)) as finder,
        counter("searching, in percent", show=not options.as_json) as report,
        stoppable() as is_stopped,
    ):
        found = finder.found(
            query,
            runs,
            by=by,
            limit=limit,
            seconds=None if left == float("inf") else left,
            progress=lambda share: report(int(share * _SHARES), _SHARES),
            cancelled=is_stopped,
        )
        if found.hits or found.searched < 1:
            return found, ()
        is_timed = runs is None and not source.capabilities.redacted
        end = max(end, time.monotonic() + 1) if is_timed else float("inf")
        unread = finder.unread(runs, cancelled=lambda: time.monotonic() >= end or is_stopped())
        is_one = runs is not None and len(runs) == 1
        return found, tuple(words if is_one else f"{run.name}: {words}" for run, words in unread)


def _find_steps(options: Options, run: str, where: str) -> int:
    from agent_tt.querying.unread import unread_in
    from agent_tt.querying.watches.step_search import Watch

    with options.source(run) as source:
        found = source.run(run)
        if options.as_json:
            answer = where_answer(source, found, where)
            write_json(answer)
            return 0 if answer["steps"] else 1

        terminal = options.terminal()
        count = 0
        for number in Watch(source, found.id, where).steps():
            count += 1
            if not number:
                terminal.line(f"{number:>5}   input")
            for step in source.steps(found.id, number, number + 1) if number else ():
                step_line(terminal, step, source.calls(found.id, number) if step.calls else [])
        unread = () if count else unread_in(source, found)
    if not count:
        terminal.line(f"{'Nowhere' if not unread else 'Nowhere known'} in {terminal.safe(run)}: {terminal.safe(where)}")
        _print_unread(terminal, unread)
    return 0 if count else 1


def _print_unread(terminal: Terminal, unread: Sequence[str]) -> None:

    if unread:
        shown = "; ".join(unread[:_MOST_UNREAD]) + (
            f"; and {len(unread) - _MOST_UNREAD} more" * (len(unread) > _MOST_UNREAD)
        )
        terminal.line(Cell(terminal.safe(f"not looked at: {shown}"), "muted"))


def _print(terminal: Terminal, found: Hits, names: dict[str, str], text: str, unread: Sequence[str]) -> None:
    """Write the hits; with `names`, by the ids of runs, each with its run."""
    if not found.hits:
        what = "Nothing that could be looked at" if unread else "Nothing"
        what = "Nothing that was searched" if found.searched < 1 else what
        terminal.line(f"{what} holds {terminal.safe(text)!r}.")
        _print_unread(terminal, unread)
        _print_unsearched(terminal, found)
        return
    for hit in found.hits:
        _print_hit(terminal, hit, names.get(hit.run, hit.run) if names else None)
    shown = sum(hit.times for hit in found.hits)
    if shown < found.total or not found.is_complete:
        total = f"{found.total:,}{'' if found.is_complete or found.newest else '+'} hits"
        if found.newest is not None:
            total += f" in {counted(found.newest, 'run')}, the newest of {found.of:,} that may hold it"
        if found.newest is not None and found.searched >= 1:
            total += "; others were not looked at"
        terminal.line(Cell(f"{total}; these are {counted(len(found.hits), 'line')} of them: --limit", "muted"))
    _print_unsearched(terminal, found)


def _print_unsearched(terminal: Terminal, found: Hits) -> None:
    """Say what was searched of what there is, where that is not all."""
    if found.searched >= 1:
        return
    what = f"{int(found.searched * _SHARES)} % was searched"
    if found.newest is not None:
        newest = f"the newest {found.newest:,} were" if found.newest else "none was"
        what = f"of {counted(found.of or 0, 'run')} that may hold it {newest} searched to the end"
    if found.seconds is None:
        terminal.line(Cell(f"stopped: {what}, the rest was not", "muted"))
    else:
        on = "--seconds 0 searches all, however long that takes"
        terminal.line(Cell(f"{what} in {found.seconds:.0f} s, the rest was not: {on}", "muted"))


def _print_hit(terminal: Terminal, hit: Hit, name: str | None) -> None:

    cut = terminal.glyphs.cut
    where = " ".join(part for part in (hit.where, hit.path) if part)
    before, found, after = (
        terminal.safe(text)
        for text in (
            hit.excerpt[: hit.start],
            hit.excerpt[hit.start : hit.start + hit.length],
            hit.excerpt[hit.start + hit.length :],
        )
    )
    times = f" {terminal.glyphs.same} {hit.times:,} times to {hit.last}" if hit.times > 1 else ""
    left = terminal.columns - _STEP - _WHERE - _GAPS - len(times) - (0 if name is None else _RUN + 2)
    found = terminal.short(found, left)
    before = cut_start(before, (left - width(found)) // 2, cut)
    after = terminal.short(after, left - width(found) - width(before))
    run = () if name is None else (Cell(fit(terminal.safe(name), _RUN, cut), "strong"), "  ")
    place = Cell(fit(terminal.safe(where), _WHERE, cut), "muted")
    terminal.line(*run, f"{hit.step:>5}  ", place, "  ", before, Cell(found, "yours"), after, Cell(times, "muted"))
