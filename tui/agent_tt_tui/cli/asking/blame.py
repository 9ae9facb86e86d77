"""`agent-tt blame`: who wrote a value, and what caused it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from agent_tt.querying.checkpoints import find_place
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column, Terminal
from agent_tt_tui.cli.wording import say_unkept
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.querying.provenance.blaming import Blame
    from agent_tt.querying.provenance.links import Link, LinkKind
    from agent_tt.querying.provenance.writes import Write

_WORDS: Final[dict[LinkKind, str]] = {"edit": "edited by you", "code": "the agent's code"}
"""In place of the shorter ones of the app, where columns are few."""


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("path")
@click.option("--at", "step", metavar="STEP", help="The step after which the value is there; else the last one.")
@click.option("--words", metavar="TEXT", help="Of a text, the part that is asked about: a sentence of an answer.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Writes that are listed.")
@common_options
def command(options: Options, run: str, path: str, *, step: str | None, words: str | None, limit: int) -> None:
    """Show who wrote the value at PATH in RUN's state, and the way back to what caused it.

    The value is followed through lists that were trimmed or sorted, and keys that were renamed. Where a call's result,
    an error or a model's answer holds it (as it is, as JSON, as a part, written otherwise, or in the same words), that
    is the next place on the way, and what that was asked the one after. What is so common that it may have come from
    several places has these as candidates. A tool makes its result of all that it was asked: the way follows the
    argument that became known last, and names where the others came from. The last lines say where the value itself was
    made, and why the way ends.

    \b
    agent-tt blame flaky-checkout answer
    agent-tt blame refund-loop 'messages[-1].content' --at 3
    agent-tt blame session 'messages[-1].content[0].text' --words 'Only supervisors may refund.'
    --json: {run, step, path, value, made: {step, call, kind, name, path}, trail: [{step, call,
             kind, name, path, value, why, shared, others: [{step, call, name, path}]}], ends,
             writes: [{step, path, old_path, old, new, began, what, by, beside}], more};
             made is the earliest place that holds the value itself, or null;
             kind is one of value, result, error, answer, argument, request, computed,
             input, edit, candidates, code, unknown;
             what one of added, changed, moved, removed, edited
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.querying.provenance.blaming import blame_value

    with options.source(run) as source:
        found, at = find_place(source, run, step)
        number = source.step_count(found.id) if at is None else at
        say_unkept(source, found, number)
        blame = blame_value(source, found.id, path, number, words=words, limit=limit)
    if options.as_json:
        write_json(blame.to_json())
    else:
        _print(options.terminal(), found.name, blame)


def _print(terminal: Terminal, run: str, blame: Blame) -> None:

    path = terminal.short(blame.path or "(everything)", terminal.columns - 30)
    terminal.line(Cell("WHO WROTE  ", "muted"), Cell(path, "strong"), terminal.safe(f"  {run} at {blame.step}"))
    columns = (Column("", "right"), Column(""), Column("", flexible=True), Column("", flexible=True))
    links = blame.trail.links
    terminal.table(columns, [_link_cells(link) for link in links], below=[_reason(terminal, link) for link in links])
    made = blame.trail.made
    if made is not None and made is not links[-1]:
        where = " ".join(part for part in (str(made.step), made.name, made.path) if part)
        words = f"made at {where}; the rest is what it was made of"
        terminal.line(Cell(f" {terminal.glyphs.branch} {terminal.short(words, terminal.columns - 3)}", "changed"))
    if blame.trail.ends:
        terminal.line(Cell(f" {terminal.glyphs.branch_last} ends: {terminal.safe(blame.trail.ends)}", "muted"))
    terminal.line()
    count = f"more than {len(blame.writes)}" if blame.more else counted(len(blame.writes), "write")
    terminal.line(Cell(f"ALL WRITES  {count}", "muted"))
    terminal.table(columns[1:], [_write_cells(terminal, write) for write in blame.writes])


def _link_cells(link: Link) -> list[Cell]:
    from agent_tt.codec.text import summary
    from agent_tt_tui.viewmodel.past.blame import WORDS

    where = " ".join(part for part in (link.name, link.path) if part)
    what = _WORDS.get(link.kind, WORDS[link.kind])
    value = link.value if link.kind == "error" and isinstance(link.value, str) else summary(link.value, 200)
    return [Cell(str(link.step)), Cell(what, "muted"), Cell(where, "strong"), Cell(value)]


def _reason(terminal: Terminal, link: Link) -> list[list[Cell | str]]:
    from agent_tt_tui.viewmodel.past.blame import others_word

    rows: list[list[Cell | str]] = []
    if link.kind != "argument":
        shared = f": {link.shared}" if link.shared else ""
        rows.append([Cell(f"     {terminal.short(f'{link.why}{shared}', terminal.columns - 5)}", "muted")])
    if link.others:
        others = ", ".join(" ".join(part for part in (str(o.step), o.name, o.path) if part) for o in link.others)
        rows.append([Cell(f"     {terminal.short(f'{others_word(link)} {others}', terminal.columns - 5)}", "muted")])
    return rows


def _write_cells(terminal: Terminal, write: Write) -> list[Cell]:
    from agent_tt.codec.text import summary

    glyphs = terminal.glyphs
    mark = {"added": glyphs.added, "removed": glyphs.removed, "edited": glyphs.edited}.get(write.what, glyphs.changed)
    old, new = summary(write.old, 40), summary(write.new, 60)
    change = {
        "added": new,
        "removed": f"{old}, taken away",
        "moved": f"from {write.old_path}: {new}",
    }.get(write.what, new if write.began else f"{old} {glyphs.to} {new}")
    by = f"{write.edited}: " if write.by else ""
    if write.beside:
        by = f"(or by {', '.join(map(str, write.beside))}) "
    return [Cell(f"{write.step:>4} {mark}"), Cell(write.path, "strong"), Cell(by + change)]
