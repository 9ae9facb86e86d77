"""`agent-tt redact`: what redaction would take out of a run or a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_tt.errors import UsageError
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.querying.to_redact import Hit

_FOUND = 1
_MOST_LISTED = 40


@click.command()
@click.argument("target", metavar="RUN|FILE", shell_complete=complete_runs)
@click.option("--profile", type=click.Choice(["personal", "strict"]), help="Look for personal data, too.")
@click.option("--check", is_flag=True, help="Only look; exit code 1 where something would go.")
@click.option("--all", "every", is_flag=True, help="List everything, not only what comes first.")
@common_options
def command(options: Options, target: str, *, profile: str | None, check: bool, every: bool) -> int:
    """Show what redaction would take out of RUN, or of the text in FILE: where, and of which kind.

    The rules are those of the settings, and the profile. No value is shown, and nothing is changed: --check must be
    said, for what is recorded already cannot be taken out yet.

    \b
    agent-tt redact --check latest --profile personal
    agent-tt redact --check notes.txt --profile strict
    --json: {target, found: [{kind, where, step, call, path, line}]}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt import config
    from agent_tt.redaction.own import OWN
    from agent_tt.redaction.rules import Rules

    if not check:
        hint = "--check shows what the rules of now would take out. `agent-tt delete` takes whole runs away."
        raise UsageError("what is recorded already cannot be taken out of it yet", hint=hint)
    OWN.use(config.load().redaction.joined(Rules.read(profile, "--profile")))
    found = _found(options, target)
    if options.as_json:
        write_json({"target": target, "found": [_shape(hit) for hit in found]})
    else:
        _list(options, target, found, every=every)
    return _FOUND if found else 0


def _found(options: Options, target: str) -> list[Hit]:
    from agent_tt.querying.to_redact import in_run, in_text

    path = Path(target)
    if path.is_file():
        try:
            return list(in_text(path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            hint = "Of a file of runs name a run: `agent-tt redact --store FILE RUN`."
            raise UsageError(f"{target} is not a text in UTF-8", hint=hint) from None
        except OSError as error:
            raise UsageError(f"{target} cannot be read: {error.strerror}") from error
    with options.source(target) as source:
        return list(in_run(source, source.run(target)))


def _list(options: Options, target: str, found: list[Hit], *, every: bool) -> None:
    terminal = options.terminal()
    shown = found if every else found[:_MOST_LISTED]
    rows = [(Cell(hit.kind, "strong"), Cell(_place(hit)), Cell(terminal.safe(hit.path))) for hit in shown]
    if rows:
        terminal.table((Column(""), Column("", flexible=True), Column("", flexible=True)), rows)
    if len(found) > len(shown):
        terminal.line(Cell(f"and {counted(len(found) - len(shown), 'further place')}: --all lists them", "muted"))
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(hit.kind for hit in found).most_common())
    terminal.line(f"{terminal.safe(target)}: {f'{kinds} would go' if found else 'nothing that is looked for'}")


def _place(hit: Hit) -> str:
    if hit.line:
        return f"line {hit.line}"
    step = "" if hit.step is None else f"step {hit.step}, "
    call = "" if hit.call is None else f"call {hit.call}, "
    return f"{step}{call}{hit.where}"


def _shape(hit: Hit) -> dict[str, Wire]:
    return {
        "kind": hit.kind,
        "where": hit.where,
        "step": hit.step,
        "call": hit.call,
        "path": hit.path,
        "line": hit.line or None,
    }
