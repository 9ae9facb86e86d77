"""Microsoft Agent Framework. Recorded by a checkpoint storage; run again from a checkpoint, as its documentation says.

https://learn.microsoft.com/en-us/agent-framework/workflows/checkpoints: resuming, with `workflow.run(checkpoint_id=…)`.
It takes no edited state.
"""

import asyncio
import sys

import desk
from agent_framework import Executor, FileCheckpointStorage, WorkflowBuilder, WorkflowContext, handler


class ReadTicket(Executor):
    @handler
    async def run(self, message: str, context: WorkflowContext[dict]) -> None:
        await context.send_message(desk.read_ticket())


class Decide(Executor):
    @handler
    async def run(self, ticket: dict, context: WorkflowContext[dict]) -> None:
        if desk.decide(ticket["amount"]) == "refund":
            await context.send_message(ticket)


class Refund(Executor):
    @handler
    async def run(self, ticket: dict, context: WorkflowContext[str]) -> None:
        desk.comes_to_the_refund()
        await context.send_message(desk.refund(**ticket))


class Reply(Executor):
    @handler
    async def run(self, receipt: str, context: WorkflowContext) -> None:
        print(desk.reply(receipt))


async def main(argument: str) -> None:
    storage = FileCheckpointStorage("checkpoints")
    nodes = [ReadTicket("read_ticket"), Decide("decide"), Refund("refund"), Reply("reply")]
    builder = WorkflowBuilder(name="refund", start_executor=nodes[0], checkpoint_storage=storage)
    workflow = builder.add_chain(nodes).build()
    if argument == "record":
        await workflow.run("I want my money back.")
    else:
        checkpoints = await storage.list_checkpoints(workflow_name="refund")
        ticket_read = next(c for c in checkpoints if "read_ticket" in c.messages)
        await workflow.run(checkpoint_id=ticket_read.checkpoint_id)


asyncio.run(main(sys.argv[1]))
