"""LangGraph. Recorded by a checkpointer; forked as the page on time travel says.

https://docs.langchain.com/oss/python/langgraph/use-time-travel: find a checkpoint with `get_state_history`, call
`update_state` on it, then `invoke(None, fork)`. "Nodes after the checkpoint re-execute, including any LLM calls, API
requests". Breakpoints (`interrupt_before`): https://docs.langchain.com/oss/python/langgraph/interrupts
"""

import sys
from typing import NotRequired, TypedDict

import desk
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    ticket: NotRequired[dict]
    decision: NotRequired[str]
    refund: NotRequired[str]
    reply: NotRequired[str]


def read_ticket(state: State):
    return {"ticket": desk.read_ticket()}


def decide(state: State):
    return {"decision": desk.decide(state["ticket"]["amount"])}


def refund(state: State):
    desk.comes_to_the_refund()
    return {"refund": desk.refund(**state["ticket"])}


def reply(state: State):
    return {"reply": desk.reply(state["refund"])}


builder = StateGraph(State)
for node in (read_ticket, decide, refund, reply):
    builder.add_node(node)
for before, after in [(START, "read_ticket"), ("read_ticket", "decide"), ("refund", "reply"), ("reply", END)]:
    builder.add_edge(before, after)
builder.add_conditional_edges("decide", lambda state: "refund" if state["decision"] == "refund" else END)

with SqliteSaver.from_conn_string("checkpoints.sqlite") as saver:
    graph = builder.compile(checkpointer=saver)
    thread = {"configurable": {"thread_id": "refund"}}
    if sys.argv[1] == "record":
        graph.invoke({}, thread)
    else:
        ticket_read = next(s for s in graph.get_state_history(thread) if s.next == ("decide",))
        edited = {"ticket": ticket_read.values["ticket"] | {"amount": desk.EDITED}}
        fork = graph.update_state(ticket_read.config, edited)
        stops = ["refund"] if sys.argv[1] == "breakpoint" else None
        graph.invoke(None, fork, interrupt_before=stops)
