"""Agents of frameworks that the suite does not install; `make frameworks` does, each in a folder of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.core.frameworks.framework_agents import CHARGE, LOOKUP, ONE_BY_ONE, FrameworkAgent, row
from tests.core.frameworks.scripted_models import Asks

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

MARKED: Final = "import agent_tt\n" + TOOLS.replace("def lookup", '@agent_tt.tool(effect="read")\ndef lookup')
"""The same with one marked as our tool: it is one row, and reads."""

DSPY: Final = """[[ ## next_thought ## ]]
so

[[ ## next_tool_name ## ]]
{}

[[ ## next_tool_args ## ]]
{}

[[ ## completed ## ]]"""

_ONE_BY_ONE: Final = {
    "smolagents": FrameworkAgent(
        "smolagents",
        TOOLS
        + """
from smolagents import OpenAIModel, ToolCallingAgent, tool

tools = [tool(lookup), tool(charge)]
agent = ToolCallingAgent(tools=tools, model=OpenAIModel("gpt-4o"), name="clerk", verbosity_level=0)
print(agent.run("Charge A-7.", max_steps=6))
""",
        {},
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
        texts=(
            ("", (LOOKUP,)),
            ("A-7 owes 30", (CHARGE,)),
            ("charged 30", (Asks("final_answer", {"answer": "done"}),)),
            ("ToolDenied", (Asks("final_answer", {"answer": "denied"}),)),
        ),
    ),
    "smolagents writing code": FrameworkAgent(
        "smolagents",
        TOOLS
        + """
from smolagents import CodeAgent, OpenAIModel, tool

agent = CodeAgent(tools=[tool(lookup), tool(charge)], model=OpenAIModel("gpt-4o"), name="clerk", verbosity_level=0)
print(agent.run("Charge A-7.", max_steps=6))
""",
        {},
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
        texts=(
            ("", "<code>\nprint(lookup('A-7'))\n</code>"),
            ("A-7 owes 30", "<code>\nprint(charge('A-7', amount=30))\n</code>"),
            ("charged 30", "<code>\nfinal_answer('done')\n</code>"),
            ("ToolDenied", "<code>\nfinal_answer('denied')\n</code>"),
        ),
    ),
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
    "agno": FrameworkAgent(
        "agno",
        TOOLS
        + """
from agno.agent import Agent
from agno.models.openai import OpenAIChat

agent = Agent(model=OpenAIChat(id="gpt-4o"), name="clerk", tools=[lookup, charge], telemetry=False)
print(agent.run("Charge A-7.").content)
""",
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
    ),
    "langchain": FrameworkAgent(
        "langchain",
        TOOLS
        + """
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_openai import ChatOpenAI

asked = []

@wrap_tool_call
def noted(request, handler):
    asked.append(f"{request.tool_call['name']} {request.tool_call['args']}")
    return handler(request)

agent = create_agent(ChatOpenAI(model="gpt-4o"), [lookup, charge], name="clerk", middleware=[noted])
said = agent.invoke({"messages": [("user", "Charge A-7.")]})
print(sorted(asked), [message.content for message in said["messages"]])
""",
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
    ),
    "llama-index": FrameworkAgent(
        "llama_index",
        TOOLS
        + """
import asyncio
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI

async def main():
    agent = FunctionAgent(name="clerk", tools=[lookup, charge], llm=OpenAI(model="gpt-4o"))
    print(await agent.run(user_msg="Charge A-7."))

asyncio.run(main())
""",
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
    ),
    "dspy": FrameworkAgent(
        "dspy",
        TOOLS
        + """
import dspy

dspy.configure(lm=dspy.LM("openai/gpt-4o", cache=False))
agent = dspy.ReAct("order -> receipt", tools=[lookup, charge], max_iters=5)
print(agent(order="A-7").receipt)
""",
        {},
        (row(None, LOOKUP), row(None, CHARGE)),
        denied="told",
        texts=(
            ("", DSPY.format("lookup", '{"order": "A-7"}')),
            ("A-7 owes 30", DSPY.format("charge", '{"order": "A-7", "amount": 30}')),
            ("charged 30", DSPY.format("finish", "{}")),
            ("ToolDenied", DSPY.format("finish", "{}")),
            ("Completed.", "[[ ## reasoning ## ]]\nso\n\n[[ ## receipt ## ]]\ngiven\n\n[[ ## completed ## ]]"),
        ),
        uncovered=("litellm",),
    ),
    "autogen": FrameworkAgent(
        "autogen_agentchat",
        TOOLS
        + """
import asyncio
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

async def main():
    client = OpenAIChatCompletionClient(model="gpt-4o")
    agent = AssistantAgent("clerk", client, tools=[lookup, charge], max_tool_iterations=5)
    print((await agent.run(task="Charge A-7.")).messages[-1].content)
    await client.close()

asyncio.run(main())
""",
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
    ),
    "ag2": FrameworkAgent(
        "ag2",
        TOOLS
        + """
import asyncio
from ag2 import Agent
from ag2.config import OpenAIConfig

async def main():
    agent = Agent("clerk", "Be brief.", config=OpenAIConfig(model="gpt-4o"), tools=[lookup, charge])
    print((await agent.ask("Charge A-7.")).body)

asyncio.run(main())
""",
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
    ),
    "google-adk": FrameworkAgent(
        "google.adk",
        TOOLS
        + """
import asyncio
from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.genai import types

async def main():
    agent = Agent(name="clerk", model="gemini-2.5-flash", tools=[lookup, charge])
    runner = InMemoryRunner(agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="ann")
    said = types.Content(role="user", parts=[types.Part(text="Charge A-7.")])
    async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=said):
        print([part.text for part in event.content.parts])

asyncio.run(main())
""",
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
    ),
    "google-adk handing over": FrameworkAgent(
        "google.adk",
        TOOLS
        + """
import asyncio
from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types

def charge_once(order: str, amount: int, tool_context: ToolContext) -> str:
    tool_context.state["charged"] = amount
    return charge(order, amount)

charge_once.__name__ = "charge"

async def main():
    model = "gemini-2.5-flash"
    till = Agent(name="till", model=model, instruction="You are the till; {charged?} is charged.", tools=[charge_once])
    desk = Agent(name="desk", model=model, instruction="You are the desk.", tools=[lookup], sub_agents=[till])
    runner = InMemoryRunner(desk, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="ann")
    said = types.Content(role="user", parts=[types.Part(text="Charge A-7.")])
    async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=said):
        print(event.author, [part.text for part in event.content.parts], event.actions.state_delta)

asyncio.run(main())
""",
        {
            "the till": ((CHARGE,),),
            "the desk": ((LOOKUP,), (Asks("transfer_to_agent", {"agent_name": "till"}),)),
        },
        (
            row("desk", LOOKUP),
            row("desk", Asks("transfer_to_agent", {"agent_name": "till"}), "read"),
            row("till", CHARGE),
        ),
        forks_at=2,
    ),
    "crewai": FrameworkAgent(
        "crewai",
        TOOLS
        + """
from crewai import Agent, Crew, Task
from crewai.tools import tool

agent = Agent(role="clerk", goal="charge", backstory="none", llm="openai/gpt-4o", tools=[tool(lookup), tool(charge)])
task = Task(description="Charge A-7.", expected_output="a receipt", agent=agent)
print(Crew(agents=[agent], tasks=[task]).kickoff())
""",
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
        uncovered=("grpc",),
    ),
}


def _several(agent: FrameworkAgent) -> FrameworkAgent:
    """The same agent whose model asks for two tools at once, one of them marked as ours."""
    again = Asks("lookup", {"order": "B-8"})
    clerk = agent.rows[0].agent
    return replace(
        agent,
        source=agent.source.replace(TOOLS, MARKED),
        script={"": ((LOOKUP,), (again, CHARGE))} if agent.script else {},
        texts=tuple((text, (again, CHARGE) if what == (CHARGE,) else what) for text, what in agent.texts),
        rows=(row(clerk, LOOKUP, "read"), row(clerk, again, "read"), row(clerk, CHARGE)),
    )


_SEVERAL: Final = [name for name, each in _ONE_BY_ONE.items() if each.script is ONE_BY_ONE or name == "smolagents"]


OTHER_AGENTS: Final = {
    **_ONE_BY_ONE,
    **{f"{name} several": _several(_ONE_BY_ONE[name]) for name in _SEVERAL},
}
"""By what they show."""
