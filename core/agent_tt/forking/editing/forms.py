"""The forms in which people write edits of a fork: one name each, on the command line and in `agent-tt mcp` alike.

This module is light: a command lists the forms in its help without loading what reads them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tt.errors import InvalidEdit, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Edit

__all__ = ["EDIT_FORMS", "edits_of_input", "read_edit"]

EDIT_FORMS: Final = (
    ("set", "PATH=VALUE", "Change the state first; VALUE is JSON. A datetime, a Decimal and the like stay one."),
    ("retype", "PATH=VALUE", "The same, as plain JSON whatever type of value is there."),
    ("insert", "PATH=VALUE", "Insert into a list of the state, before that position."),
    ("delete", "PATH", "Remove a key or an item of the state: messages[3]."),
    ("move", "PATH=PATH", "Move a value of the state."),
    ("result", "STEP[.CALL][.PATH]=VALUE", "Change what a tool came back with."),
    ("error", "STEP[.CALL]=ERROR", 'Let a call raise: 6="TimeoutError: no answer".'),
    ("answer", "STEP[.CALL]=TEXT", "Change what the model said; JSON for tool calls."),
    ("system", "TEXT", "The system prompt of every later request."),
    ("model", "NAME", "The model of every later request."),
    ("param", "NAME=VALUE", "A parameter of every later request; null leaves it out."),
    ("mute", "STEP", "Undo a step, as if it had never happened."),
)
"""Each form's name, what follows it, and what it does."""


def read_edit(form: str, text: str) -> Edit:
    """Read one edit.

    Args:
        form: one of `EDIT_FORMS`.
        text: what follows its name.

    Raises:
        UsageError: there is no such form, or the text is not as the form has it.
    """
    from agent_tt.forking.editing.assignments import parse_assignment, parse_move, parse_removal, parse_retyping
    from agent_tt.forking.editing.call_edits import parse_call_edit
    from agent_tt.forking.editing.request_edits import model_edit, parse_parameter, system_edit

    readers: dict[str, Callable[[str], Edit]] = {
        "set": parse_assignment,
        "retype": parse_retyping,
        "insert": partial(parse_assignment, op="insert"),
        "delete": parse_removal,
        "move": parse_move,
        "result": partial(parse_call_edit, target="result"),
        "error": partial(parse_call_edit, target="error"),
        "answer": partial(parse_call_edit, target="answer"),
        "system": system_edit,
        "model": model_edit,
        "param": parse_parameter,
        "mute": _muted,
    }
    if form not in readers:
        raise UsageError(f"there is no kind of edit {form!r}", hint=f"There are {', '.join(readers)}.")
    return readers[form](text)


def edits_of_input(step: str | None, texts: Sequence[str]) -> list[Edit]:
    """Edits of the input, which are edits of the state after step 0.

    Raises:
        UsageError: the fork is to begin after another step, or a text is not PATH=VALUE.
    """
    from agent_tt.forking.editing.assignments import parse_assignment

    if step not in (None, "0"):
        raise UsageError(
            f"the input is what the run began with: a fork after step {step} does not read it",
            hint="leave out --at, or change the state with --set",
        )
    return [parse_assignment(text) for text in texts]


def _muted(text: str) -> Edit:
    from agent_tt.model import Edit

    if not text.isascii() or not text.isdigit():
        raise InvalidEdit(f"{text!r} is not the number of a step", hint="for example --mute 3")
    return Edit("mute", "", target="step", step=int(text))
