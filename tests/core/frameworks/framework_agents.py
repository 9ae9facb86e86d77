"""Agents of real frameworks, not made for us: each has a tool that reads and one that writes, or a few of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.core.frameworks.scripted_models import Asks, Script, Texts

WORLD: Final = '''
import os

with open("pid", "w") as file:
    file.write(str(os.getpid()))


def did(word):
    """Leave a word behind that this was really done."""
    with open("did", "a") as file:
        file.write(word + "\\n")
'''
"""The module `world` of each agent: what tells the test who runs, and what was done."""

LOOKUP: Final = Asks("lookup", {"order": "A-7"})
CHARGE: Final = Asks("charge", {"order": "A-7", "amount": 30})


@dataclass(frozen=True)
class Row:
    """A tool's call as it is to be recorded.

    Attributes:
        agent: whose step it stands in.
        tool: its name.
        arguments: the model's.
        effect: what it does.
    """

    agent: str | None
    tool: str
    arguments: dict[str, object]
    effect: str = "write"


def row(agent: str | None, asks: Asks, effect: str = "write") -> Row:
    return Row(agent, asks.tool, dict(asks.arguments), effect)


@dataclass(frozen=True)
class FrameworkAgent:
    """An agent.

    Attributes:
        framework: the module that must be installed.
        source: of `agent.py`. Its tool `charge` writes, by `world.did("charge")`.
        script: what its models say.
        rows: the calls of tools that are to be recorded, in the order of their steps.
        denied: what comes of a `charge` that a fork denies: `told` where the framework tells the model, `raised` where
            its run fails.
        forks_at: the step that is forked: the last one before `charge` is asked for.
        texts: what its models write, where it reads that.
        fails: the tools that raise an error, at least once.
        uncovered: libraries in C that it loads and that may reach the world: a replay says so.
    """

    framework: str
    source: str
    script: Script
    rows: tuple[Row, ...]
    denied: str = "raised"
    forks_at: int = 1
    texts: Texts = ()
    fails: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()


ONE_BY_ONE: Final[Script] = {"": ((LOOKUP,), (CHARGE,))}

LANGCHAIN_MODEL: Final = """
import json
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
import openai
from world import did


class Chat(BaseChatModel):
    _llm_type = "chat"

    def bind_tools(self, tools, **options):
        return self.bind(tools=[convert_to_openai_tool(each) for each in tools])

    def _generate(self, messages, stop=None, run_manager=None, **options):
        answer = openai.OpenAI().chat.completions.create(
            model="gpt-4o", messages=convert_to_openai_messages(messages), **options
        )
        said = answer.choices[0].message
        calls = [
            {"name": call.function.name, "args": json.loads(call.function.arguments), "id": call.id}
            for call in said.tool_calls or ()
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said.content or "", tool_calls=calls))])
"""

LANGCHAIN_TOOLS: Final = '''
@tool
def lookup(order: str) -> dict:
    """Look an order up."""
    did("lookup")
    return {"order": order, "owes": 30}

@tool
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"
'''

AGENTS: Final = {
    "langgraph": FrameworkAgent(
        "langgraph.prebuilt",
        LANGCHAIN_MODEL
        + LANGCHAIN_TOOLS
        + """
from langgraph.prebuilt import create_react_agent

graph = create_react_agent(Chat(), [lookup, charge])
for update in graph.stream({"messages": [("user", "Charge A-7.")]}, stream_mode="updates"):
    for node, said in update.items():
        print(node, [message.content for message in said["messages"]])
