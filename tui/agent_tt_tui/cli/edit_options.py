"""The options of `fork` that change something: each given option is one edit, in the order of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import Edit

__all__ = ["edit_options"]

F = TypeVar("F", bound="Callable[..., Any]")

_OPTIONS = (
    ("--set", "PATH=VALUE", "Change the state first; VALUE is JSON."),
    ("--insert", "PATH=VALUE", "Insert into a list of the state, before that position."),
    ("--delete", "PATH", "Remove a key or an item of the state: messages[3]."),
    ("--move", "PATH=PATH", "Move a value of the state."),
    ("--result", "STEP[.CALL][.PATH]=VALUE", "Change what a tool came back with."),
    ("--error", "STEP[.CALL]=ERROR", 'Let a call raise: 6="TimeoutError: no answer".'),
    ("--answer", "STEP[.CALL]=TEXT", "Change what the model said; JSON for tool calls."),
    ("--system", "TEXT", "The system prompt of every later request."),
    ("--model", "NAME", "The model of every later request."),
    ("--param", "NAME=VALUE", "A parameter of every later request; null leaves it out."),
    ("--mute", "STEP", "Undo a step, as if it had never happened."),
)


def edit_options(command: F) -> F:
    """Give a command all of them; it gets `edits`, a list."""
    for flag, metavar, text in reversed(_OPTIONS):
        option = click.option(flag, metavar=metavar, multiple=True, expose_value=False, callback=_keep(flag), help=text)
        command = option(command)
    return command


def _keep(flag: str) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], None]:
    def keep(context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> None:
        edits: list[Edit] = context.params.setdefault("edits", [])
        edits.extend(_edit(flag, text) for text in given)

    return keep


def _edit(flag: str, text: str) -> Edit:
    from agent_tt.forking.editing.assignments import parse_assignment, parse_move, parse_removal
    from agent_tt.forking.editing.call_edits import parse_call_edit
    from agent_tt.forking.editing.request_edits import model_edit, parse_parameter, system_edit
    from agent_tt.model import Edit

    match flag:
        case "--set":
            return parse_assignment(text)
        case "--insert":
            return parse_assignment(text, op="insert")
        case "--delete":
            return parse_removal(text)
        case "--move":
            return parse_move(text)
        case "--result":
            return parse_call_edit(text, "result")
        case "--error":
            return parse_call_edit(text, "error")
        case "--answer":
            return parse_call_edit(text, "answer")
        case "--system":
            return system_edit(text)
        case "--model":
            return model_edit(text)
        case "--param":
            return parse_parameter(text)
    if not text.isdigit():
        raise click.BadParameter(f"{text!r} is not the number of a step")
    return Edit("mute", "", target="step", step=int(text))
