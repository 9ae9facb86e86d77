"""Burr. Recorded by a persister; forked as the page on state persistence says.

https://burr.apache.org/docs/concepts/state-persistence/: `initialize_from(…, fork_from_app_id, fork_from_sequence_id)`;
`override_state_values` is a parameter beside them. `halt_before`: https://burr.apache.org/docs/concepts/state-machine/
"""

import sys

import desk
from burr.core import ApplicationBuilder, State, action, when
from burr.core.persistence import SQLitePersister


@action(reads=[], writes=["ticket"])
def read_ticket(state: State) -> State:
    return state.update(ticket=desk.read_ticket())


@action(reads=["ticket"], writes=["decision"])
def decide(state: State) -> State:
    return state.update(decision=desk.decide(state["ticket"]["amount"]))


@action(reads=["ticket"], writes=["refund"])
def refund(state: State) -> State:
    desk.comes_to_the_refund()
    return state.update(refund=desk.refund(**state["ticket"]))


@action(reads=["refund"], writes=["reply"])
def reply(state: State) -> State:
    return state.update(reply=desk.reply(state["refund"]))


persister = SQLitePersister(db_path="burr.db", table_name="states")
persister.initialize()
builder = (
    ApplicationBuilder()
    .with_actions(read_ticket, decide, refund, reply)
    .with_transitions(("read_ticket", "decide"), ("decide", "refund", when(decision="refund")), ("refund", "reply"))
    .with_state_persister(persister)
)
if sys.argv[1] == "record":
    app = builder.with_identifiers(app_id="refund").with_entrypoint("read_ticket").build()
    app.run(halt_after=["reply"])
else:
    app = (
        builder.with_identifiers(app_id="fork")
        .initialize_from(
            persister,
            resume_at_next_action=True,
            default_state={},
            default_entrypoint="read_ticket",
            fork_from_app_id="refund",
            fork_from_sequence_id=0,  # after `read_ticket`: Burr counts from 0
            override_state_values={"ticket": {"order": desk.ORDER, "amount": desk.EDITED}},
        )
        .build()
    )
    stops = ["refund"] if sys.argv[1] == "halt" else []
    app.run(halt_after=["reply"], halt_before=stops)
