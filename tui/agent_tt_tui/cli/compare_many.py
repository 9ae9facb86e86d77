"""`agent-tt compare` of one run with many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import UsageError
from agent_tt_tui.cli.options import write_json

if TYPE_CHECKING:
    from agent_tt.comparing.runs.table import SortKey
    from agent_tt_tui.cli.options import Options

__all__ = ["check_two", "compare_many"]


def check_two(*, archived: bool, sort: SortKey | None) -> None:
    """Refuse what means nothing where two runs are compared.

    Raises:
        UsageError: It does not.
    """
    if archived:
        raise UsageError("--all goes with --forks", hint="a run that is named may be archived")
    if sort is not None:
        raise UsageError("--sort orders the rows of a table", hint="name three runs, or one and --forks")


def compare_many(options: Options, runs: tuple[str, ...], *, forks: bool, archived: bool, sort: SortKey | None) -> int:
    """Write the table of one run against its forks, or against the others that are named; give the exit code.

    Raises:
        UsageError: What was asked for makes no sense.
        AgentTTError: The first run, or the store, cannot be read, or a run is not there.
    """
    from agent_tt.comparing.runs.table import TableReader
    from agent_tt.querying.checkpoints import split_file
    from agent_tt_tui.cli.progress import counter

    elsewhere = next((text for text in runs if split_file(text)[0] is not None), None)
    if elsewhere is not None:
        hint = "two runs may lie in two files; for a table of another file give it as --store"
        raise UsageError(f"{elsewhere} lies in another file than the table", hint=hint)
    _check(runs, forks=forks, archived=archived)
    with options.source(*runs) as source:
        base, others = source.run(runs[0]), None if forks else [source.run(name) for name in runs[1:]]
        reader = TableReader(source, base, others, archived=archived)
        with counter("comparing", show=not options.as_json) as report:
            total = len(reader.heads())
            for done, _ in enumerate(reader.read(), start=1):
                report(done, total)
        table = reader.table()
        hidden = forks and not table.rows and bool(source.forks(base.id))
    rows = table.ordered(sort or "made")
    if options.as_json:
        from agent_tt_tui.cli.table_shapes import table_shape

        write_json(table_shape(table, rows))
    else:
        from agent_tt_tui.cli.table_text import print_table

        print_table(options.terminal(), table, rows, hidden=hidden)
    # What cannot be read may differ or not: the code of its error says so.
    codes = [row.error.exit_code for row in rows if row.error is not None]
    return max(codes, default=1 if table.differs else 0)


def _check(runs: tuple[str, ...], *, forks: bool, archived: bool) -> None:
    if forks and len(runs) > 1:
        raise UsageError("--forks takes one run", hint="name the runs to compare, or one run and --forks")
    if not forks and len(runs) == 1:
        hint = "name another run, or add --forks to compare it with its own"
        raise UsageError(f"{runs[0]} is to be compared with what?", hint=hint)
    if archived and not forks:
        raise UsageError("--all goes with --forks", hint="a run that is named may be archived")
