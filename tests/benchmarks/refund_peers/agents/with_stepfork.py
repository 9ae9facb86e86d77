"""Stepfork. Recorded by `record` and `@trace_tool`; forked by its fork engine and replayed, as its README says.

https://pypi.org/project/stepfork/0.2.1/: "Fork-at-step creates new traces at specific execution points with optional
output overrides". A replay runs the agent's code over a trace, frozen (tools are answered from it) or live ("Live tool
bodies now require explicit authorization by name"). A call that is not in the trace is refused in every mode, so the
agent cannot go on beyond what was recorded.
"""

import sys
from pathlib import Path

import desk
from stepfork import ReplayError, ReplaySession, record, trace_tool
from stepfork.fork.engine import ForkEngine
from stepfork.fork.models import ForkPoint, OverrideSpec
from stepfork.trace.storage import load_trace


@trace_tool(name="read_ticket")
def read_ticket():
    return desk.read_ticket()


@trace_tool(name="refund")
def refund(order, amount):
    return desk.refund(order, amount)


def agent():
    ticket = read_ticket()
    if desk.decide(ticket["amount"]) == "refund":
        desk.comes_to_the_refund()
        return desk.reply(refund(**ticket))
    return "No refund."


def replay(trace, mode, **options):
    try:
        with ReplaySession(trace, mode=mode, **options):
            agent()
    except ReplayError as refused:
        desk.said(str(refused).splitlines()[0])


if sys.argv[1] == "record":
    with record("refund", output="refund.sftrace") as session:
        session.set_output(agent())
else:
    trace = load_trace(Path("refund.sftrace"))
    reading = next(e for e in trace.events if e.type == "tool_result" and e.name == "read_ticket")
    if sys.argv[1] == "fork":
        override = OverrideSpec(step=reading.step, output=desk.read_ticket() | {"amount": desk.EDITED})
        forked, _ = ForkEngine(trace, ForkPoint(None, reading.step), overrides=[override]).fork()
        replay(forked, "frozen")
    else:
        allowed = {"read_ticket", "refund"} if sys.argv[1] == "allow" else {"read_ticket"}
        replay(trace, "live", allow_live_tools=allowed)
