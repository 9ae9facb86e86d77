"""Agents of Pydantic AI, and of the clients of Anthropic and Google that call tools by themselves."""

from __future__ import annotations

from typing import Final

from tests.core.frameworks.framework_agents import CHARGE, LOOKUP, ONE_BY_ONE, FrameworkAgent, Row, row
from tests.core.frameworks.scripted_models import Asks

OTHER: Final = Asks("lookup", {"order": "B-8"})

SDK_AGENTS: Final = {
    "pydantic ai": FrameworkAgent(
        "pydantic_ai",
        '''
from dataclasses import dataclass
from pydantic_ai import Agent, RunContext
from world import did

@dataclass
class Customer:
    name: str
    orders: int = 0

clerk = Agent("openai-chat:gpt-4o", deps_type=Customer)

@clerk.instructions
def instructions(context: RunContext[Customer]) -> str:
    return f"{context.deps.name} has {context.deps.orders} orders."

@clerk.tool
def lookup(context: RunContext[Customer], order: str) -> dict:
    """Look an order up."""
    did("lookup")
    context.deps.orders += 1
    return {"order": order, "owes": 30}

@clerk.tool_plain
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

ann = Customer("Ann")
result = clerk.run_sync("Charge A-7.", deps=ann)
print(result.output, ann, [type(part).__name__ for message in result.all_messages() for part in message.parts])
''',
        ONE_BY_ONE,
        (row("clerk", LOOKUP), row("clerk", CHARGE)),
    ),
    "pydantic ai streamed": FrameworkAgent(
        "pydantic_ai",
        '''
import asyncio
import agent_tt
from pydantic import BaseModel
from pydantic_ai import Agent, FunctionToolset
from world import did

class Order(BaseModel):
    number: str
    lines: list[int] = []

tools = FunctionToolset()

@tools.tool_plain
@agent_tt.tool(effect="read")
async def lookup(order: str) -> Order:
    """Look an order up."""
    did("lookup")
    await asyncio.sleep(0)
    return Order(number=order, lines=[1, 2])

@tools.tool_plain
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

async def main():
    clerk = Agent("openai-responses:gpt-4o", name="clerk", toolsets=[tools])
    async with clerk.run_stream("Charge A-7.") as result:
        async for text in result.stream_text(delta=True, debounce_by=None):
            print(text, end="|")
    for message in result.all_messages():
        for part in message.parts:
            print(type(part).__name__, getattr(part, "content", ""))

asyncio.run(main())
''',
        {"": ((LOOKUP,), (OTHER, CHARGE))},
        (row("clerk", LOOKUP, "read"), row("clerk", OTHER, "read"), row("clerk", CHARGE)),
    ),
    "pydantic ai in several": FrameworkAgent(
        "pydantic_ai",
        '''
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from world import did

class Receipt(BaseModel):
    order: str
    amount: int

def give(context: RunContext, receipt: Receipt) -> str:
    """Give a receipt."""
    did("give")
    return f"{receipt.order}: {receipt.amount}"

finder = Agent("anthropic:claude-sonnet-4-5", name="finder", instructions="You are the finder.")
till = Agent("openai-chat:gpt-4o", name="till", instructions="You are the till.", output_type=give)

@finder.tool_plain
def lookup(order: str) -> dict:
    """Look an order up."""
    did("lookup")
    return {"order": order, "owes": 30}

@till.tool
async def find(context: RunContext, order: str) -> str:
    """Find an order."""
    found = await finder.run(f"Find {order}.")
    return found.output

@till.tool_plain
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

result = till.run_sync("Charge A-7.")
print(result.output)
''',
        {
            "the till": ((Asks("find", {"order": "A-7"}),), (CHARGE,), (Asks("final_result", CHARGE.arguments),)),
            "the finder": ((LOOKUP,),),
        },
        (
            Row("till", "find", {"order": "A-7"}),
            row("finder", LOOKUP),
            row("till", CHARGE),
            Row("till", "give", {"receipt": dict(CHARGE.arguments)}),
        ),
        forks_at=3,
    ),
    "anthropic": FrameworkAgent(
        "anthropic",
        '''
from anthropic import Anthropic, beta_tool
from world import did

@beta_tool
def lookup(order: str) -> str:
    """Look an order up."""
    did("lookup")
    return f"{order} owes 30"

@beta_tool
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

runner = Anthropic().beta.messages.tool_runner(
    model="claude-sonnet-4-5",
    max_tokens=1024,
    tools=[lookup, charge],
    messages=[{"role": "user", "content": "Charge A-7."}],
)
for message in runner:
    print([getattr(part, "text", part.type) for part in message.content])
''',
        ONE_BY_ONE,
        (row(None, LOOKUP), row(None, CHARGE)),
        denied="told",
    ),
    "anthropic streamed": FrameworkAgent(
        "anthropic",
        '''
import asyncio
import agent_tt
from anthropic import AsyncAnthropic, beta_async_tool
from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool
from world import did

@beta_async_tool
@agent_tt.tool(effect="read")
async def lookup(order: str) -> str:
    """Look an order up."""
    did("lookup")
    await asyncio.sleep(0)
    return [{"type": "text", "text": f"{order} owes 30"}]

class Charge(BetaAsyncBuiltinFunctionTool):
    def to_dict(self):
        return {"name": "charge", "description": "Charge.", "input_schema": {"type": "object", "properties": {}}}

    async def call(self, input):
        did("charge")
        return f"charged {input['amount']} for {input['order']}"

async def main():
    runner = AsyncAnthropic().beta.messages.tool_runner(
        model="claude-sonnet-4-5",
        max_tokens=1024,
        stream=True,
        tools=[lookup, Charge()],
        messages=[{"role": "user", "content": "Charge A-7."}],
    )
    async for stream in runner:
        async for event in stream:
            if event.type == "text":
                print(event.text, end="|")
        print([getattr(part, "text", part.type) for part in (await stream.get_final_message()).content])

asyncio.run(main())
''',
        {"": ((LOOKUP,), (OTHER, CHARGE))},
        (row(None, LOOKUP, "read"), row(None, OTHER, "read"), row(None, CHARGE)),
        denied="told",
    ),
    "google-genai": FrameworkAgent(
        "google.genai",
        '''
from google import genai
from world import did

def lookup(order: str) -> dict:
    """Look an order up."""
    did("lookup")
    return {"order": order, "owes": 30}

def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

client = genai.Client()
chat = client.chats.create(model="gemini-2.5-flash", config={"tools": [lookup, charge]})
answer = chat.send_message("Charge A-7.")
print(answer.text, [part.function_response for said in chat.get_history() for part in said.parts])
''',
        ONE_BY_ONE,
        (row(None, LOOKUP), row(None, CHARGE)),
        denied="told",
    ),
    "google-genai streamed": FrameworkAgent(
        "google.genai",
        '''
import asyncio
import agent_tt
from google import genai
from pydantic import BaseModel
from world import did

class Order(BaseModel):
    number: str

@agent_tt.tool(effect="read")
async def lookup(order: Order) -> dict:
    """Look an order up."""
    did("lookup")
    await asyncio.sleep(0)
    return {"order": order.number, "owes": 30}

def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

async def main():
    client = genai.Client()
    chat = client.aio.chats.create(model="gemini-2.5-flash", config={"tools": [lookup, charge]})
    async for piece in await chat.send_message_stream("Charge A-7."):
        print(piece.text, end="|")
    print([part.function_response for said in chat.get_history() for part in said.parts])

asyncio.run(main())
''',
        {"": ((Asks("lookup", {"order": {"number": "A-7"}}),), (Asks("lookup", {"order": {"number": "B-8"}}), CHARGE))},
        (
            Row(None, "lookup", {"order": {"number": "A-7"}}, "read"),
            Row(None, "lookup", {"order": {"number": "B-8"}}, "read"),
            row(None, CHARGE),
        ),
        denied="told",
    ),
}
"""By what they show."""
