"""Making exceptions again whose class has a constructor of its own, through that class's public way in.

The facts are those of `agent_tt.recording.errors.exception_values`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.errors.exception_values import PYDANTIC_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["MADE_BY"]


def _pydantic(kind: Any, facts: Mapping[str, Any]) -> BaseException:
    """Pydantic's ValidationError. How it shows its input is not told by it: the way that gives the recorded text."""
    core: Any = sys.modules["pydantic_core"]
    lines = [_line(core, entry) for entry in facts["errors"]]
    for input_type in ("python", "json"):
        for hide_input in (False, True):
            made = kind.from_exception_data(facts["title"], lines, input_type=input_type, hide_input=hide_input)
            if str(made) == facts["text"]:
                return made  # type: ignore[no-any-return]
    raise ValueError("its text comes out differently")


def _line(core: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    context, place = entry.get("ctx"), {"loc": entry["loc"], "input": entry["input"]}
    try:
        core.PydanticKnownError(entry["type"], context)
    except KeyError:  # an error of the agent's own, whose text is made already
        return {"type": core.PydanticCustomError(entry["type"], entry["msg"], context), **place}
    return {"type": entry["type"], **place, **({} if context is None else {"ctx": context})}


MADE_BY: Final[dict[str, Callable[[type[BaseException], Mapping[str, Any]], BaseException]]] = {
    PYDANTIC_ERROR: _pydantic,
}
"""By `module:Qualified.Name`: what makes an object of the class from the recorded facts. May raise anything."""
