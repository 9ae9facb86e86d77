"""Edits of every later request to a model: its system prompt, the model, its parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from agent_tt.codec.parse import parse_value
from agent_tt.errors import InvalidEdit, InvalidValue
from agent_tt.model import Edit
from agent_tt.providers.reading import recorded_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Step
    from agent_tt.protocols import RunSource

__all__ = ["REQUESTS", "model_edit", "parameter_edit", "parse_parameter", "system_edit", "with_recorded_requests"]

REQUESTS = frozenset({"system", "model", "parameter"})
"""What these edits change."""


def system_edit(prompt: str) -> Edit:
    """Another system prompt from the fork on."""
    return Edit("set", "", prompt, target="system")


def model_edit(name: str) -> Edit:
    """Another model from the fork on.

    Raises:
        InvalidEdit: it has no name.
    """
    if not name.strip():
        raise InvalidEdit("a model needs a name")
    return Edit("set", "", name, target="model")


def parameter_edit(name: str, value: Wire) -> Edit:
    """Another value of a parameter from the fork on; None leaves it out.

    Raises:
        InvalidEdit: it has no name.
    """
    if not name.strip() or not all(name.split(".")):
        raise InvalidEdit(f"{name!r} is not a parameter name", hint="for example temperature, or reasoning.effort")
    return Edit("delete" if value is None else "set", name, value, target="parameter")


def parse_parameter(text: str) -> Edit:
    """Read `NAME=VALUE`; null leaves the parameter out, what is not JSON is taken as words.

    Raises:
        InvalidEdit: there is no `=`.
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidEdit(f"{text!r} is not NAME=VALUE", hint="for example --param temperature=0")
    try:
        wire = parse_value(value)
    except InvalidValue:
        wire = value
    return parameter_edit(name.strip(), wire)


def with_recorded_requests(
    source: RunSource, run_id: str, steps: Sequence[Step], after: int, edits: Iterable[Edit]
) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """The same edits with the values that the recorded requests had, and what is odd about them.

    Args:
        source: where the run lies.
        run_id: the run.
        steps: all its steps.
        after: the last step that is kept: the first model call behind it is looked at, else the last before.
        edits: edits of requests.
    """
    wanted = list(edits)
    if not wanted:
        return (), ()
    call = _model_call(source, run_id, steps, after)
    if call is None:
        return tuple(wanted), ("the run asked no model that is known, so nothing may come of changed requests",)
    known = [replace(edit, old=_old(call, edit)) for edit in wanted]
    if recorded_call(call.args) is not None:
        return tuple(known), ()
    taken = call.args if isinstance(call.args, dict) else {}
    odd = [
        f"{call.name} took no {edit.where} when it was recorded"
        for edit in known
        if (edit.target == "model" and "model" not in taken) or (edit.target == "parameter" and edit.old is None)
    ]
    return tuple(known), tuple(odd)


def _model_call(source: RunSource, run_id: str, steps: Sequence[Step], after: int) -> Call | None:
    """The first model call behind a step, else the last one before; one of a provider before a function's."""
    for step in (*steps[after:], *reversed(steps[:after])):
        calls = [call for call in source.calls(run_id, step.number) if call.kind == "llm"] if step.calls else []
        if calls:
            return next((call for call in calls if recorded_call(call.args) is not None), calls[0])
    return None


def _old(call: Call, edit: Edit) -> Wire:
    request = recorded_call(call.args)
    args = call.args if isinstance(call.args, dict) else {}
    match edit.target:
        case "system" if request is not None:
            return request.system or None
        case "system":
            messages = args.get("messages")
            first = messages[0] if isinstance(messages, list) and messages else None
            is_prompt = isinstance(first, dict) and first.get("role") in ("system", "developer")
            return first.get("content") if is_prompt and isinstance(first, dict) else args.get("system")
        case "model":
            return request.model if request is not None else args.get("model", call.facts.model)
        case _:
            found = dict(request.parameters) if request is not None else args
            value: object = found
            for key in edit.path.split("."):
                value = value.get(key) if isinstance(value, dict) else None
            return cast("Wire", value)
