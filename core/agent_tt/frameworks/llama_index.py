"""LlamaIndex: tools of functions, and which agent's turn it is.

A tool is caught where it calls its function; the context of a workflow is shown by what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import ToolCall, calling
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes
from agent_tt.recording.steps.agent_names import acting_as

if TYPE_CHECKING:
    from types import ModuleType

_NAME: Final = "LlamaIndex"


def tools(module: ModuleType) -> list[Patch]:
    """List what is replaced in `llama_index.core.tools.function_tool`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    tool = module.FunctionTool
    methods = {"call": "_fn", "acall": "_async_fn"}
    for name, function in methods.items():
        need_attributes(getattr(tool, name), function)
    return [Patch(tool, name, calling(_NAME, function, _tool)) for name, function in methods.items()]


def _tool(tool: Any, *args: Any, **named: Any) -> ToolCall:
    contexts = {name: value for name, value in named.items() if name == tool.ctx_param_name}
    parameters = tool.metadata.get_parameters_dict().get("properties", {})
    arguments = {**dict(zip(parameters, args, strict=False)), **named}
    return ToolCall(
        name=tool.metadata.get_name(),
        arguments={name: value for name, value in arguments.items() if name not in contexts},
        contexts=contexts,
        function=tool.real_fn,
    )


def agents(module: ModuleType) -> list[Patch]:
    """List what is replaced in `llama_index.core.agent.workflow`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    kinds = module.FunctionAgent, module.ReActAgent, module.CodeActAgent
    return [Patch(kind, "take_step", acting_as("name")) for kind in kinds]
