"""Rewind. Recorded by a session, which patches OpenAI's client; forked as its README "Replay from Failure" says.

https://pypi.org/project/rewind-agent/0.17.1/: "Fix your code, then replay", with `rewind_agent.replay(session,
from_step)`. Models are answered from the recording up to `from_step` and asked for real after it. It takes no edited
state: the code is what changes, here the tool that reads the ticket. Its `cached_tool` speaks to Rewind's server, a
program that is downloaded on first use, and is not tried here.
"""

import json
import os
import sys

import desk
import openai
import rewind_agent

client = openai.OpenAI(base_url=os.environ["BANK"].removesuffix("/refunds") + "/v1", api_key="none")


@rewind_agent.tool("refund")
def refund(order, amount):
    desk.comes_to_the_refund()
    return {"receipt": desk.refund(order, amount)}


def agent(read_ticket):
    tools = {"read_ticket": rewind_agent.tool("read_ticket")(read_ticket), "refund": refund}
    messages = [{"role": "user", "content": "I want my money back."}]
    while True:
        message = client.chat.completions.create(model="rule", messages=messages).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return desk.reply(message.content)
        for call in message.tool_calls:
            result = tools[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if sys.argv[1] == "record":
    with rewind_agent.session("refund"):
        agent(desk.read_ticket)
else:
    with rewind_agent.replay("latest", from_step=1):
        agent(lambda: desk.read_ticket() | {"amount": desk.EDITED})
