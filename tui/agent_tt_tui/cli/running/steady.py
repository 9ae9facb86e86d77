"""`agent-tt steady`: run a program, then once more with the recorded answers, and name what differs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import click

from agent_tt_tui.cli.options import Options, common_options
from agent_tt_tui.cli.running.following import stopped_as_by_ctrl_c
from agent_tt_tui.cli.running.record import call_options, named_calls, patch_kinds
from agent_tt_tui.cli.terminal import Role, Terminal, facts
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.steady import Differing, Seen, Steadiness, SteadyRun

_CODES: Final[dict[Seen, int]] = {"no difference seen": 0, "differs": 1, "unknown": 2}
_MOST_SHOWN: Final = 40
_VALUE: Final = 40
_ALIKE: Final = "What both runs found alike (variables, files, the machine) is not seen."


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="[--] COMMAND...")
@call_options
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give the second run up after this.")
@click.option("--fail", is_flag=True, help="Exit with 1 where a value differs, with 2 where not all could be compared.")
@common_options
def command(
    options: Options,
    command: tuple[str, ...],
    *,
    calls: tuple[str, ...],
    patch: str,
    timeout: float | None,
    fail: bool,
) -> int:
    """Run COMMAND for real, then once more offline with the recorded answers; name each value that differs, by line.

    The first run does what the program does. The second is a replay: no model, tool or server is reached; files are
    read and written as ever. Nothing of it is kept. What is found is told on standard error, since standard output is
    the program's.

    Exit code 0, whatever the program's was, unless it is to --fail.

    \b
    agent-tt steady -- python my_agent.py
    agent-tt steady --patch all --fail -- python my_agent.py
    --json: {seen, exit_code, runs: [{name, seen, differing: [{place, name, path, then, now,
            step, file, line, looks, said}], unknown, compared: {calls, states, output}}],
            warnings}, on standard error; seen is "no difference seen", "differs" or "unknown"
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.config import load
    from agent_tt.steady import check_steady

    with stopped_as_by_ctrl_c():
        found = check_steady(
            command, calls={**load().calls, **named_calls(calls)}, patch=patch_kinds(patch), timeout=timeout
        )
    if options.as_json:
        sys.stderr.write(json.dumps(found.to_json()) + "\n")
    else:
        _write(found)
    return _CODES[found.seen] if fail else 0


def _write(found: Steadiness) -> None:
    terminal = Terminal.of(sys.stderr)
    for run in found.runs:
        _write_run(terminal, run)
    for line in found.warnings:
        click.echo(f"agent-tt: {terminal.safe(line)}", err=True)
    if found.exit_code:
        click.echo(f"agent-tt: the program ended with exit code {found.exit_code}", err=True)
    if found.seen == "no difference seen":
        click.echo(_ALIKE, err=True)


def _write_run(terminal: Terminal, run: SteadyRun) -> None:
    glyphs = terminal.glyphs
    looks: dict[Seen, tuple[str, Role]] = {
        "no difference seen": (glyphs.same, "text"),
        "differs": (glyphs.differs, "failed"),
        "unknown": (glyphs.unknown, "changed"),
    }
    glyph, role = looks[run.seen]
    told = facts(
        [
            counted(run.calls, "answer"),
            counted(run.states, "state"),
            "output" if run.output else "output not compared",
        ],
        glyphs.dot,
    )
    words = f"{glyph} {run.seen}" + (" in 2 runs" if run.seen == "no difference seen" else "")
    name = terminal.paint(terminal.safe(run.name), "strong")
    click.echo(f"agent-tt: {name}  {terminal.paint(words, role)}  compared: {told}", err=True)
    for each in run.differing[:_MOST_SHOWN]:
        click.echo(f"  {terminal.safe(_line(each, glyphs.to))}", err=True)
    if len(run.differing) > _MOST_SHOWN:
        click.echo(f"  and {len(run.differing) - _MOST_SHOWN} more", err=True)
    for line in run.unknown:
        click.echo(f"  {terminal.paint('not known  ', 'changed')}{terminal.safe(line)}", err=True)


def _line(each: Differing, to: str) -> str:
    """`agent.py:12  look what.at  3 → 4  (looks like an id or a time)`."""
    from agent_tt.codec.text import summary

    where = "" if each.file is None else each.file if each.line is None else f"{each.file}:{each.line}"
    if not where:
        where = each.place if each.step is None else f"{each.place} after step {each.step}"
    what = " ".join(part for part in (each.name, each.path) if part)
    values = each.said or f"{summary(each.then, _VALUE)} {to} {summary(each.now, _VALUE)}"
    return "  ".join(part for part in (where, what, values, f"({each.looks})" if each.looks else "") if part)
