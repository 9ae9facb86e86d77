"""How the process of a fork is told what to do: two environment variables. Everything else stands in the store."""

from __future__ import annotations

from typing import Final

__all__ = ["RUN_VARIABLE", "STORE_VARIABLE"]

STORE_VARIABLE: Final = "AGENT_TT_STORE"
"""Path of the store. The agent's later recordings go there too."""

RUN_VARIABLE: Final = "AGENT_TT_FORK"
"""Id of the run that the first recording fills."""
