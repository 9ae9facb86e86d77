"""`agent-tt sql`: ask a store with SQL."""

from __future__ import annotations

import csv
import json
import signal
import sys
import threading
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

import click

from agent_tt_tui.cli.options import Options, common_options, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Terminal
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from agent_tt.codec.wire import Wire
    from agent_tt.store.sql import Queries, SqlValue

_LOOKED_AT: Final = 100
"""Rows by which it is told which columns of a table hold numbers."""

_WIDEST: Final = 10_000
"""Characters of one cell that a table looks at."""

Row = dict[str, "SqlValue"]


@click.command()
@click.argument("query", required=False)
@click.option("-p", "--param", "parameters", multiple=True, metavar="NAME=VALUE", help="The value of :NAME in QUERY.")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["table", "csv", "nl", "json"]),
    default="table",
    help="nl: one JSON object a line; json: a list of them, as --json.",
)
@common_options
def command(options: Options, query: str | None, parameters: tuple[str, ...], layout: str) -> int:
    """Ask a store with SQL; without QUERY, list the views and their columns.

    Only reading is possible. The views hold rows that are as they were recorded;
    what is damaged is left out, and told on standard error. A VALUE that is JSON
    is what it says (7, "7", null), all else is text.

    \b
    agent-tt sql "select name, steps, cost_usd from runs order by cost_usd desc"
    agent-tt sql "select step, state(run, step, :path) from steps" -p path=budget

    \b
    --json: [{column: value}]; without QUERY [{view, what, columns: [{name, what}]}]
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    if query is None:
        if parameters:
            raise click.UsageError("-p gives a value to a QUERY, and none was given")
        _list_views(options, layout)
        return 0
    given = dict(map(_parameter, parameters))
    if options.as_json:
        layout = "json"
    with options.source() as source:
        path = source.path
    from agent_tt.errors import NotAStore
    from agent_tt.store.sql import query_store

    with ExitStack() as stack:
        try:
            queries = stack.enter_context(query_store(path))
        except NotAStore as error:
            hint = f"`agent-tt runs --store {path}` and the other commands read it."
            raise NotAStore(f"{path} is not a store of agent-tt, and has no views to ask", hint=hint) from error
        stack.enter_context(_interruptible())
        _WRITERS[layout](options, queries.rows(query, given))
        _tell_damage(queries)
    return 0


@contextmanager
def _interruptible() -> Iterator[None]:
    """Make Ctrl-C end a query wherever it is.

    SQLite loses an exception that a signal raises on the way into one of the functions that it calls, and gives another
    in its place: so that there was a signal is remembered.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # somebody else takes care, or nobody wants it
        return
    came = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except Exception:
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _parameter(text: str) -> tuple[str, SqlValue]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.UsageError(f"{text!r} is not NAME=VALUE")
    try:
        found = json.loads(value)
    except ValueError:
        return name, value
    if isinstance(found, dict | list):
        return name, value  # as JSON text, which SQLite's functions for JSON take
    return name, int(found) if isinstance(found, bool) else found


def _tell_damage(queries: Queries) -> None:
    """Say what is not in the answer because it is not what was recorded."""
    if not queries.damaged:
        return
    terminal = Terminal.of(sys.stderr)
    named = ", ".join(terminal.safe(one) for one in sorted(queries.damaged)[:3])
    more = f" and {len(queries.damaged) - 3:,} more" if len(queries.damaged) > 3 else ""
    words = f"left out, because it is not what was recorded: {named}{more}. `agent-tt verify` names all damage."
    sys.stderr.write(f"{terminal.paint('agent-tt:', 'failed')} {words}\n")


# How an answer is written.


def _write_table(options: Options, rows: Iterator[Row]) -> None:

    first = list(islice(rows, _LOOKED_AT))
    if not first:
        options.terminal().line(Cell("no rows", "muted"))
        return
    numeric = {name for name in first[0] if all(isinstance(row[name], int | float | None) for row in first)}
    columns = [Column(name, "right" if name in numeric else "left", name not in numeric) for name in first[0]]
    cells = ([Cell(_shown(value)) for value in row.values()] for row in chain(first, rows))
    options.terminal().long_table(columns, cells)


def _shown(value: SqlValue) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    return str(value)[:_WIDEST]


def _write_csv(_options: Options, rows: Iterator[Row]) -> None:
    """CSV with a header. Control codes are written out: it is read in terminals, too."""
    from agent_tt.codec.encode import encode

    def cell(value: SqlValue) -> object:
        if isinstance(value, str):
            return "\n".join(map(clean, value.split("\n")))
        return json.dumps(encode(value)) if isinstance(value, bytes) else value

    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, row in enumerate(rows):
        if not number:
            writer.writerow(map(cell, row))
        writer.writerow(map(cell, row.values()))


def _write_lines(_options: Options, rows: Iterator[Row]) -> None:
    for row in rows:
        sys.stdout.write(f"{_json(row)}\n")


def _write_list(_options: Options, rows: Iterator[Row]) -> None:
    """A JSON list, row by row: it may be larger than memory."""
    before = "["
    for row in rows:
        sys.stdout.write(f"{before}{_json(row)}")
        before = ",\n "
    sys.stdout.write("[]\n" if before == "[" else "]\n")


_WRITERS: Final = {"table": _write_table, "csv": _write_csv, "nl": _write_lines, "json": _write_list}


def _json(row: Mapping[str, SqlValue]) -> str:
    """A row; what JSON has no form for stands in an envelope, as everywhere."""
    from agent_tt.codec.encode import encode

    return json.dumps({name: encode(value) for name, value in row.items()})


# What there is to ask.


def _list_views(options: Options, layout: str) -> None:
    from agent_tt.store.views import FUNCTIONS, VIEWS

    if options.as_json or layout == "json":
        listed: list[Wire] = []
        for view in VIEWS:
            columns: list[Wire] = [{"name": column.name, "what": column.what} for column in view.columns]
            listed.append({"view": view.name, "what": view.what, "columns": columns})
        write_json(listed)
        return
    if layout != "table":
        rows: Iterator[Row] = (
            {"view": view.name, "column": column.name, "what": column.what} for view in VIEWS for column in view.columns
        )
        _WRITERS[layout](options, rows)
        return
    terminal = options.terminal()
    for view in VIEWS:
        terminal.line(Cell(view.name, "strong"), Cell(f"  {view.what}", "muted"))
        cells = [[Cell(""), Cell(column.name), Cell(column.what, "muted")] for column in view.columns]
        terminal.table([Column(""), Column(""), Column("", flexible=True)], cells)
    terminal.line(Cell("functions", "strong"))
    cells = [[Cell(""), Cell(name), Cell(what, "muted")] for name, what in FUNCTIONS.items()]
    terminal.table([Column(""), Column(""), Column("", flexible=True)], cells)
