"""Asking before code is run that is named by a store from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.store.file.provenance import trust_store
from agent_tt_tui.dialog import ConfirmDialog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.app import App

    from agent_tt.errors import Untrusted


def ask_for_trust(
    app: App[object],
    error: Untrusted,
    store: Path,
    *,
    run: Callable[[], None],
    refuse: Callable[[tuple[str, str]], None],
) -> None:
    """Ask whether what a store names may run, from now on.

    Args:
        app: the app that asks.
        error: what would run, in words.
        store: the store.
        run: called on yes, once the store is stamped.
        refuse: called with a message and what to do, on no or where it cannot be stamped.
    """

    def answered(yes: bool | None) -> None:  # noqa: FBT001 - a dialog's answer
        if not yes:
            refuse((error.message, "look at that code first; you are asked again when you run it"))
            return
        try:
            trust_store(store, error.run_id)
        except AgentTTError as trouble:
            refuse((trouble.message, trouble.hint))
        else:
            run()

    question = f"{error.message}.\n\nRun it, and trust this store from now on?"
    app.push_screen(ConfirmDialog("From elsewhere", question), answered)
