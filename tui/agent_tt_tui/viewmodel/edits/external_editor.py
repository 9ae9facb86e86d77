"""Editing text in the editor that the user chose, until it is good or given up."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.errors import UsageError
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def editor_command(env: Mapping[str, str]) -> list[str]:
    """The editor's command: `$VISUAL`, `$EDITOR`, or `vi`.

    Raises:
        UsageError: what is set cannot be read as a command.
    """
    chosen = env.get("VISUAL") or env.get("EDITOR") or "vi"
    try:
        command = shlex.split(chosen)
    except ValueError as error:
        name = "VISUAL" if env.get("VISUAL") else "EDITOR"
        why = f"${name} cannot be read as a command: {error}"
        raise UsageError(why, hint=f"it is {chosen}; set it to one such as `vim` or `code --wait`") from error
    return command or ["vi"]


def edit_outside(
    text: str,
    suffix: str,
    *,
    check: Callable[[str], str | None],
    ask_again: Callable[[str], bool],
    env: Mapping[str, str],
) -> str | None:
    """Let a person edit text in their editor; this blocks until the editor ends.

    Args:
        text: the text.
        suffix: what the file's name ends in, for the editor: `.json`, `.txt`.
        check: says what is wrong with a text; None takes it.
        ask_again: told what is wrong, says whether the person wants to go on editing.
        env: the environment, for `$VISUAL` and `$EDITOR`.

    Returns:
        The new text; None when nothing was changed or the person gave up.

    Raises:
        UsageError: the editor is missing, failed, or left no text.
    """
    command = editor_command(env)
    with temporary_folder("agent-tt-") as folder:
        file = Path(folder, f"edit{suffix}")
        with file.open("w", encoding="utf-8", newline="") as out:
            out.write(text)
        while True:
            _run([*command, str(file)])
            edited = _read(file)
            if edited.endswith("\n") and not text.endswith("\n"):
                edited = edited[:-1]  # which editors add to the last line of every file
            if edited == text:
                return None
            trouble = check(edited)
            if trouble is None:
                return edited
            if not ask_again(trouble):
                return None


def _run(command: list[str]) -> None:
    try:
        ended = subprocess.run(command, check=False)  # noqa: S603 - the user's own editor, as they named it
    except OSError as error:
        raise UsageError(
            f"the editor {command[0]} cannot be started: {error.strerror}", hint="set $EDITOR to one that is installed"
        ) from error
    if ended.returncode:
        raise UsageError(f"{command[0]} ended with status {ended.returncode}: nothing was changed")


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", newline="") as back:
            return back.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("the editor left no text that can be read: nothing was changed") from error