""",
        ONE_BY_ONE,
        (row(None, LOOKUP), row(None, CHARGE)),
    ),
    "langgraph parallel": FrameworkAgent(
        "langgraph.prebuilt",
        LANGCHAIN_MODEL
        + '''
import asyncio
from typing import Annotated
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition

@tool
async def lookup(order: str, state: Annotated[dict, InjectedState]) -> dict:
    """Look an order up."""
    did("lookup")
    await asyncio.sleep(0)
    return {"order": order, "asked": len(state["messages"])}

@tool(response_format="content_and_artifact")
def charge(order: str, amount: int) -> tuple:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}", {"receipt": (order, amount)}

class Told(BaseCallbackHandler):
    def on_tool_start(self, serialized, input_str, **options):
        self.names = [*getattr(self, "names", ()), serialized["name"]]

tools, told = [lookup, charge], Told()
model = Chat().bind_tools(tools)

async def clerk(state):
    return {"messages": [await model.ainvoke(state["messages"])]}

graph = StateGraph(MessagesState)
graph.add_node("clerk", clerk)
graph.add_node("till", ToolNode(tools))
graph.add_edge(START, "clerk")
graph.add_conditional_edges("clerk", tools_condition, {"tools": "till", END: END})
graph.add_edge("till", "clerk")
said = asyncio.run(graph.compile().ainvoke({"messages": [("user", "Charge A-7.")]}, {"callbacks": [told]}))
print([(message.type, message.content, getattr(message, "artifact", None)) for message in said["messages"]])
print(sorted(told.names))
''',
        {"": ((LOOKUP,), (CHARGE, Asks("lookup", {"order": "B-8"})))},
        (row("clerk", LOOKUP), row("clerk", CHARGE), row("clerk", Asks("lookup", {"order": "B-8"}))),
    ),
    "langgraph commands": FrameworkAgent(
        "langgraph.prebuilt",
        LANGCHAIN_MODEL
        + '''
import agent_tt
from typing import Annotated
from langchain_core.messages import SystemMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command

class State(MessagesState):
    paid: int
    remaining_steps: int

@tool
@agent_tt.tool(effect="read")
def lookup(order: str) -> dict:
    """Look an order up."""
    did("lookup")
    return {"order": order, "owes": 30}

@tool
def charge(order: str, amount: int, call: Annotated[str, InjectedToolCallId]) -> Command:
    """Charge."""
    did("charge")
    return Command(update={"paid": amount, "messages": [ToolMessage(f"charged {amount}", tool_call_id=call)]})

graph = StateGraph(State)
for name, tools in {"clerk": [lookup], "till": [charge]}.items():
    agent = create_react_agent(Chat(), tools, prompt=f"You are the {name}.", state_schema=State)
    graph.add_node(name, agent)
graph.add_edge(START, "clerk")
graph.add_edge("clerk", "till")
said = graph.compile().invoke({"messages": [("user", "Charge A-7.")]})
print(said["paid"], [message.content for message in said["messages"]])
''',
        {"the clerk": ((LOOKUP,),), "the till": ((CHARGE,),)},
        (row("clerk", LOOKUP, "read"), row("till", CHARGE)),
        forks_at=2,
    ),
    "openai agents": FrameworkAgent(
        "agents",
        '''
from dataclasses import dataclass
from agents import Agent, RunContextWrapper, Runner, function_tool
from world import did

@dataclass
class Customer:
    name: str
    orders: int = 0

@function_tool
def lookup(context: RunContextWrapper[Customer], order: str) -> dict:
    """Look an order up."""
    did("lookup")
    context.context.orders += 1
    return {"order": order, "owes": 30}

@function_tool
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

def instructions(context, agent):
    return f"{context.context.name} has {context.context.orders} orders."

agent = Agent[Customer](name="clerk", instructions=instructions, tools=[lookup, charge], model="gpt-4o")
result = Runner.run_sync(agent, "Charge A-7.", context=Customer("Ann"))
print(result.final_output, [item.type for item in result.new_items], result.context_wrapper.context)
''',
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
        denied="told",
    ),
    "openai agents streamed": FrameworkAgent(
        "agents",
        '''
import asyncio
from agents import Agent, Runner, function_tool
from world import did

@function_tool
async def lookup(order: str) -> dict:
    """Look an order up."""
    did("lookup")
    await asyncio.sleep(0)
    return {"order": order, "owes": 30}

@function_tool
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

async def main():
    agent = Agent(name="clerk", tools=[lookup, charge], model="gpt-4o")
    result = Runner.run_streamed(agent, "Charge A-7.")
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            print(event.data.delta, end="|")
        elif event.type == "run_item_stream_event":
            print(event.name, getattr(event.item, "output", ""))

asyncio.run(main())
''',
        {"": ((LOOKUP,), (Asks("lookup", {"order": "B-8"}), CHARGE))},
        (row("clerk", LOOKUP), row("clerk", Asks("lookup", {"order": "B-8"})), row("clerk", CHARGE)),
        denied="told",
    ),
    "openai agents handing off": FrameworkAgent(
        "agents",
        '''
import agent_tt
from agents import Agent, GuardrailFunctionOutput, Runner, function_tool, handoff, input_guardrail
from world import did

@function_tool
@agent_tt.tool(effect="read")
def lookup(order: str) -> dict:
    """Look an order up."""
    did("lookup")
    return {"order": order, "owes": 30}

@function_tool
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

judge = Agent(name="judge", instructions="You are the judge.", model="gpt-4o")

@input_guardrail(run_in_parallel=False)
async def is_polite(context, agent, said):
    answer = await Runner.run(judge, said, context=context.context)
    return GuardrailFunctionOutput(output_info=answer.final_output, tripwire_triggered=False)

finder = Agent(name="finder", instructions="You are the finder.", tools=[lookup], model="gpt-4o")
till = Agent(
    name="till",
    instructions="You are the till.",
    tools=[finder.as_tool("find", "Find an order."), charge],
    model="gpt-4o",
)
desk = Agent(
    name="desk",
    instructions="You are the desk.",
    handoffs=[handoff(till)],
    input_guardrails=[is_polite],
    model="gpt-4o",
)
result = Runner.run_sync(desk, "Charge A-7.")
print(result.last_agent.name, result.final_output, [item.type for item in result.new_items])
''',
        {
            "the desk": ((Asks("transfer_to_till", {}),),),
            "the till": ((Asks("find", {"input": "A-7"}),), (CHARGE,)),
            "the finder": ((LOOKUP,),),
        },
        (
            Row("desk", "transfer_to_till", {}, "read"),
            Row("till", "find", {"input": "A-7"}, "read"),
            row("finder", LOOKUP, "read"),
            row("till", CHARGE),
        ),
        denied="told",
        forks_at=5,
    ),
}
"""By what they show."""
