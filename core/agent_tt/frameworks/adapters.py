"""Which module of a framework each adapter is for, ours and those of other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Final, TypeAlias, cast

from agent_tt.plugins import PluginFailed, Plugins
from agent_tt.recording.modules.rebinding import Replaced

__all__ = ["ADAPTERS", "Adapter"]

Adapter: TypeAlias = Callable[[ModuleType], Iterable[Replaced]]
"""Takes a module that the program has imported, and gives what to replace in it.

Raises AttributeError for a version of the module that it does not know.
"""

_OURS: Final = {
    "ag2": "agent_tt.frameworks.ag2:patches",
    "agents": "agent_tt.frameworks.openai_agents:patches",
    "agno.agent._run": "agent_tt.frameworks.agno:agents",
    "agno.tools.function": "agent_tt.frameworks.agno:tools",
    "anthropic.lib.tools": "agent_tt.frameworks.anthropic:patches",
    "autogen_agentchat.agents": "agent_tt.frameworks.autogen:agents",
    "autogen_core.tools": "agent_tt.frameworks.autogen:tools",
    "crewai": "agent_tt.frameworks.crewai:patches",
    "dspy": "agent_tt.frameworks.dspy:patches",
    "google.adk.agents": "agent_tt.frameworks.google_adk:agents",
    "google.adk.tools.function_tool": "agent_tt.frameworks.google_adk:tools",
    "google.genai._extra_utils": "agent_tt.frameworks.google_genai:patches",
    "langchain_core.tools.base": "agent_tt.frameworks.langchain:tools",
    "langgraph.pregel": "agent_tt.frameworks.langchain:agents",
    "llama_index.core.agent.workflow": "agent_tt.frameworks.llama_index:agents",
    "llama_index.core.tools.function_tool": "agent_tt.frameworks.llama_index:tools",
    "pydantic_ai": "agent_tt.frameworks.pydantic_ai:patches",
    "smolagents": "agent_tt.frameworks.smolagents:patches",
    "strands": "agent_tt.frameworks.strands:patches",
}
"""By the module that is watched for."""


def _accepted(found: object) -> Adapter:
    if not callable(found):
        raise PluginFailed(f"is a {type(found).__name__}, not a function that takes a module")
    return cast("Adapter", found)


ADAPTERS: Final = Plugins("agent_tt.frameworks", _OURS, _accepted)
"""The entry point group of adapters. The name of each is the module that it is called with."""
