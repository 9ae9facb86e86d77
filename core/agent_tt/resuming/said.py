"""What a person says that a call gave which was in flight: JSON, looked at before the agent is given it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt.codec.decode import check_envelopes
from agent_tt.codec.wire import envelope_type
from agent_tt.errors import NotRebuildable, UsageError
from agent_tt.forking.checks import envelopes

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call

__all__ = ["check_said", "read_said"]

_PLAIN: Final = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


def read_said(text: str, call: Call, example: Wire) -> Wire:
    """The result that a person typed.

    Args:
        text: JSON. What JSON does not know is an envelope, as `show --json` writes it.
        call: the call.
        example: what an earlier call of the same function gave; None where none did.

    Raises:
        UsageError: it is not valid JSON, or not such as the function gives.
    """
    try:
        said: Wire = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"the result of {call.name} is not valid JSON: {error}", hint='a text is written "so"'
        ) from None
    check_said(said, call, example)
    return said


def check_said(said: Wire, call: Call, example: Wire) -> None:
    """Check a result against what the function gave before.

    Raises:
        UsageError: it cannot be made into a value; or it is of another kind, and the agent would trip over it.
    """
    try:
        check_envelopes(said)
    except (NotRebuildable, RecursionError) as error:
        raise UsageError(f"the result of {call.name} cannot be given: {error}") from None
    lost = next((envelope for _, envelope in envelopes([said]) if envelope_type(envelope) == "opaque"), None)
    if lost is not None:
        raise UsageError(f"the result of {call.name} cannot be given: its {lost.get('class')} cannot be rebuilt")
    expected, found = _kind_of(example), _kind_of(said)
    if example is not None and said is not None and expected != found:
        raise UsageError(
            f"{call.name} gave {expected} before, and this is {found}",
            hint=f"it gave, as JSON: {json.dumps(example, ensure_ascii=False)[:400]}",
        )


def _kind_of(wire: Wire) -> str:
    kind = envelope_type(wire)
    if kind is None:
        return _PLAIN.get(type(wire), "an object")
    name = wire.get("class") if isinstance(wire, dict) else None
    return f"a {name if isinstance(name, str) else kind}"
