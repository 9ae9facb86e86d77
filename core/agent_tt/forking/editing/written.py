"""Edits as a Python program gives them: values by where they belong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent_tt.codec.encode import encode
from agent_tt.forking.editing.call_edits import parse_call_edit
from agent_tt.forking.editing.edits import apply_edits, edit_from_value
from agent_tt.forking.editing.request_edits import model_edit, parameter_edit, system_edit
from agent_tt.model import Edit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import EditTarget

__all__ = ["call_edits", "request_edits", "state_edits"]


def state_edits(state: Wire, changes: Mapping[str, object]) -> list[Edit]:
    """Edits that set values of a state, by path.

    Raises:
        InvalidPath, InvalidEdit: there is no such place.
    """
    edits: list[Edit] = []
    for path, value in changes.items():
        edits.append(edit_from_value(state, path, value))
        state = apply_edits(state, edits[-1:])
    return edits


def call_edits(
    *,
    results: Mapping[str, object] | None = None,
    errors: Mapping[str, str] | None = None,
    answers: Mapping[str, object] | None = None,
) -> list[Edit]:
    """Edits of what came back of calls, by `STEP[.CALL][.PATH]`.

    Raises:
        InvalidEdit, InvalidPath: a place cannot be read.
    """
    groups: tuple[tuple[EditTarget, Mapping[str, object]], ...] = (
        ("result", results or {}),
        ("error", errors or {}),
        ("answer", answers or {}),
    )
    edits: list[Edit] = []
    for target, values in groups:
        for place, value in values.items():
            wire = encode(value)
            read = parse_call_edit(f"{place}={json.dumps(wire)}", target)
            edits.append(Edit("set", read.path, wire, target=target, step=read.step, call=read.call))
    return edits


def request_edits(
    *, system: str | None = None, model: str | None = None, parameters: Mapping[str, object] | None = None
) -> list[Edit]:
    """Edits of every later request.

    Raises:
        InvalidEdit: a model or a parameter has no name.
    """
    edits = [] if system is None else [system_edit(system)]
    edits += [] if model is None else [model_edit(model)]
    return edits + [parameter_edit(name, encode(value)) for name, value in (parameters or {}).items()]
