"""agentrr. Recorded by `record`, replayed by `replay`, as its README and docs/contract.md say.

https://github.com/ip174/agentrr: it replays a whole run and has no fork. "Replaying an agent that issued a refund does
not issue another." The nearest to an edited state is changed code, at which its strict mode stops.
"""

import sys
from pathlib import Path

import desk
from agentrr_core.errors import AgentRrError
from agentrr_sdk import record, replay, tool


@tool
def read_ticket():
    return desk.read_ticket()


@tool
def refund(order, amount):
    return desk.refund(order, amount)


def agent(edited=None):
    ticket = read_ticket()
    if edited:
        ticket = ticket | {"amount": edited}
    if desk.decide(ticket["amount"]) == "refund":
        desk.comes_to_the_refund()
        return desk.reply(refund(**ticket))
    return "No refund."


if sys.argv[1] == "record":
    record("refund", agent)
else:
    (log,) = Path(".agentrr/runs").glob("*.jsonl")
    try:
        replay(log, agent, edited=desk.EDITED if sys.argv[1] == "edited" else None)
    except AgentRrError as refused:
        desk.said(str(refused).splitlines()[0])
