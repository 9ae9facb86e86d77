"""`agent-tt originals`: what marks of personal data stand for, for those who have the vault's key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from agent_tt.errors import UsageError
from agent_tt_tui.cli.marks import found_runs
from agent_tt_tui.cli.options import Options, common_options, complete_runs, write_json
from agent_tt_tui.cli.terminal import Cell, Column
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.redaction.vault import Vault

_NO = 1


@click.command()
@click.argument("targets", nargs=-1, metavar="[RUN|MARK]...", shell_complete=complete_runs)
@click.option("--forget", is_flag=True, help="Remove them from the vault for good. It asks first.")
@click.option("--new-key", is_flag=True, help="Print a new key for a vault, and nothing else.")
@click.option("--yes", is_flag=True, help="With --forget: do not ask.")
@common_options
def command(options: Options, targets: tuple[str, ...], *, forget: bool, new_key: bool, yes: bool) -> int:
    """Show what the marks of personal data in runs stand for, or remove that from the vault.

    It takes the vault's key: AGENT_TT_VAULT_KEY, the file that AGENT_TT_VAULT_KEY_FILE names, or the keyring. Exit
    code 1 where nothing is known, or when you say no.

    \b
    agent-tt originals --new-key
    agent-tt originals refund-loop
    agent-tt originals '~mail4k7xw2qa~~'
    agent-tt originals refund-loop --forget
    --json: {originals: [{mark, original}]}, original null where it is not kept; with --forget {forgotten},
            which needs --yes; with --new-key {key}
    """  # noqa: D301  \b is click's mark for lines that are not to be wrapped
    from agent_tt.redaction.keyed import keyed_marks_in
    from agent_tt.redaction.vault import new_key as made
    from agent_tt.redaction.vault import open_vault

    if new_key:
        if options.as_json:
            write_json({"key": made()})
        else:
            options.terminal().line(made())
        return 0
    if not targets:
        raise UsageError("name a run, or a mark", hint="A mark looks like ~mail4k7xw2qa~~.")
    named = [target for target in targets if keyed_marks_in(target) == [target]]
    path, found = _marks_of(options, tuple(target for target in targets if target not in named))
    marks = list(dict.fromkeys([*named, *found]))
    vault = open_vault(path)
    if forget:
        return _forget(options, vault, [mark for mark in marks if vault.has(mark)], yes=yes)
    known = {mark: vault.original(mark) for mark in marks}
    if options.as_json:
        write_json({"originals": [{"mark": mark, "original": original} for mark, original in known.items()]})
    else:
        terminal = options.terminal()
        rows = [(Cell(mark, "muted"), Cell(terminal.safe(text or "(not kept)"))) for mark, text in known.items()]
        if rows:
            terminal.table((Column(""), Column("", flexible=True)), rows)
        else:
            terminal.line("no marks of personal data")
    return 0 if any(text is not None for text in known.values()) else _NO


def _marks_of(options: Options, names: tuple[str, ...]) -> tuple[Path, list[str]]:
    """The path of the store, and the marks in some of its runs."""
    from agent_tt.querying.marks_in import marks_in_run

    with options.source() as source:
        runs = found_runs(source, names) if names else []
        return source.path, [mark for run in runs for mark in marks_in_run(source, run)]


def _forget(options: Options, vault: Vault, marks: list[str], *, yes: bool) -> int:
    count = counted(len(marks), "original")
    question = f"Remove {count} for good? Runs that share a mark lose it too."
    if marks and not yes and not options.agreed("forgetting", question):
        options.terminal().line("Nothing was removed.")
        return _NO
    gone = vault.forget(marks)
    if options.as_json:
        write_json({"forgotten": gone})
    else:
        options.terminal().line(f"removed {counted(gone, 'original')}")
    return 0 if gone else _NO
