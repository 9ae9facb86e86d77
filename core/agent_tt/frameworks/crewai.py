"""CrewAI: tools, and which agent's turn it is.

A tool is caught where it calls its function, below the checks of its arguments and of how often it may be used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import ToolCall, calling
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes
from agent_tt.recording.steps.agent_names import acting_as

if TYPE_CHECKING:
    from types import ModuleType

_NAME: Final = "CrewAI"
_TEXT: Final = "input"
"""The name of arguments that are not a JSON object."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `crewai`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    base, tool = module.tools.base_tool.BaseTool, module.tools.base_tool.Tool
    structured = module.tools.structured_tool.CrewStructuredTool
    methods = [
        (base, "run", "_run", _tool),
        (base, "arun", "_arun", _tool),
        (tool, "run", "func", _tool),
        (tool, "arun", "_arun", _tool),
        (structured, "invoke", "func", _structured),
        (structured, "ainvoke", "func", _structured),
    ]
    for owner, name, function, _ in methods:
        need_attributes(getattr(owner, name), function)
    return [
        *(Patch(owner, name, calling(_NAME, function, describe)) for owner, name, function, describe in methods),
        *(Patch(module.Agent, name, acting_as("role")) for name in ("execute_task", "aexecute_task")),
    ]


def _tool(tool: Any, *args: Any, **named: Any) -> ToolCall:
    given = {**dict(zip(tool.args_schema.model_fields, args, strict=False)), **named}
    return ToolCall(tool.name, given, function=_function(tool))


def _structured(tool: Any, input: Any, *_args: Any, **_options: Any) -> ToolCall:  # noqa: A002  as it is called
    given = json.loads(input) if isinstance(input, str) and input.lstrip().startswith("{") else input
    arguments = given if isinstance(given, dict) else {_TEXT: given}
    return ToolCall(tool.name, arguments, function=_function(getattr(tool, "_original_tool", None) or tool))


def _function(tool: Any) -> object:
    return getattr(tool, "func", None) or type(tool)._run  # noqa: SLF001
