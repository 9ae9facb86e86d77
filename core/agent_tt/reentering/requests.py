"""System prompt, model and parameters of every later request, and of functions that ask a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_tt.codec.decode import decode
from agent_tt.codec.loaded_classes import LOADED
from agent_tt.providers.reading import asked, provider_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.model import Edit
    from agent_tt.providers.shapes import Json, ModelCall
    from agent_tt.recording.calls.signature import Parameters

__all__ = ["changed_arguments", "changed_request"]

_PROMPTS = ("system", "system_prompt", "instructions")
_SPEAKERS = ("system", "developer")


def changed_request(
    url: str, body: Mapping[str, Json], call: ModelCall, edits: Sequence[Edit]
) -> tuple[str, dict[str, Json], list[str]]:
    """A request as edits want it: its address, its body, and what its format cannot say, in words.

    Args:
        url: its address.
        body: its body.
        call: what was read of it.
        edits: the edits.
    """
    changed, left, provider = dict(body), list[str](), provider_of(call)
    for edit in edits:
        match edit.target:
            case "system":
                told = asked(provider.with_system, changed, str(edit.value))
                if told is None:
                    left.append("a request without a system prompt was left as it was")
                changed = told or changed
            case "model":
                url, changed = asked(provider.with_model, url, changed, str(edit.value)) or (url, changed)
            case "parameter":
                value = None if edit.op == "delete" else edit.value
                changed = asked(provider.with_parameter, changed, edit.path, value) or changed
            case _:
                pass
    return url, changed, left


def changed_arguments(
    parameters: Parameters, args: Sequence[object], kwargs: Mapping[str, object], edits: Sequence[Edit]
) -> tuple[tuple[object, ...], dict[str, object], list[str]]:
    """The arguments of a function that asks a model, as edits want them; and what it does not take, in words.

    Nothing that the agent holds is changed: a list of messages is a new one.
    """
    given, named, left = tuple(args), dict(kwargs), list[str]()
    for edit in edits:
        value = None if edit.op == "delete" else decode(edit.value, LOADED)
        match edit.target:
            case "system":
                found = _with_prompt(parameters, given, named, value)
            case "model":
                found = _with(parameters, given, named, "model", value)
            case "parameter":
                found = _with(parameters, given, named, edit.path, value)
            case _:
                continue
        if found is None:
            left.append(f"takes no {edit.where}")
        else:
            given, named = found
    return given, named, left


_Given = tuple[tuple[object, ...], dict[str, object]]


def _with(
    parameters: Parameters, args: tuple[object, ...], kwargs: dict[str, object], name: str, value: object
) -> _Given | None:
    if name in parameters:
        changed, named = parameters.replace(args, kwargs, name, value)
        return tuple(changed), dict(named)
    return (args, {**kwargs, name: value}) if parameters.takes_rest else None


def _with_prompt(
    parameters: Parameters, args: tuple[object, ...], kwargs: dict[str, object], prompt: object
) -> _Given | None:
    values = parameters.values(args, kwargs)
    messages = values.get("messages")
    if isinstance(messages, list):
        first: Any = messages[0] if messages else None
        is_prompt = isinstance(first, dict) and first.get("role") in _SPEAKERS
        system = {**first, "content": prompt} if is_prompt else {"role": "system", "content": prompt}
        return _with(parameters, args, kwargs, "messages", [system, *messages[1 if is_prompt else 0 :]])
    name = next((name for name in _PROMPTS if name in values), None)
    return None if name is None else _with(parameters, args, kwargs, name, prompt)
