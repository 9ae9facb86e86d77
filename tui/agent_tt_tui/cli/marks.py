"""What the commands that keep order among runs have in common."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from agent_tt.errors import ReadOnlySource
from agent_tt.shapes.records import run_shape
from agent_tt_tui.cli.options import write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import MarkedRuns, RunSource, Store
    from agent_tt_tui.cli.options import Options


with_forks_option = click.option("--with-forks", is_flag=True, help="Their forks too, and the forks of these.")


@contextmanager
def marking(options: Options, *samples: str) -> Iterator[MarkedRuns]:
    """Open the store to write something down about its runs; of a file that is only read, into the own store.

    Raises:
        ReadOnlySource: nothing can be written down about runs of this file.
    """
    with options.source(*samples) as source:
        yield markable(source)


def markable(source: RunSource) -> MarkedRuns:
    """The source as one that takes marks.

    Raises:
        ReadOnlySource: nothing can be written down about its runs.
    """
    from agent_tt.sources import marks_of

    marks = marks_of(source)
    if marks is None:
        raise ReadOnlySource(f"{source.path} is only read: nothing can be written about its runs")
    return marks


def writable(source: RunSource) -> Store:
    """The source as a store that can be written.

    Raises:
        ReadOnlySource: it is a file of another system, or one that cannot be written.
    """
    from agent_tt.protocols import Store

    if source.read_only or not isinstance(source, Store):
        raise ReadOnlySource(
            f"{source.path} is only read: nothing in it can be deleted or decided",
            hint="Names, notes, tags and pins of its runs are kept in your own store.",
        )
    return source


def found_runs(source: RunSource, refs: Sequence[str]) -> list[Run]:
    """The runs that several words name, each once, in that order."""
    return list({run.id: run for run in map(source.run, refs)}.values())


def with_their_forks(source: RunSource, runs: Sequence[Run]) -> list[Run]:
    """Runs, and all that was forked from them and from that, each once."""
    found = {run.id: run for run in runs}
    for run in runs:
        found |= {fork.id: fork for fork in source.forks(run.id, deep=True)}
    return list(found.values())


def say_marked(options: Options, runs: Sequence[Run], word: str) -> None:
    """Say what was done to runs: `pinned refund-loop`; to programs, the runs as in `runs`."""
    if options.as_json:
        write_json([run_shape(run) for run in runs])
        return
    terminal = options.terminal()
    for run in runs:
        terminal.line(f"{word} ", terminal.safe(run.name))
