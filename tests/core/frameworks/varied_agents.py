"""Agents that use more of their frameworks: classes as tools, errors and retries, approvals, models inside tools."""

from __future__ import annotations

from typing import Final

from tests.core.frameworks.framework_agents import CHARGE, LOOKUP, FrameworkAgent, row
from tests.core.frameworks.scripted_models import Asks

_AUDIT: Final = Asks("audit", {"order": "A-7"})

VARIED_AGENTS: Final = {
    "langchain varied": FrameworkAgent(
        "langchain_openai",
        '''
import asyncio
from dataclasses import dataclass
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain.tools import ToolRuntime, tool
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from world import did

@dataclass
class Customer:
    name: str

class Lookup(BaseTool):
    name: str = "lookup"
    description: str = "Look an order up."
    tries: int = 0

    def _run(self, order: str, deep: bool = False) -> dict:
        raise AssertionError("it is asked asynchronously")

    async def _arun(self, order: str, deep: bool = False) -> dict:
        did("lookup")
        await asyncio.sleep(0)
        return {"order": order, "owes": 30, "deep": deep}

class Charge(BaseModel):
    order: str
    amount: int
    currency: str = "EUR"

class Till:
    number = 1

    def pay(self, order, amount, currency):
        did("charge")
        return f"till {self.number} charged {amount} {currency} for {order}"

charge = StructuredTool.from_function(func=Till().pay, name="charge", description="Charge.", args_schema=Charge)

@tool
async def audit(order: str, runtime: ToolRuntime[Customer]) -> str:
    """Ask another model about an order."""
    said = await ChatOpenAI(model="gpt-4o-mini").ainvoke([("system", "You are the auditor."), ("user", order)])
    return f"{runtime.context.name}, {len(runtime.state['messages'])}: {said.content}"

class Counting(AgentMiddleware):
    async def awrap_tool_call(self, request, handler):
        result = await handler(request)
        print("tool", request.tool_call["name"])
        return result

agent = create_agent(
    ChatOpenAI(model="gpt-4o"),
    [Lookup(), charge, audit],
    name="clerk",
    middleware=[Counting(), ToolRetryMiddleware(max_retries=2, initial_delay=0)],
    context_schema=Customer,
)

async def main():
    asked = {"messages": [("user", "Charge A-7.")]}
    async for mode, piece in agent.astream(asked, context=Customer("Ann"), stream_mode=["updates", "messages"]):
        if mode == "updates":
            for node, said in piece.items():
                print(node, [message.content for message in said["messages"]])

asyncio.run(main())
''',
        {"the auditor": (), "": ((LOOKUP, _AUDIT), (CHARGE,))},
        (row("clerk", LOOKUP), row("clerk", _AUDIT), row("clerk", CHARGE)),
        denied="told",
    ),
    "openai agents varied": FrameworkAgent(
        "agents",
        '''
import asyncio
import json
from agents import Agent, FunctionTool, Runner, SQLiteSession, function_tool, RunHooks, ModelSettings
from world import did

class Ledger:
    def __init__(self):
        self.asked = 0

    async def invoke(self, context, text):
        did("charge")
        self.asked += 1
        asked = json.loads(text)
        return f"charged {asked['amount']} for {asked['order']} ({self.asked})"

charge = FunctionTool(
    name="charge",
    description="Charge.",
    params_json_schema={"type": "object", "properties": {}, "additionalProperties": True},
    on_invoke_tool=Ledger().invoke,
    strict_json_schema=False,
)

def told(context, error):
    return f"it failed: {error}"

@function_tool(name_override="lookup", failure_error_function=told, strict_mode=False)
def find(order: str, shelf: int = 3) -> str:
    """Look an order up."""
    did("lookup")
    raise LookupError(f"{order} is not on shelf {shelf}")

@function_tool
async def audit(order: str) -> str:
    """Have another agent look at an order."""
    auditor = Agent(name="auditor", instructions="You are the auditor.", model="gpt-4o-mini")
    return (await Runner.run(auditor, order)).final_output

class Hooks(RunHooks):
    async def on_tool_end(self, context, agent, tool, result):
        print("ended", tool.name, result)

clerk = Agent(
    name="clerk",
    instructions="You are the clerk.",
    tools=[find, audit, charge],
    model="gpt-4o",
    model_settings=ModelSettings(parallel_tool_calls=True),
)

async def main():
    session = SQLiteSession("ann")
    for word in ("Charge A-7.", "Thanks."):
        result = await Runner.run(clerk, word, session=session, hooks=Hooks())
        print(result.final_output, [item.type for item in result.new_items])

asyncio.run(main())
''',
        {"the clerk": ((LOOKUP, _AUDIT), (CHARGE,)), "the auditor": ()},
        (row("clerk", LOOKUP), row("clerk", _AUDIT), row("clerk", CHARGE)),
        denied="told",
    ),
    "pydantic ai varied": FrameworkAgent(
        "pydantic_ai",
        '''
import asyncio
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, FunctionToolset, ModelRetry, RunContext, Tool
from world import did

def look(order: str, shelf: int = 3) -> dict:
    """Look an order up."""
    did("lookup")
    return {"order": order, "shelf": shelf}

class Till:
    async def charge(self, order: str, amount: int) -> str:
        """Charge."""
        did("charge")
        return f"charged {amount} for {order}"

auditor = Agent("openai-chat:gpt-4o-mini", name="auditor", instructions="You are the auditor.")

async def audit(context: RunContext, order: str) -> str:
    """Have another agent look at an order."""
    if context.retry == 0:
        raise ModelRetry("say it again")
    return (await auditor.run(order, usage=context.usage)).output

tools = FunctionToolset([Tool(look, name="lookup", max_retries=2), Tool(audit, max_retries=2)])
clerk = Agent(
    "openai-chat:gpt-4o",
    name="clerk",
    instructions="You are the clerk.",
    tools=[Tool(Till().charge, requires_approval=True)],
    toolsets=[tools.filtered(lambda context, tool: tool.name != "hidden")],
    output_type=[str, DeferredToolRequests],
)

async def main():
    asked = await clerk.run("Charge A-7.")
    assert isinstance(asked.output, DeferredToolRequests), asked.output
    results = DeferredToolResults(approvals={call.tool_call_id: True for call in asked.output.approvals})
    done = await clerk.run(message_history=asked.all_messages(), deferred_tool_results=results)
    print(done.output, [type(part).__name__ for said in done.all_messages() for part in said.parts])

asyncio.run(main())
''',
        {"the clerk": ((LOOKUP, _AUDIT), (_AUDIT,), (CHARGE,)), "the auditor": ()},
        (row("clerk", LOOKUP), row("clerk", _AUDIT), row("clerk", _AUDIT), row("clerk", CHARGE)),
        fails=("audit",),
        forks_at=3,
    ),
    "anthropic varied": FrameworkAgent(
        "anthropic",
        '''
from anthropic import Anthropic, beta_tool
from pydantic import BaseModel
from world import did

client = Anthropic()

@beta_tool
def lookup(order: str, shelf: int = 3) -> str:
    """Look an order up.

    Args:
        order: which.
        shelf: where.
    """
    did("lookup")
    raise LookupError(f"{order} is not on shelf {shelf}")

@beta_tool(name="audit", description="Ask another model.")
def asked(order: str) -> str:
    said = client.messages.create(
        model="claude-haiku-4-5",
        max_tokens=64,
        system="You are the auditor.",
        messages=[{"role": "user", "content": order}],
    )
    return said.content[0].text

@beta_tool
def charge(order: str, amount: int) -> str:
    """Charge."""
    did("charge")
    return f"charged {amount} for {order}"

runner = client.beta.messages.tool_runner(
    model="claude-sonnet-4-5",
    max_tokens=1024,
    stream=True,
    system="You are the clerk.",
    tools=[lookup, asked, charge],
    messages=[{"role": "user", "content": "Charge A-7."}],
    max_iterations=6,
)
for stream in runner:
    print("".join(event.text for event in stream if event.type == "text"))
    answers = runner.generate_tool_call_response()
    print([part["type"] for part in answers["content"]] if answers else None)
''',
        {"the auditor": (), "": ((LOOKUP, _AUDIT), (CHARGE,))},
        (row(None, LOOKUP), row(None, _AUDIT), row(None, CHARGE)),
        denied="told",
        fails=("lookup",),
    ),
    "google-genai varied": FrameworkAgent(
        "google.genai",
        '''
import asyncio
from google import genai
from google.genai import types
from world import did

client = genai.Client()

class Shop:
    def lookup(self, order: str, shelf: int = 3) -> dict:
        """Look an order up."""
        did("lookup")
        raise LookupError(f"{order} is not on shelf {shelf}")

    async def audit(self, order: str) -> str:
        """Ask another model."""
        said = await client.aio.models.generate_content(
            model="gemini-2.5-flash-lite", contents=order, config={"system_instruction": "You are the auditor."}
        )
        return said.text

    def charge(self, order: str, amount: int) -> str:
        """Charge."""
        did("charge")
        return f"charged {amount} for {order}"

async def main():
    shop = Shop()
    answer = await client.aio.models.generate_content(
        model="gemini-2.5-flash",
        contents="Charge A-7.",
        config=types.GenerateContentConfig(
            system_instruction="You are the clerk.",
            tools=[shop.lookup, shop.audit, shop.charge],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(maximum_remote_calls=6),
        ),
    )
    print(answer.text, len(answer.automatic_function_calling_history))

asyncio.run(main())
''',
        {"the clerk": ((LOOKUP, _AUDIT), (CHARGE,)), "the auditor": ()},
        (row(None, LOOKUP), row(None, _AUDIT), row(None, CHARGE)),
        denied="told",
        fails=("lookup",),
    ),
}
"""By what they show."""
