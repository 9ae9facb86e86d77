"""`agent-tt redact`: what redaction would take out of runs or a file, and taking it out of runs."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_tt.errors import UsageError
from agent_tt_tui.cli.marks import found_runs, writable
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.progress import counter
from agent_tt_tui.cli.terminal import Cell, Column
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Wire
    from agent_tt.querying.to_redact import Hit
    from agent_tt.redaction.rules import Rules
    from agent_tt.store.redacting import Redaction

_FOUND = 1
_NO = 1
_MOST_LISTED = 40


@click.command()
@click.argument("targets", nargs=-1, metavar="[RUN|FILE]...", shell_complete=complete_runs)
@click.option("--profile", type=click.Choice(["personal", "strict"]), help="Look for personal data, too.")
@click.option("--check", is_flag=True, help="Only look; exit code 1 where something would go.")
@click.option("--every-place", "every", is_flag=True, help="With --check: list everything, not only what comes first.")
@click.option("--all", "all_runs", is_flag=True, help="All runs of the store.")
@click.option("--forget", is_flag=True, help="Keep no originals in the vault, and remove what it has of these runs.")
@click.option("--yes", is_flag=True, help="Do not ask: take it out.")
@common_options
def command(
    options: Options,
    targets: tuple[str, ...],
    *,
    profile: str | None,
    check: bool,
    every: bool,
    all_runs: bool,
    forget: bool,
    yes: bool,
) -> int:
    """Take out of runs that are recorded what redaction finds; with --check only show it, also of the text in a FILE.

    The rules are those of the settings, those that the runs were recorded with, and the profile. No value is shown. A
    run goes with all that it was forked from, and all that was forked from these. It is tried first, and asked before
    anything is kept; exit code 1 when you say no, or when a run stands in the way, which is then named.

    \b
    agent-tt redact --check latest --profile personal
    agent-tt redact --check notes.txt --profile strict
    agent-tt redact refund-loop --profile personal
    agent-tt redact --all --profile personal --yes
    --json: with --check {found: [{target, kind, where, step, call, path, line}]}; else
            {done, runs: [{id, name}], changed: {what: count}, unsure, clean, left}, done only with --yes;
            left says what may still hold what was taken out, or null
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt import config
    from agent_tt.redaction.own import OWN
    from agent_tt.redaction.rules import Rules

    if bool(targets) == all_runs:
        raise UsageError("name runs, or say --all", hint="`agent-tt runs` lists them.")
    settings = config.load()
    rules = settings.redaction.joined(Rules.read(profile, "--profile"))
    if not check:
        return _take_out(options, targets, rules, yes=yes, forget=forget, keep=bool(settings.vault) and not forget)
    OWN.use(rules)
    found = [(target, hit) for target in targets or _names(options) for hit in _found(options, target)]
    if options.as_json:
        write_json({"found": [{"target": target, **_shape(hit)} for target, hit in found]})
    else:
        _list(options, targets, found, every=every)
    return _FOUND if found else 0


def _names(options: Options) -> tuple[str, ...]:
    with options.source() as source:
        return tuple(run.id for run in source.runs(archived=True))


def _take_out(options: Options, targets: tuple[str, ...], rules: Rules, *, yes: bool, forget: bool, keep: bool) -> int:
    """Take it out, of all runs where none is named; give the exit code.

    Raises:
        UsageError: the file is only read, or nobody is there to be asked.
    """
    from agent_tt.redacting.beside import still_held
    from agent_tt.redacting.taking_out import take_out

    with options.source() as source:
        store = writable(source)
        path, runs = store.path, found_runs(store, targets) if targets else list(store.runs(archived=True))
    with counter("looking", show=not options.as_json) as report:
        done = take_out(path, runs, rules, is_all=not targets, is_tried=True, report=report)
    is_asked = not yes and options.can_ask
    if is_asked:
        _tell(options, done)
        if not click.confirm(f"Write {counted(len(done.runs), 'run')} anew for good?", default=False):
            options.terminal().line("Nothing was changed.")
            return _NO
    if yes or is_asked:
        with counter("writing anew", show=not options.as_json) as report:
            done = take_out(path, runs, rules, is_all=not targets, keeps_originals=keep, report=report)
        if forget:
            _forget(path, done.runs)
    if options.as_json:
        names: list[Wire] = [{"id": run_id, "name": name} for run_id, name in done.runs.items()]
        changed: dict[str, Wire] = dict(done.changed)
        told: dict[str, Wire] = {"done": yes, "runs": names, "changed": changed}
        left = still_held(path, is_clean=done.is_clean) if yes else ""
        write_json({**told, "unsure": done.unsure, "clean": done.is_clean if yes else None, "left": left or None})
        return 0
    _tell(options, done, path if yes or is_asked else None)
    return 0


def _forget(path: Path, run_ids: Iterable[str]) -> None:
    """Remove from the vault, where there is one, what the marks in runs stand for."""
    from agent_tt.querying.marks_in import marks_in_run
    from agent_tt.redaction.vault import open_vault, vault_path
    from agent_tt.store import open_store

    if vault_path(path).exists():
        vault = open_vault(path)
        with closing(open_store(path, read_only=True)) as store:
            vault.forget({mark for run_id in run_ids for mark in marks_in_run(store, store.run(run_id))})


def _tell(options: Options, done: Redaction, path: Path | None = None) -> None:
    """Say what was written anew in a store, or would be where none is named."""
    from agent_tt.redacting.beside import still_held

    terminal = options.terminal()
    names = list(done.runs.values())
    for name in names[:_MOST_LISTED]:
        terminal.line(f"  {terminal.safe(name)}")
    if len(names) > _MOST_LISTED:
        terminal.line(Cell(f"  and {counted(len(names) - _MOST_LISTED, 'more run')}", "muted"))
    what = ", ".join(f"{count} {kind}" for kind, count in done.changed.items() if count)
    runs = counted(len(names), "run")
    if what:
        terminal.line(f"{runs} {'would be written anew' if path is None else 'written anew'}; changed: {what}")
    else:
        terminal.line(f"{runs}: nothing that is looked for")
    if done.unsure:
        terminal.line(Cell(f"a replay may not recognise {counted(done.unsure, 'question')} that changed", "failed"))
    if path is None:
        terminal.line(Cell("nothing was changed yet: --yes takes it out", "muted"))
    elif left := still_held(path, is_clean=done.is_clean):
        terminal.line(Cell(terminal.safe(left), "muted" if done.is_clean else "failed"))


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


def _list(options: Options, targets: tuple[str, ...], found: list[tuple[str, Hit]], *, every: bool) -> None:
    terminal = options.terminal()
    shown = found if every else found[:_MOST_LISTED]
    several = len(targets) != 1
    rows = [
        (
            Cell(hit.kind, "strong"),
            Cell(terminal.safe(f"{target}: " * several) + _place(hit)),
            Cell(terminal.safe(hit.path)),
        )
        for target, hit in shown
    ]
    if rows:
        terminal.table((Column(""), Column("", flexible=True), Column("", flexible=True)), rows)
    if len(found) > len(shown):
        terminal.line(
            Cell(f"and {counted(len(found) - len(shown), 'further place')}: --every-place lists them", "muted")
        )
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(hit.kind for _, hit in found).most_common())
    about = "all runs" if not targets else terminal.safe(", ".join(targets))
    terminal.line(f"{about}: {f'{kinds} would go' if found else 'nothing that is looked for'}")


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
