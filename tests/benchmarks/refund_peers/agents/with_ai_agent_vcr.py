"""Agent VCR. Recorded by `VCRRecorder.record_step`; forked by `VCRPlayer.resume`, as its README says.

https://github.com/ixchio/agent-vcr: `player.resume(agent, ResumeConfig(from_frame=…, state_overrides={…}))`. Its modes
are FORK (the default), REPLAY and MOCK. MOCK with `inject_mocks` ("mock values for dependencies") puts them into the
state as `__mocks__`; an agent that does not look there is not held by it.
"""

import sys

import desk
from agent_vcr import VCRPlayer, VCRRecorder
from agent_vcr.models import ResumeConfig, ResumeMode


def read_ticket(state):
    return {**state, "ticket": desk.read_ticket()}


def decide(state):
    return {**state, "decision": desk.decide(state["ticket"]["amount"])}


def refund(state):
    desk.comes_to_the_refund()
    return {**state, "refund": desk.refund(**state["ticket"])}


def reply(state):
    return {**state, "reply": desk.reply(state["refund"])}


NODES = {"read_ticket": read_ticket, "decide": decide, "refund": refund, "reply": reply}


def run(state, *, recorder=None, start="read_ticket"):
    names = list(NODES)
    for name in names[names.index(start) :]:
        before, state = state, NODES[name](state)
        if recorder:
            recorder.record_step(name, before, state)
    return state


if sys.argv[1] == "record":
    recorder = VCRRecorder(output_dir=".vcr")
    recorder.start_session("refund")
    run({}, recorder=recorder)
    recorder.save()
else:
    player = VCRPlayer.load(".vcr/refund.vcr")
    frame = next(i for i, f in enumerate(player.frames) if f.node_name == "decide")
    config = ResumeConfig(
        from_frame=frame,
        state_overrides={"ticket": {"order": desk.ORDER, "amount": desk.EDITED}},
        mode=ResumeMode.MOCK if sys.argv[1] == "mock" else ResumeMode.FORK,
        inject_mocks={"refund": "mocked"} if sys.argv[1] == "mock" else {},
    )
    player.resume(lambda state: run(state, start="decide"), config)
