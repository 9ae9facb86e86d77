"""Clearstone. Recorded by its tracer and a checkpoint; continued from it as its README "Time-Travel Debugging" says.

https://pypi.org/project/clearstone-sdk/0.1.2/: `CheckpointManager.create_checkpoint(agent, trace, span_id)`, then
`ReplayEngine(checkpoint).start_debugging_session(function, mock_config, …)`, which opens pdb before it calls the
function. `mock_config` maps a type of span to the function that is answered from the trace. The state is edited on
`engine.agent`.
"""

import sys
from pathlib import Path

import desk
from clearstone.debugging import CheckpointManager, ReplayEngine
from clearstone.observability import TracerProvider
from clearstone.serialization.hybrid import SelectiveSnapshotCapture


def pay(order, amount):
    return desk.refund(order, amount)


class Agent:
    def __init__(self):
        self.ticket = self.decision = self.refund = self.reply = None

    def get_state(self):
        return dict(self.__dict__)

    def load_state(self, state):
        self.__dict__.update(state)

    def begin(self, tracer):
        with tracer.span("read_ticket") as span:
            self.ticket = desk.read_ticket()
        return span

    def finish(self):
        self.decision = desk.decide(self.ticket["amount"])
        if self.decision == "refund":
            desk.comes_to_the_refund()
            self.refund = pay(**self.ticket)
            self.reply = desk.reply(self.refund)
        return self.reply


def record():
    provider = TracerProvider(db_path="traces.db")
    tracer = provider.get_tracer("refund", version="1")
    agent = Agent()
    with tracer.span("agent") as root:
        ticket_read = agent.begin(tracer)
        middle = agent.get_state()
        with tracer.span("refund", attributes={"span_type": "tool"}) as span:
            agent.finish()
            span.output_snapshot = SelectiveSnapshotCapture.capture(agent.refund)
    provider.shutdown()
    provider = TracerProvider(db_path="traces.db")
    trace = provider.trace_store.get_trace(root.trace_id)
    rewound = Agent()
    rewound.load_state(middle)
    CheckpointManager(checkpoint_dir="checkpoints").create_checkpoint(rewound, trace, span_id=ticket_read.span_id)
    provider.shutdown()


def fork(mock_config):
    (file,) = Path("checkpoints").iterdir()
    provider = TracerProvider(db_path="traces.db")
    engine = ReplayEngine(CheckpointManager().load_checkpoint(str(file)), trace_store=provider.trace_store)
    engine.agent.ticket = {"order": desk.ORDER, "amount": desk.EDITED}
    engine.start_debugging_session("finish", mock_config)
    provider.shutdown()


if __name__ == "__main__":
    import with_clearstone  # a checkpoint names its class by module, which `__main__` is not

    if sys.argv[1] == "record":
        with_clearstone.record()
    else:
        with_clearstone.fork({"tool": "with_clearstone.pay"} if sys.argv[1] == "mock" else {})
