"""DSPy: tools of its agents, and those that a program calls itself.

A tool is caught where it calls its function with what it made of the model's arguments. What an agent of DSPy has of
its own, such as the tool that ends its run, is no call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import ToolCall, calling
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes

if TYPE_CHECKING:
    from types import ModuleType

_NAME: Final = "DSPy"
_OWN: Final = "dspy.predict."


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `dspy`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    methods = "__call__", "acall"
    for name in methods:
        need_attributes(getattr(module.Tool, name), "func")
    return [Patch(module.Tool, name, calling(_NAME, "func", _tool)) for name in methods]


def _tool(tool: Any, **arguments: Any) -> ToolCall | None:
    if str(getattr(tool.func, "__module__", "")).startswith(_OWN):
        return None
    return ToolCall(tool.name, arguments, function=tool.func)
