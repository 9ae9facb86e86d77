"""Asking before code is run that is named by a store from elsewhere."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.errors import Untrusted
    from agent_tt.interop.bundle.source import BundleSource
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.cli.options import Options

__all__ = ["ask_for_trust", "bundle_of", "trust_option", "trusted"]


_MOST_LISTED = 5

trust_option = click.option(
    "--trust", is_flag=True, help="Trust this store from elsewhere: run the code it names, from now on."
)
"""What a command that runs agents has; it gets it as `trust`."""


def ask_for_trust(options: Options, store: Path, run: Run, *, trust: bool) -> None:
    """Let the agents of a store run if it was made here, or if the user says so now; remembered in the store.

    Raises:
        Untrusted: they do not say so, or cannot be asked: there is no terminal, or output is for programs.
    """
    from agent_tt.errors import Untrusted
    from agent_tt.store.file.provenance import check_made_here, trust_store

    try:
        check_made_here(store, run)
    except Untrusted as error:
        if not trust:
            _ask(options, error, "Run it, and trust this store from now on?")
        trust_store(store, run.id)


@contextmanager
def trusted(
    options: Options, source: RunSource, run: Run, *, trust: bool, agent: str | None = None
) -> Iterator[tuple[RunSource, Run]]:
    """Let the agent of a run be run again while the block lasts; of a bundle in a temporary folder of its own.

    Args:
        options: what the command was told.
        source: where the run is.
        run: the run.
        trust: whether the user said so on the command line.
        agent: what runs in place of the code that was recorded; None for that.

    Raises:
        Untrusted: as of `ask_for_trust`; what comes in a bundle is asked about each time.
        UsageError: a bundle has no code, and nothing else is named.
    """
    bundle = bundle_of(source)
    if bundle is None:
        ask_for_trust(options, source.path, run, trust=trust)
        yield source, run
        return
    from agent_tt.errors import Untrusted
    from agent_tt.interop.bundle.source import unpack_project
    from agent_tt.sources import open_source
    from agent_tt.temporary import temporary_folder

    if not trust:
        error = Untrusted(
            f"{bundle.path} came from elsewhere ({bundle.signature.words}), and {run.name} would run"
            f" {agent or _program_of(run)} with this Python, with {len(bundle.code_members)} files that it brings",
            hint=f"look at the code first: unzip {shlex.quote(str(bundle.path))} 'code/*'; then add --trust",
        )
        _ask(options, error, "Run it?")
    click.echo(f"agent-tt: {options.terminal().safe(f'{bundle.path}: {bundle.signature.words}')}", err=True)
    with temporary_folder("agent-tt-bundle-") as folder:
        project = unpack_project(bundle, run, Path(folder), needs_code=agent is None)
        if differs := project.differing():
            rest = len(differs) - _MOST_LISTED
            shown = ", ".join(differs[:_MOST_LISTED]) + (f" and {rest} more" if rest > 0 else "")
            click.echo(f"agent-tt: not as where the bundle was made: {options.terminal().safe(shown)}", err=True)
        with closing(open_source(project.store)) as store:
            yield store, store.run(project.run_id)


def _program_of(run: Run) -> str:
    """All that a run names of the program that ran it."""
    facts = run.facts
    command = "" if facts.command is None else shlex.join(["python", *facts.command])
    return ", ".join(filter(None, (run.code.entry, command, facts.script, facts.module))) or "its agent"


def bundle_of(source: RunSource) -> BundleSource | None:
    """The bundle that a source shows the runs of; None for anything else."""
    if "agent_tt.interop.bundle.source" not in sys.modules:  # nobody has opened one
        return None
    from agent_tt.interop.bundle.source import BundleSource
    from agent_tt.marking import MarkedSource

    found = source.reader if isinstance(source, MarkedSource) else source
    return found if isinstance(found, BundleSource) else None


def _ask(options: Options, error: Untrusted, question: str) -> None:
    """Ask whether what an error refuses is to run after all.

    Raises:
        Untrusted: that error: it is not, or nobody can be asked.
    """
    if not options.can_ask:
        raise error
    options.terminal().line(options.terminal().safe(f"{error.message}."))
    if not click.confirm(question, default=False):
        raise error
