"""Agent Step. Recorded by `replay_trace` around a LangGraph agent; branched by `replay_branch`, as its README says.

https://pypi.org/project/agentstep/0.1.2/: "branch from any point", overriding an output. Here the ticket is overridden.
"""

import json
import sys

import desk
from agentstep.sdk.tracer import replay_trace
from agentstep.server.replayer import replay_branch
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def read_ticket() -> str:
    """Read the ticket."""
    return json.dumps(desk.read_ticket())


@tool
def refund(order: str, amount: int) -> str:
    """Pay a refund."""
    desk.comes_to_the_refund()
    return desk.refund(order, amount)


def model(state: MessagesState):
    answers = [message.content for message in state["messages"] if isinstance(message, ToolMessage)]
    if not answers:
        call = {"name": "read_ticket", "args": {}, "id": "1"}
    elif len(answers) == 1 and desk.decide(json.loads(answers[0])["amount"]) == "refund":
        call = {"name": "refund", "args": json.loads(answers[0]), "id": "2"}
    else:
        return {"messages": [AIMessage(desk.reply(answers[-1]))]}
    return {"messages": [AIMessage("", tool_calls=[call])]}


builder = StateGraph(MessagesState)
builder.add_node("agent", model)
builder.add_node("tools", ToolNode([read_ticket, refund]))
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", tools_condition)
builder.add_edge("tools", "agent")

with SqliteSaver.from_conn_string("trace.sqlite") as saver:
    graph = builder.compile(checkpointer=saver)
    thread = {"configurable": {"thread_id": "refund"}}
    with replay_trace(thread, sqlite_path="trace.sqlite") as config:
        if sys.argv[1] == "record":
            graph.invoke({"messages": [("user", "I want my money back.")]}, config)
        else:
            reading = list(graph.get_state_history(thread))[-3]
            override = ToolMessage(json.dumps(desk.read_ticket() | {"amount": desk.EDITED}), tool_call_id="1")
            replay_branch(graph, reading.config, "tools", {"messages": [override]})
