"""smolagents: tools of agents that call them and of agents that write code, and which agent's turn it is.

What an agent's code gives to a tool by position is recorded by the tool's own names. The tool that ends a run does
nothing and is no call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import ToolCall, calling
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes
from agent_tt.recording.steps.agent_names import acting_as

if TYPE_CHECKING:
    from types import ModuleType

_NAME: Final = "smolagents"


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `smolagents`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    need_attributes(module.Tool.__call__, "forward")
    ends_a_run = module.FinalAnswerTool

    def describe(tool: Any, *args: Any, **named: Any) -> ToolCall | None:
        return None if isinstance(tool, ends_a_run) else _tool(tool, *args, **named)

    return [
        Patch(module.Tool, "__call__", calling(_NAME, "forward", describe)),
        Patch(module.MultiStepAgent, "run", acting_as("name")),
    ]


def _tool(tool: Any, *args: Any, sanitize_inputs_outputs: bool = False, **named: Any) -> ToolCall:  # noqa: ARG001  no argument of the model's
    if len(args) == 1 and not named and isinstance(args[0], dict) and args[0].keys() <= tool.inputs.keys():
        named, args = args[0], ()
    given = {**dict(zip(tool.inputs, args, strict=False)), **named}
    return ToolCall(tool.name, given, function=type(tool).forward)
