"""Asking before code is run that is named by a store from elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Run
    from agent_tt_tui.cli.options import Options

__all__ = ["ask_for_trust", "trust_option"]


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
            if options.as_json or not sys.stdin.isatty():
                raise
            options.terminal().line(options.terminal().safe(f"{error.message}."))
            if not click.confirm("Run it, and trust this store from now on?", default=False):
                raise
        trust_store(store)
