"""Handing the terminal to another program: the user's editor, for one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from textual.app import SuspendNotSupported

from agent_tt.codec.parse import parse_value
from agent_tt.codec.text import pretty
from agent_tt.errors import InvalidValue, UsageError
from agent_tt.forking.editing.between import edits_between
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.edits.external_editor import edit_outside

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit

R = TypeVar("R")


def with_terminal(app: App[None], work: Callable[[], R]) -> R:
    """Suspend the app while `work` has the terminal.

    Args:
        app: the app; it has the terminal again whatever happens.
        work: what is done meanwhile. It blocks.

    Raises:
        UsageError: this terminal cannot be handed over.
        Exception: what `work` raised.
    """
    trouble: Exception | None = None
    try:
        with app.suspend():
            try:
                done = work()
            except Exception as error:  # noqa: BLE001  raised below: Textual resumes only after a block that ends well
                trouble = error
    except SuspendNotSupported as error:
        raise UsageError("this terminal cannot be handed to another program") from error
    if trouble is not None:
        raise trouble
    return done


def edit_in_terminal(app: App[None], text: str, suffix: str, check: Callable[[str], str | None]) -> str | None:
    """Suspend the app while the user's editor has the terminal.

    Args:
        app: the app.
        text: what is edited.
        suffix: what the file's name ends in.
        check: says what is wrong with a text; the user is asked whether to go on editing it.

    Returns:
        The new text; None when nothing was changed.

    Raises:
        UsageError: the editor failed, or this terminal cannot be handed over.
    """
    return with_terminal(app, lambda: edit_outside(text, suffix, check=check, ask_again=_ask_again, env=os.environ))


def edit_state(app: App[None], state: Wire) -> tuple[Edit, ...]:
    """Let the user edit a whole state as JSON.

    Returns:
        What they changed, as single edits; empty when nothing was.

    Raises:
        UsageError: the editor failed, or this terminal cannot be handed over.
    """
    text = edit_in_terminal(app, pretty(state), ".json", _trouble_with_json)
    return () if text is None else edits_between(state, parse_value(text))


def _trouble_with_json(text: str) -> str | None:
    try:
        parse_value(text)
    except InvalidValue as error:
        return error.message
    return None


def _ask_again(trouble: str) -> bool:
    try:
        answer = input(f"{clean(trouble)}\nenter: edit it again   q: drop what was typed  ")
    except (EOFError, KeyboardInterrupt):
        return False
    return not answer.strip().lower().startswith("q")
