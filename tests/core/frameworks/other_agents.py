"""Agents of frameworks that the suite does not install; `make frameworks` does, each in a folder of its own."""

from __future__ import annotations

from typing import Final

from tests.core.frameworks.framework_agents import CHARGE, LOOKUP, ONE_BY_ONE, FrameworkAgent, row

TOOLS: Final = '''
from world import did


def lookup(order: str) -> str:
    """Look an order up.

    Args:
        order: its number
    """
    did("lookup")
    return f"{order} owes 30"


def charge(order: str, amount: int) -> str:
    """Charge.

    Args:
        order: its number
        amount: how much
    """
    did("charge")
    return f"charged {amount} for {order}"

'''

OTHER_AGENTS: Final = {
    "strands": FrameworkAgent(
        "strands",
        TOOLS
        + """
from strands import Agent, tool
from strands.models.openai import OpenAIModel

agent = Agent(model=OpenAIModel(model_id="gpt-4o"), name="clerk", tools=[tool(lookup), tool(charge)])
print(agent("Charge A-7."))
""",
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
    ),
}
"""By what they show."""
